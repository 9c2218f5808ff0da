"""What is asked of the quality benchmark, computed from the cells: verdicts are never written by hand."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.quality import active, positive
from benchmarks.quality.analysis import (
    Interval,
    Table,
    accepted,
    curves,
    figure_of,
    gains_over_deep,
    labels_needed,
    paired,
    regret,
    shortfalls,
)
from benchmarks.quality.methods import COMPETITORS, DEEP_ALONE
from benchmarks.quality.sets import SETS

HOLDS, FAILS, NOT_RUN = "holds", "does not hold", "not run"
#: Said before a verdict while cells that it needs are missing.
SO_FAR = "so far: "
OURS = ("auto", "smoothed_ridge")
#: Fractions at which calibration is judged, and the one method that is judged.
JUDGED_AT = ("5 %", "10 %")
JUDGED = "auto"
LEAST_ORACLE = 200
MEAN_REGRET, WORST_REGRET, DEEP_GAIN = 0.01, 0.05, 0.10
MOST_ERROR, LEAST_PRECISION, LEAST_SHARE = 0.05, 0.90, 0.5
SHARE_OF_LABELS, N_SETS = 0.7, 2


@dataclass(frozen=True)
class Claim:
    """One line of the page's first table."""

    text: str
    asked: str
    measured: str
    verdict: str


def claims(tables: dict[str, Table]) -> list[Claim]:
    """Return every claim with its verdict."""
    table = tables["annotators"]
    return [
        *_regret(table),
        _deep_gain(table),
        *_probabilities(table),
        _accepted(table),
        *_positive(tables["positive"]),
        _active(tables["active"]),
    ]


def _verdict(holds: bool, complete: bool) -> str:
    return ("" if complete else SO_FAR) + (HOLDS if holds else FAILS)


def _missing(text: str, asked: str) -> Claim:
    return Claim(text, asked, "–", NOT_RUN)


def _complete(table: Table, methods: Iterable[str], places: Iterable[tuple[str, float]], figure: str) -> bool:
    """Say whether every draw of the places is there for all the methods."""
    return all(
        len(table.values(data, f"{100 * share:g} %", method, figure)) >= SETS[data].draws
        for data, share in places
        for method in methods
    )


def _places(*conditions: str) -> list[tuple[str, float]]:
    """Return the sets and fractions that are asked for, all or those of some conditions."""
    return [
        (name, share)
        for name, item in SETS.items()
        for share in item.fractions
        if not conditions or f"{100 * share:g} %" in conditions
    ]


def _regret(table: Table) -> list[Claim]:
    texts = ("mean regret to the best competitor", "worst regret")
    asked = (f"≤ {MEAN_REGRET:.0%}".replace("%", " %"), f"≤ {WORST_REGRET:.0%}".replace("%", " %"))
    found = shortfalls(table, JUDGED)
    told = regret(found)
    if told is None:
        return [_missing(text, limit) for text, limit in zip(texts, asked, strict=True)]
    complete = _complete(table, (JUDGED, *COMPETITORS), _places(), "unlabeled/map")
    values, limits = (told.mean, told.worst), (MEAN_REGRET, WORST_REGRET)
    return [
        Claim(text, limit_text, _spell(value, len(found)), _verdict(value.value <= limit, complete))
        for text, limit_text, value, limit in zip(texts, asked, values, limits, strict=True)
    ]


def _spell(value: Interval, n_places: int) -> str:
    low, high = 100 * value.low, 100 * value.high
    return f"{100 * value.value:.1f} % ({low:.1f} to {high:.1f}), {n_places} places"


def _deep_gain(table: Table) -> Claim:
    text, asked = "Corel5K, at most 5 % labelled: MAP over the best supervised learner on deep features", "≥ 10 %"
    gains = [
        (item, gain)
        for item, gain in gains_over_deep(table, JUDGED)
        if item.data == "corel5k" and item.condition in ("1 %", "2 %", "5 %")
    ]
    if not gains:
        return _missing(text, asked)
    told = ", ".join(f"{100 * gain.value:+.1f} % ({item.condition}, {item.part})" for item, gain in gains)
    asked_at = [place for place in _places("1 %", "2 %", "5 %") if place[0] == "corel5k"]
    complete = _complete(table, (JUDGED, *DEEP_ALONE), asked_at, "unlabeled/map")
    return Claim(text, asked, told, _verdict(all(gain.value >= DEEP_GAIN for _, gain in gains), complete))


