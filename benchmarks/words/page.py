"""The page of what names of tags say of photos, from the recorded cells alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.text import lines_of, title_of
from benchmarks.results import CellResult, environment_lines, read_cells
from benchmarks.words.cells import (
    AUTO,
    BOTH,
    COST,
    COST_OF_NAMES,
    HERE,
    NAMES,
    NETWORK_SETS,
    NETWORKS,
    RIVALS,
    SETS,
    SURE,
    with_network,
)

METHODS = (*RIVALS, AUTO, BOTH)
TITLES = {"caltech101": "Caltech-101 as tags"}
#: Draws of the bootstrap over collections and, inside them, over draws of labelled photos.
ROUNDS = 2000


@dataclass(frozen=True, slots=True)
class Headline:
    """By how much `auto` is ahead of the best rival, relative to its MAP.

    Parameters
    ----------
    mean, low, high : float
        The mean over all lines, and its 95 % interval over collections and draws.
    worst : float
        The mean over the draws of the line where it is least ahead.
    where : str
        That line.
    n_lines, n_sets : int
        How many lines and collections.
    """

    mean: float
    low: float
    high: float
    worst: float
    where: str
    n_lines: int
    n_sets: int

    @property
    def text(self) -> str:
        """The mean and its interval."""
        return f"{100 * self.mean:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f})"


def headline(cells: Sequence[CellResult], figure: str) -> Headline | None:
    """Return by how much `auto` is ahead of the rival that did best on a line in the mean of its draws.

    Parameters
    ----------
    cells : sequence of CellResult
        The recorded cells.
    figure : {"map", "map_of_examples"}
        Over all tags, or over those with a labelled example.
    """
    gains: dict[str, list[NDArray[Any]]] = {}
    lines = []
    for name, n in [(one, str(count)) for one, counts in SETS.items() for count in counts if count]:
        found = {
            method: np.array(
                [
                    one.test[figure]
                    for one in sorted(cells, key=lambda one: one.draw)
                    if (one.data, one.condition, one.method) == (name, n, method)
                ]
            )
            for method in (*RIVALS, BOTH)
        }
        if any(len(values) != len(found[BOTH]) or not len(values) for values in found.values()):
            continue
        best = max(RIVALS, key=lambda method: float(found[method].mean()))
        gain = found[BOTH] / found[best] - 1.0
        gains.setdefault(name, []).append(gain)
        lines.append((float(gain.mean()), f"{_title(name)}, {n} labelled, against {best}"))
    if not lines:
        return None
    rng, sets, means = np.random.default_rng(0), list(gains), []
    for _ in range(ROUNDS):
        drawn = [gains[sets[place]] for place in rng.integers(len(sets), size=len(sets))]
        means.append(np.mean([rng.choice(gain, len(gain)).mean() for part in drawn for gain in part]))
    low, high = np.quantile(means, [0.025, 0.975])
    worst, where = min(lines)
    mean = float(np.mean([value for value, _ in lines]))
    return Headline(mean, float(low), float(high), worst, where, len(lines), len(sets))


def answer(cells: Sequence[CellResult]) -> list[str]:
    """Return the headline in a few lines: over the tags with a labelled example, and over all."""
    found, every = headline(cells, "map_of_examples"), headline(cells, "map")
    if found is None or every is None:
        return []
    return [
        f"Over the tags with at least one labelled example, `auto` reaches {found.text} more",
        f"mean average precision than the best of {len(RIVALS)} rivals on the same network (names alone, logistic",
        "regression, a linear probe, and names with logistic regression), picked in hindsight, over",
        f"{found.n_lines} settings of {found.n_sets} collections; least in {found.where}",
        f"({100 * found.worst:+.1f} %). Over all tags, those without an example among them,",
        f"it is {every.text}; least in {every.where} ({100 * every.worst:+.1f} %).",
    ]


def _title(name: str) -> str:
    return TITLES.get(name) or title_of(name)


def page(folder: Path = HERE) -> str:
    """Return the page."""
    cells = [cell for cell in read_cells(folder / "results.json") if cell.data in SETS]
    lines = [
        "# Suggestions from tag names",
        "",
        *_answer(cells),
        "",
        *answer(cells),
        "",
        "Mean average precision over all tags that a ranked photo has, the mean of three draws of labelled photos; in",
        "brackets over the tags with a labelled example. The ranked photos are those not labelled; of Corel5K, its",
        "test part. *Names alone* is `word_log_odds` of the bundled network's class probabilities and never sees a",
        "label. The linear probe is ridge regression with a penalty for each tag by leave-one-out. *Names and",
        "logistic regression* adds standardised scores, names with the weight 1 / (1 + examples). `auto` is the",
        "default method with what the names say, *auto without names* the same without. Draws are paired. Intervals",
        "are a bootstrap over collections and draws. Made by `python -m benchmarks.words run` from",
        "`benchmarks/words/results.json`; edit nothing here.",
        "",
        "**No set here is an independent test of names alone.** Temperature, template and the share of kinds were",
        "taken from Corel5K's training row while the figures of COCO-free and MSRC v2 were on the same screen. The",
        "vocabulary rules were loosened after listing which tags of COCO-free, MSRC v2 and Caltech-101 were missing.",
        "A set that nobody has looked at is still needed; see [the card](../reference/word-table.md). How names and",
        "examples are weighed, and what makes log-odds of names, was fitted to Corel5K's training photos and to",
        "Caltech-101 (of each class the first 8 photos; those ranked here are others) alone. That words only like a",
        "class need more was found on Corel5K's test photos; the rule was fitted without them.",
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
        lines += [f"## {_title(name)}", "", *(lines_of(header, rows) if some else ["No results yet.", ""])]
    lines += _calibration(cells)
    lines += _networks(cells)
    return "\n".join([*lines, *environment_lines(cells)]).rstrip() + "\n"


def _calibration(cells: Sequence[CellResult]) -> list[str]:
    """Return how right the probabilities are, a table for all sets."""
    rows = []
    for name, counts in SETS.items():
        for n in counts:
            some = [one for one in cells if (one.data, one.condition) == (name, str(n)) and "brier" in one.test]
            found = [[one.test for one in some if one.method == method] for method in (NAMES, AUTO, BOTH)]
            if some:
                rows.append([_title(name), str(n), *map(_brier, found), *map(_sure, found)])
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


def _networks(cells: Sequence[CellResult]) -> list[str]:
    """Return what larger networks bring, and cost."""
    sizes = ("small", *NETWORKS)

    def called(method: str, size: str) -> str:
        return method if size == "small" else with_network(method, size)

    costs = {cell.method: cell.test for cell in cells if cell.method.startswith(COST)}
    rows, gains = [], dict[str, list[float]]()
    for name, n in [(one, str(count)) for one, counts in NETWORK_SETS.items() for count in counts]:
        row = [_title(name), n]
        for method in (NAMES, BOTH):
            found = [
                [one.test["map"] for one in cells if (one.data, one.condition, one.method) == (name, n, wanted)]
                for wanted in (called(method, size) for size in sizes)
            ]
            means = [sum(values) / len(values) if values else float("nan") for values in found]
            row += [f"{value:.3f}" if values else "–" for value, values in zip(means, found, strict=True)]
            if method == BOTH and all(found):
                for size, value in zip(sizes, means, strict=True):
                    gains.setdefault(size, []).append(100.0 * (value / means[0] - 1.0))
        rows.append(row)
    if not all(called(COST, size) in costs for size in sizes) or not gains.get(NETWORKS[-1]):
        return []
    time = [costs[called(COST, size)]["milliseconds"] for size in sizes]
    names = costs.get(COST_OF_NAMES)
    more = [
        f"*{size}* costs {took:.1f} ms a photo and brings `auto` {mean:+.1f} % MAP in the mean of {len(gains[size])} "
        f"lines (least {min(gains[size]):+.1f} %), {mean / (took - time[0]):+.2f} % for each millisecond more."
        for size, took in zip(sizes[1:], time[1:], strict=True)
        for mean in [sum(gains[size]) / len(gains[size])]
    ]
    cost = []
    if names:
        cost = [
            f"The names of 260 tags cost {names['milliseconds']:.3f} ms a photo, and {names['load']:.2f} s at first.",
            "",
        ]
    return [
        "## Other networks",
        "",
        f'`network = "small"`, the default, is EfficientNet-Lite0: {time[0]:.1f} ms of processor time a photo in one',
        "thread, decoding left aside. *medium* is EfficientNet-Lite2 at 256 pixels, *large* both at 256 pixels, with",
        "the mean of their class probabilities. Gains are those of `auto` with names, relative to *small*.",
        "",
        *(f"- {line}" for line in more),
        "",
        *cost,
        *lines_of(["set", "labelled", *(f"{method}, {size}" for method in (NAMES, BOTH) for size in sizes)], rows),
    ]


def _brier(found: Sequence[dict[str, float]]) -> str:
    return f"{sum(one['brier'] for one in found) / len(found):.4f}" if found else "–"


def _sure(found: Sequence[dict[str, float]]) -> str:
    count = sum(one["sure"] for one in found)
    right = sum(one["sure_right"] for one in found)
    return f"{right / count:.2f} of {count / len(found):.0f}" if count else "–"


def _answer(cells: Sequence[CellResult]) -> list[str]:
    first = [cell for cell in cells if cell.condition == "0" and cell.method == NAMES]
    if not first:
        return ["No results yet."]
    figures = ", ".join(f"{cell.test['map']:.3f} on {_title(cell.data)}" for cell in first)
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
            found.append(f"{values} with {some[0].condition} on {_title(name)}")
    return [f"With few labels they raise `auto` from {', '.join(found)}."] if found else []


def _text(cells: Sequence[CellResult]) -> str:
    if not cells:
        return "–"
    whole = sum(cell.test["map"] for cell in cells) / len(cells)
    if "map_of_examples" not in cells[0].test:
        return f"{whole:.3f}"
    return f"{whole:.3f} ({sum(cell.test['map_of_examples'] for cell in cells) / len(cells):.3f})"
