"""The page of what names of tags say of photos, from the recorded cells alone."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.quality.text import lines_of, title_of
from benchmarks.results import CellResult, environment_lines, read_cells
from benchmarks.words.cells import AUTO, HERE, LOGISTIC, NAMES, SETS


def page(folder: Path = HERE) -> str:
    """Return the page."""
    cells = [cell for cell in read_cells(folder / "results.json") if cell.data in SETS]
    lines = [
        "# What the names of tags say",
        "",
        *_answer(cells),
        "",
        "Mean average precision over all tags that a ranked photo has, the mean of three draws of labelled photos; in",
        "brackets over the tags with a labelled example. The ranked photos are those not labelled; of Corel5K, its",
        "test part. *Names alone* is `word_scores` of the bundled network's class probabilities and never sees a",
        "label. `auto` does not know the names. Made by `python -m benchmarks.words run` from",
        "`benchmarks/words/results.json`; edit nothing here.",
        "",
        "**No set here is an independent test of names alone.** Temperature, template and the share of kinds were",
        "taken from Corel5K's training row while the figures of COCO-free and MSRC v2 were on the same screen. The",
        "vocabulary rules were loosened after listing which tags of COCO-free, MSRC v2 and Caltech-101 were missing.",
        "A set that nobody has looked at is still needed; see [the card](../reference/word-table.md).",
        "",
    ]
    for name, counts in SETS.items():
        some = [cell for cell in cells if cell.data == name]
        rows = [
            [
                str(n),
                *(
                    _text([cell for cell in some if cell.condition == str(n) and cell.method == method])
                    for method in (NAMES, LOGISTIC, AUTO)
                ),
            ]
            for n in counts
        ]
        header = ["labelled", NAMES, LOGISTIC, AUTO]
        lines += [f"## {title_of(name)}", "", *(lines_of(header, rows) if some else ["No results yet.", ""])]
    return "\n".join([*lines, *environment_lines(cells)]).rstrip() + "\n"


def _answer(cells: Sequence[CellResult]) -> list[str]:
    first = [cell for cell in cells if cell.condition == "0"]
    if not first:
        return ["No results yet."]
    figures = ", ".join(f"{cell.test['map']:.3f} on {title_of(cell.data)}" for cell in first)
    return [
        "Before any photo is labelled, the names of tags rank photos with a mean average precision of",
        f"{figures}.",
    ]


def _text(cells: Sequence[CellResult]) -> str:
    if not cells:
        return "–"
    whole = sum(cell.test["map"] for cell in cells) / len(cells)
    if "map_of_examples" not in cells[0].test:
        return f"{whole:.3f}"
    return f"{whole:.3f} ({sum(cell.test['map_of_examples'] for cell in cells) / len(cells):.3f})"
