"""The page of what names of tags say of photos, from the recorded cells alone."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.quality.text import lines_of, title_of
from benchmarks.results import CellResult, environment_lines, read_cells
from benchmarks.words.cells import (
    AUTO,
    BOTH,
    COST,
    COST_OF_NAMES,
    HERE,
    LOGISTIC,
    NAMES,
    NETWORKS,
    SETS,
    SURE,
    with_network,
)

METHODS = (NAMES, LOGISTIC, AUTO, BOTH)


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
        "test part. *Names alone* is `word_log_odds` of the bundled network's class probabilities and never sees a",
        "label. `auto` is the default method with what the names say, *auto without names* the same without. Draws are",
        "paired. Made by `python -m benchmarks.words run` from `benchmarks/words/results.json`; edit nothing here.",
        "",
        "**No set here is an independent test of names alone.** Temperature, template and the share of kinds were",
        "taken from Corel5K's training row while the figures of COCO-free and MSRC v2 were on the same screen. The",
        "vocabulary rules were loosened after listing which tags of COCO-free, MSRC v2 and Caltech-101 were missing.",
        "A set that nobody has looked at is still needed; see [the card](../reference/word-table.md). How names and",
        "examples are weighed, and what makes log-odds of names, was fitted to Corel5K's training photos and to",
        "Caltech-101 alone.",
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


def _networks(cells: Sequence[CellResult]) -> list[str]:
    """Return what larger networks bring, and cost."""
    sizes = ("small", *NETWORKS)

    def called(method: str, size: str) -> str:
        return method if size == "small" else with_network(method, size)

    costs = {cell.method: cell.test for cell in cells if cell.method.startswith(COST)}
    rows, gains = [], dict[str, list[float]]()
    for name, n in [(name, str(n)) for name, counts in SETS.items() for n in counts]:
        row = [title_of(name), n]
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
            f"The names of 260 tags cost {names['milliseconds']:.3f} ms a photo, {names['load']:.2f} s at first",
            f"and {names['megabytes']:.0f} MB.",
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
