"""The page of promised and measured precision, from the recorded cells alone."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.quality.analysis import Interval, Table, bootstrap, bootstrap_ratio, figure_of
from benchmarks.quality.text import lines_of, number, title_of
from benchmarks.results import environment_lines, read_cells
from benchmarks.scenarios.cells import CONDITION, DRAWS, EVALUATED, HERE, SETS
from benchmarks.scenarios.situations import LEARNT, TOLD, Situation

HEADER = ["project", "suggested", "promised", "right", "calibration error", "expected tags", "MAP"]


def page(folder: Path = HERE) -> str:
    """Return the page."""
    cells = [cell for cell in read_cells(folder / "results.json") if cell.data in SETS]
    table = Table(cells)
    lines = [
        "# Promised and measured precision",
        "",
        *answer(table),
        "",
        "Each row is a project of real photos, labelled in another way with `import`, `label`, `train`, `update` and",
        "by accepting and rejecting suggestions. All settings are the defaults, which promise 90 % precision. The tags",
        "of the other photos stay hidden; we compare the probabilities with them.",
        "",
        f"Means of {DRAWS} draws of photos, with 95 % intervals over draws. *Suggested* counts pairs of photo and tag",
        "above the threshold; *promised* is their mean probability, *right* the share that is true, over all draws.",
        "The calibration error takes entries with p ≥ 0.05 in 15 bins. *Expected tags* is the sum of all probabilities",
        "of unlabelled photos, divided by the number of tags that they really have; 1 is perfect. tagloom's choices,",
        "including the one about silence, come from Corel5K's training photos; MSRC v2 took no part.",
        "",
    ]
    for name, sizes in SETS.items():
        counts = asdict(sizes)
        about = f"{sizes.photos:,} photos".replace(",", "\N{NO-BREAK SPACE}")
        lines += [f"## {title_of(name)}, {about}", "", *_situations(table, name, TOLD, counts)]
        lines += [*_evaluated(table, name)]
        lines += [
            f"After a training with {sizes.listed} photos, {sizes.more} more are labelled:",
            "",
            *_situations(table, name, LEARNT, counts),
        ]
    lines += environment_lines(cells)
    lines += [
        "",
        "Made by `python -m benchmarks.scenarios report` from `benchmarks/scenarios/results.json`; edit nothing here.",
    ]
    return "\n".join(lines).rstrip() + "\n"


def precisions(table: Table, counts: dict[str, dict[str, int]]) -> dict[str, float]:
    """Return the measured precision of suggestions above the threshold by situation, where there are any."""
    found = {}
    for name in SETS:
        for key, situation in (TOLD | LEARNT).items():
            above, right = (sum(table.values(name, CONDITION, key, figure).values()) for figure in ("above", "right"))
            if above:
                found[f"{title_of(name)}, {situation.title.format(**counts[name])}"] = right / above
    return found


def answer(table: Table) -> list[str]:
    """Return the answer in three lines."""
    found = precisions(table, {name: asdict(sizes) for name, sizes in SETS.items()})
    if not found:
        return ["No results yet."]
    (worst, low), (best, high) = (choose(found.items(), key=lambda item: item[1]) for choose in (min, max))
    return [
        f"Where tagloom promises 90 % precision, {100 * low:.0f} to {100 * high:.0f} % of its suggestions are right, "
        f"across {len(TOLD) + len(LEARNT)} scenarios",
        f"on {' and '.join(title_of(name) for name in SETS)}. The lowest precision is that of *{worst}*,",
        f"the highest that of *{best}*.",
    ]


def _situations(table: Table, name: str, situations: dict[str, Situation], counts: dict[str, int]) -> list[str]:
    rows = []
    for key, situation in situations.items():
        figures = _figures(table, name, key)
        if figures is not None:
            rows.append([situation.title.format(**counts), *figures])
    return lines_of(HEADER, rows) if rows else ["No results yet.", ""]


def _figures(table: Table, name: str, situation: str) -> list[str] | None:
    above, right, expected, tags_expected, tags_true = (
        list(table.values(name, CONDITION, situation, figure).values())
        for figure in ("above", "right", "expected", "tags_expected", "tags_true")
    )
    if not above:
        return None
    return [
        f"{bootstrap(above).value:.0f}",
        f"{sum(expected) / sum(above):.3f}" if sum(above) else "–",
        number(bootstrap_ratio(right, above)) if sum(above) else "–",
        number(figure_of(table, name, CONDITION, situation, "error")),
        number(bootstrap_ratio(tags_expected, tags_true), 2),
        number(figure_of(table, name, CONDITION, situation, "map")),
    ]


def _evaluated(table: Table, name: str) -> list[str]:
    """Return what `evaluate` says of the same suggestions."""
    values = {
        figure: table.values(name, CONDITION, EVALUATED, figure)
        for figure in ("above", "right", "told/accepted", "told/precision", "told/low", "told/high")
    }
    draws = [draw for draw in values["told/low"] if values["above"][draw]]
    if not draws:
        return []
    true = {draw: values["right"][draw] / values["above"][draw] for draw in draws}
    held = sum(values["told/low"][draw] <= true[draw] <= values["told/high"][draw] for draw in draws)
    told = [values["told/precision"][draw] for draw in draws]
    n_told = [values["told/accepted"][draw] for draw in draws]
    return [
        f"`evaluate` with {SETS[name].listed} photos labelled: {_mean(told)} of the suggestions above the threshold "
        f"on labelled photos are right by cross-validation (mean of {len(draws)} draws, {_range(n_told)} "
        f"suggestions in each); its 95 % interval holds the true share for other photos in {held} of {len(draws)}.",
        "",
    ]


def _mean(values: Sequence[float]) -> str:
    found: Interval = bootstrap(values)
    return f"{found.value:.3f}"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.0f} to {max(values):.0f}"
