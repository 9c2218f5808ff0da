"""The part of the quality page that tells of further draws."""

from collections.abc import Sequence

from benchmarks.quality.analysis import Interval, Table, accepted, bootstrap, figure_of, paired
from benchmarks.quality.more import PLACES, Place, is_positive
from benchmarks.quality.text import lines_of, number, title_of
from benchmarks.results import CellResult


def more_lines(cells: dict[str, Sequence[CellResult]]) -> list[str]:
    """Return the lines: each figure of the draws asked for, of the further ones, and of all.

    Parameters
    ----------
    cells : dict
        Finished cells of each study.
    """
    rows = []
    for place in PLACES:
        asked = _at(cells["positive" if is_positive(place.methods[0]) else "annotators"], place)
        further = _at(cells["more"], place)
        if not asked or len(further) < place.draws * len(place.methods):
            continue
        sides = [_figures(Table(part), place) for part in (asked, further, [*asked, *further])]
        for name in sides[0]:
            spelt = [f"{number(side[name])}, {side[name].n} draws" for side in sides]
            rows.append([title_of(place.set_name), f"{100 * place.fraction:g} %", name, *spelt])
    if not rows:
        return []
    return [
        "## More draws",
        "",
        "Five or ten draws leave some verdicts open. At these places, picked after a look at the verdicts, `auto` was",
        "run on further draws, made in the same way. Verdicts remain those of the draws asked for.",
        "",
        *lines_of(["set", "labelled", "figure", "draws asked for", "further draws", "together"], rows),
    ]


def _at(cells: Sequence[CellResult], place: Place) -> list[CellResult]:
    where = place.set_name, f"{100 * place.fraction:g} %"
    return [cell for cell in cells if (cell.data, cell.condition) == where and cell.method in place.methods]


def _figures(table: Table, place: Place) -> dict[str, Interval]:
    where = place.set_name, f"{100 * place.fraction:g} %"
    if is_positive(place.methods[0]):
        no, unknown = place.methods
        found = {
            f"{name}, unknown less no": paired(table, *where, unknown, no, figure)
            for name, figure in (("MAP", "unlabeled/map"), ("Brier skill", "brier_skill"))
        }
    else:
        method = place.methods[0]
        taken = accepted(table, *where, method)
        shares = _shares(table, place)
        found = {
            "precision of what is accepted at 95 %": taken.precision if taken is not None else None,
            "the same, mean of the draws that accept any": bootstrap(shares) if shares else None,
            "calibration error, five best": figure_of(table, *where, method, "calibrated/best_error"),
            "calibration error, p ≥ 0.05": figure_of(table, *where, method, "calibrated/likely_error"),
            "Brier skill": figure_of(table, *where, method, "calibrated/brier_skill"),
        }
    return {name: value for name, value in found.items() if value is not None}


def _shares(table: Table, place: Place) -> list[float]:
    """Return the precision of each draw in which something is accepted."""
    where = place.set_name, f"{100 * place.fraction:g} %", place.methods[0]
    counts, right = (table.values(*where, f"accepted/{name}") for name in ("count", "right"))
    return [right[draw] / counts[draw] for draw in counts if counts[draw]]
