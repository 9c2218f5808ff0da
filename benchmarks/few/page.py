"""The page of what leaves a project with few labels, from the recorded cells alone."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.few.cells import DRAWS, HERE, LABELS, SETS
from benchmarks.quality.text import lines_of, title_of
from benchmarks.results import CellResult, environment_lines, read_cells

#: Suggestions above which a share of right ones says something, and the least that it may be.
MANY, LEAST = 20, 0.8
HEADER = ["labelled", "exported", "right", "lowest of a draw", "without the rule", "right without it", "tags to find"]


def page(folder: Path = HERE) -> str:
    """Return the page."""
    cells = [cell for cell in read_cells(folder / "results.json") if cell.data in SETS]
    lines = [
        "# Exports with few labels",
        "",
        *_answer(cells),
        "",
        "Each project has photos and a `labels.csv` for a few of them. It runs `tagloom import`, `tagloom train` and",
        "`tagloom export` with the default settings; the tags of the other photos stay hidden. Made by",
        "`python -m benchmarks.few run` from `benchmarks/few/results.json`; edit nothing here.",
        "",
        f"*Exported* is the mean number of suggestions over {DRAWS} draws of photos, *right* the share of right ones",
        "among all of them, *lowest of a draw* the same in the worst draw that exported more than 20. *Without the",
        "rule* suggestions leave above the thresholds of uncalibrated scores (fewer than 20 labelled photos) or above",
        "the common threshold for the same precision, whatever the number of labelled photos. *Tags to find* are those",
        "that unlabelled photos have and a labelled one has, too. The rule was chosen, among some thirty, on Corel5K's",
        "training photos and Caltech-101; without the rule, figures of the photos here were known by then. What names",
        "of tags add was fitted to the same photos.",
        "",
    ]
    for name, n_photos in SETS.items():
        lines += [f"## {title_of(name)}, {n_photos} photos", "", *_table([cell for cell in cells if cell.data == name])]
    return "\n".join([*lines, *environment_lines(cells)]).rstrip() + "\n"


def _answer(cells: Sequence[CellResult]) -> list[str]:
    """Return the answer in three lines."""
    if not cells:
        return ["No results yet."]
    few = [cell for cell in cells if int(cell.method) < 20]
    many = [cell for cell in cells if cell.test["exported"] > MANY]
    kept = sum(cell.test["right"] >= LEAST * cell.test["exported"] for cell in many)
    before = sum(cell.test["before_right"] for cell in few) / max(sum(cell.test["before"] for cell in few), 1.0)
    return [
        f"With fewer than 20 labelled photos {sum(cell.test['exported'] for cell in few):.0f} suggestions are",
        f"exported; without this rule they would be, and {100 * before:.0f} % of them would be right.",
        f"Of {len(many)} projects that exported more than {MANY} suggestions, {kept} had at least {100 * LEAST:.0f} %",
        f"right ones, and all of them together {100 * _share(many):.0f} %.",
    ]


def _table(cells: Sequence[CellResult]) -> list[str]:
    rows = []
    for n in LABELS:
        some = [cell for cell in cells if cell.method == str(n)]
        if not some:
            continue
        shares = [cell.test["right"] / cell.test["exported"] for cell in some if cell.test["exported"] > MANY]
        rows.append(
            [
                str(n),
                _mean(some, "exported"),
                _text(_share(some)),
                _text(min(shares) if shares else None),
                _mean(some, "before"),
                _text(_share(some, "before_right", "before")),
                _mean(some, "missing"),
            ]
        )
    return lines_of(HEADER, rows) if rows else ["No results yet.", ""]


def _mean(cells: Sequence[CellResult], name: str) -> str:
    return f"{sum(cell.test[name] for cell in cells) / len(cells):.0f}"


def _share(cells: Sequence[CellResult], right: str = "right", of: str = "exported") -> float | None:
    whole = sum(cell.test[of] for cell in cells)
    return sum(cell.test[right] for cell in cells) / whole if whole else None


def _text(share: float | None) -> str:
    return "–" if share is None else f"{share:.2f}"
