"""The page of what names of tags say of photos, from the recorded cells alone."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.quality.text import lines_of, title_of
from benchmarks.results import CellResult, environment_lines, read_cells
from benchmarks.words.cells import AUTO, BOTH, HERE, LOGISTIC, NAMES, SETS, SURE

METHODS = (NAMES, LOGISTIC, AUTO, BOTH)


def page(folder: Path = HERE) -> str:
    """Return the page."""
    cells = [cell for cell in read_cells(folder / "results.json") if cell.data in SETS]
    lines = [
        "# Suggestions from tag names",
        "",
        *_answer(cells),
        "",
        "Mean average precision over all tags that a ranked photo has, the mean of three draws of labelled photos; in",
        "brackets over the tags with a labelled example. The ranked photos are those not labelled; of Corel5K, its",
        "test part. *Names alone* is `word_log_odds` of the bundled network's class probabilities and never sees a",
        "label. `auto` is the default method with tag names, *auto without names* the same without them. Draws",
        "are paired. Made by `python -m benchmarks.words run` from `benchmarks/words/results.json`; edit nothing here.",
        "",
        "**No set here is an independent test of names alone.** Temperature, template and the share of kinds were",
        "chosen on Corel5K's training photos, but with the figures of COCO-free and MSRC v2 in view. The vocabulary",
        "rules were loosened to cover missing tags of COCO-free, MSRC v2 and Caltech-101. A fresh set is still needed;",
        "see [the card](../reference/word-table.md). The weights of names and examples were fitted to Corel5K's",
        "training photos and to Caltech-101 alone.",
        "",
    ]
    for name, counts in SETS.items():
        some = [cell for cell in cells if cell.data == name]
        rows = [
            [
                str(n),
                *(
                    _text([cell for cell in some if cell.condition == str(n) and cell.method == method])
                    for method in METHODS
                ),
            ]
            for n in counts
        ]
        header = ["labelled", *METHODS]
        lines += [f"## {title_of(name)}", "", *(lines_of(header, rows) if some else ["No results yet.", ""])]
    lines += _calibration(cells)
    return "\n".join([*lines, *environment_lines(cells)]).rstrip() + "\n"


def _calibration(cells: Sequence[CellResult]) -> list[str]:
    """Return how right the probabilities are, a table for all sets."""
    rows = []
    for name, counts in SETS.items():
        for n in counts:
            some = [one for one in cells if (one.data, one.condition) == (name, str(n)) and "brier" in one.test]
            found = [[one.test for one in some if one.method == method] for method in (NAMES, AUTO, BOTH)]
            if some:
                rows.append([title_of(name), str(n), *map(_brier, found), *map(_sure, found)])
    if not rows:
        return []
    methods = (NAMES, AUTO, BOTH)
    header = ["set", "labelled", *(f"Brier, {one}" for one in methods), *(f"sure, {one}" for one in methods)]
    return [
        "## Are the probabilities right?",
        "",
        f"*Sure* is the share of right ones among all suggestions with a probability of at least {SURE}, and how many",
        "there are in a draw.",
        "",
        *lines_of(header, rows),
    ]


def _brier(found: Sequence[dict[str, float]]) -> str:
    return f"{sum(one['brier'] for one in found) / len(found):.4f}" if found else "–"


def _sure(found: Sequence[dict[str, float]]) -> str:
    count = sum(one["sure"] for one in found)
    right = sum(one["sure_right"] for one in found)
    return f"{right / count:.2f} of {count / len(found):.0f}" if count else "–"


def _answer(cells: Sequence[CellResult]) -> list[str]:
    first = [cell for cell in cells if cell.condition == "0"]
    if not first:
        return ["No results yet."]
    figures = ", ".join(f"{cell.test['map']:.3f} on {title_of(cell.data)}" for cell in first)
    return [
        "Before any photo is labelled, the names of tags rank photos with a mean average precision of",
        f"{figures}.",
        *_gains(cells),
    ]


def _gains(cells: Sequence[CellResult]) -> list[str]:
    """Return by how much names raise the default method with the fewest labels of each set."""
    found = []
    for name, counts in SETS.items():
        some = [cell for cell in cells if (cell.data, cell.condition) == (name, str(min(filter(None, counts))))]
        before, after = ([one.test["map"] for one in some if one.method == method] for method in (AUTO, BOTH))
        if before and after:
            values = f"{sum(before) / len(before):.3f} to {sum(after) / len(after):.3f}"
            found.append(f"{values} with {some[0].condition} on {title_of(name)}")
    return [f"With few labels they raise `auto` from {', '.join(found)}."] if found else []


def _text(cells: Sequence[CellResult]) -> str:
    if not cells:
        return "–"
    whole = sum(cell.test["map"] for cell in cells) / len(cells)
    if "map_of_examples" not in cells[0].test:
        return f"{whole:.3f}"
    return f"{whole:.3f} ({sum(cell.test['map_of_examples'] for cell in cells) / len(cells):.3f})"