def _probabilities(table: Table) -> list[Claim]:
    places = [place for place in table.places if place[1] in JUDGED_AT]
    rows = (
        ("calibrated/best_error", "calibration error, five best", "≤ 0.05"),
        ("calibrated/likely_error", "calibration error, p ≥ 0.05", "≤ 0.05"),
        ("calibrated/brier_skill", "Brier skill", "> 0"),
    )
    found = []
    for figure, text, asked in rows:
        values = [figure_of(table, *place, JUDGED, figure) for place in places]
        told = [value.value for value in values if value is not None]
        name = f"{text}, at 5 % and 10 % labelled"
        if not told:
            found.append(_missing(name, asked))
            continue
        is_error = figure.endswith("error")
        worst = max(told) if is_error else min(told)
        holds = worst <= MOST_ERROR if is_error else worst > 0.0
        complete = _complete(table, (JUDGED,), _places(*JUDGED_AT), "calibrated/brier_skill")
        found.append(Claim(name, asked, f"worst of {len(told)} places {worst:.3f}", _verdict(holds, complete)))
    return found


def _accepted(table: Table) -> Claim:
    text = 'at "95 % precision": measured precision, and share of what hindsight accepts'
    asked = "≥ 0.90 and ≥ 0.5"
    found = [accepted(table, *place, JUDGED) for place in table.places]
    judged = [item for item in found if item is not None and item.oracle >= LEAST_ORACLE]
    if not judged:
        return _missing(text, asked)
    precision = min(item.precision.value if item.precision is not None else 0.0 for item in judged)
    share = min(item.share or 0.0 for item in judged)
    told = f"worst of {len(judged)} judged places {precision:.3f} and {share:.2f}"
    complete = _complete(table, (JUDGED,), _places(), "accepted/count")
    return Claim(text, asked, told, _verdict(precision >= LEAST_PRECISION and share >= LEAST_SHARE, complete))


def _positive(table: Table) -> list[Claim]:
    """Judge both ways to take absence for a no; see `benchmarks.quality.positive`."""
    text = "half of the true tags hidden: absent as unknown against absent as no"
    return [
        _positive_against(table, "listed", f"{text} on every labelled photo"),
        _positive_against(table, "no", f"{text}, photos that lost all their tags left out"),
    ]


def _positive_against(table: Table, meaning: str, text: str) -> Claim:
    asked = "better in MAP and Brier skill"
    sides = f"{JUDGED}-unknown", f"{JUDGED}-{meaning}"
    gains = [
        paired(table, *place, *sides, figure) for place in table.places for figure in ("unlabeled/map", "brier_skill")
    ]
    told = [gain.value for gain in gains if gain is not None]
    if not told:
        return _missing(text, asked)
    wins = sum(value > 0 for value in told)
    places = [(name, share) for name, item in SETS.items() for share in positive.fractions(item)]
    complete = _complete(table, sides, places, "brier_skill")
    return Claim(text, asked, f"better in {wins} of {len(told)} figures", _verdict(wins == len(told), complete))


def default_strategy() -> str:
    """Return the strategy that `rank_photos` has when none is named."""
    from tagloom.tuning import rank_photos

    return str(inspect.signature(rank_photos).parameters["strategy"].default)


def _active(table: Table) -> Claim:
    """Judge the default strategy alone: the best of five in hindsight would look good by chance."""
    name = default_strategy()
    text = f"default strategy ({name}): share of the labels with which it reaches random's MAP"
    asked = f"≤ 70 % on {N_SETS} sets"
    shares: dict[str, float] = {}
    n_seeds = []
    for data, condition in table.places:
        reference, found = (curves(table, data, condition, strategy) for strategy in ("random", name))
        if reference is not None and found is not None and found[1].shape == reference[1].shape:
            shares[data] = labels_needed(found[0], found[1], reference[1]).value
            n_seeds.append(len(found[1]))
    if not shares:
        return _missing(text, asked)
    told = ", ".join(
        f"{SETS[data].title if data in SETS else data} " + (f"{100 * share:.0f} %" if share <= 1 else "never")
        for data, share in shares.items()
    )
    n_wanted = sum(bool(active.fractions(item)) for item in SETS.values())
    complete = len(shares) == n_wanted and min(n_seeds) >= active.N_SEEDS
    holds = sum(share <= SHARE_OF_LABELS for share in shares.values()) >= N_SETS
    return Claim(text, asked, told, _verdict(holds, complete))
