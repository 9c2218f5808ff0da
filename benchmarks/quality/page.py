"""The page of the quality benchmark, from the recorded cells alone."""

from collections.abc import Container
from pathlib import Path

from benchmarks.quality.active import STRATEGIES
from benchmarks.quality.analysis import (
    PARTS,
    Interval,
    Table,
    accepted,
    bootstrap,
    curves,
    figure_of,
    gains_over_deep,
    labels_needed,
    paired,
    regret,
    shortfalls,
)
from benchmarks.quality.cells import STUDIES
from benchmarks.quality.claims import JUDGED_AT, LEAST_ORACLE, OURS, claims
from benchmarks.quality.methods import COMPETITORS, DEEP_ALONE, METHODS
from benchmarks.quality.more_page import more_lines
from benchmarks.quality.positive import METHODS as POSITIVE
from benchmarks.quality.problem import MANY_ENTRIES
from benchmarks.quality.sets import SETS
from benchmarks.quality.text import fold, lines_of, method_title, number, percent, title_of
from benchmarks.results import digest, read_cells

NOT_RUN = "No results yet."
PART_TITLES = {"unlabeled": "photos seen without labels", "new": "new photos"}


def page(folder: Path, figures: Container[str] = ()) -> str:
    """Return the page.

    Parameters
    ----------
    folder : Path
        Holds the results of each study, as far as they have been run.
    figures : container of str
        Figures that lie beside the page.
    """
    cells = {name: read_cells(folder / f"{name}.json") for name in STUDIES}
    tables = {name: Table(found) for name, found in cells.items()}
    further = more_lines(cells)
    lines = [
        "# Quality with few labels",
        "",
        *answer(tables["annotators"]),
        "",
        *(["![Mean average precision](quality.svg)", ""] if "quality.svg" in figures else []),
        *_claims(tables),
        *(["[More draws](#more-draws) looks closer at some of them.", ""] if further else []),
        *_maps(tables["annotators"]),
        *_regret(tables["annotators"]),
        *_deep(tables["annotators"]),
        *_calibration(tables["annotators"]),
        *_accepted(tables["annotators"]),
        *_positive(tables["positive"]),
        *further,
        *_active(tables["active"], figures),
        *_taken_in(tables["annotators"]),
        *_effort(tables["annotators"]),
    ]
    about = _protocol()
    found = {digest(cell.environment): cell.environment for group in cells.values() for cell in group}
    if found:
        about += ["## Machines and versions", ""]
        ordered = sorted(found.values(), key=lambda item: sorted((key, str(value)) for key, value in item.items()))
        about += ["- " + ", ".join(f"{key} {value}" for key, value in sorted(where.items())) for where in ordered]
    about += [
        "",
        "Made by `python -m benchmarks.quality report` from `benchmarks/quality/results/`; edit nothing here.",
    ]
    lines += fold("Protocol: data, methods, machines", about)
    return "\n".join(lines).rstrip() + "\n"


def answer(table: Table) -> list[str]:
    """Return the answer in three lines."""
    told = regret(shortfalls(table, OURS[0]))
    if told is None:
        return [NOT_RUN]
    mean, worst, place = told.mean, told.worst, told.worst_place
    return [
        f"`auto` reaches {percent(_turned(mean))} more mean average precision than the best of",
        f"{len(COMPETITORS)} tuned competitors, even when that one is picked in hindsight, over",
        f"{_n_places(table)} settings of {len({item[0] for item in table.places})} public collections. In the worst "
        f"setting ({title_of(place.data)}, {place.condition} labelled, {PART_TITLES[place.part]})",
        f"it is {percent(worst)} behind. These figures are over all tags, those without a labelled example among",
        "them, and without what the names of tags say; [What the names of tags say](words.md) has both apart.",
    ]


def _turned(value: Interval) -> Interval:
    return Interval(-value.value, -value.high, -value.low, value.n)


def _n_places(table: Table) -> int:
    return len(shortfalls(table, OURS[0]))


def _claims(tables: dict[str, Table]) -> list[str]:
    met = {"holds": "yes", "does not hold": "no"}
    rows = [
        [claim.text, claim.asked, claim.measured, met.get(claim.verdict, claim.verdict)] for claim in claims(tables)
    ]
    return [
        "## Targets",
        "",
        *lines_of(["", "target", "measured", "met"], rows),
    ]


def _protocol() -> list[str]:
    rows = [
        [item.title, item.about, ", ".join(f"{100 * share:g} %" for share in item.fractions), str(item.draws)]
        for item in SETS.values()
    ]
    methods = [[method.title, method.about] for name, method in METHODS.items() if name not in DEEP_ALONE]
    return [
        "## How it is measured",
        "",
        *lines_of(["set", "what", "labelled", "draws"], rows),
        "Labelled is a share of the photos seen, where that is at least max(20, tags / 5) photos; they are drawn",
        "at random, the same for every method. Competitors choose among their points by MAP in five folds of the",
        "labelled photos (`LabeledKFold`, the same folds for all) over the tags with two positives (in two of the five",
        f"where more than {MANY_ENTRIES:,} entries are known: Corel5K and Corel16k at 10 and 25 %), and are fitted",
        "once more with all labels; no competitor is cut short by a budget. All see the same features, scaled by",
        "`GroupScaler` with its default weights; `auto` gets them as extracted.",
        "",
        "Choices for tagloom's own methods were made on the training photos of Corel5K, so its figures for photos seen",
        "without labels are of photos that were used in that way. The competitors' grids were laid out after a look at",
        "the first draw of Corel5K at 5, 10 and 25 %, hidden labels of training photos included: values of C were",
        "moved to where linear learners and SelfTraining did best. A trial of competitors at 5 % scored its new photos",
        "too; nothing was chosen by that. The other sets took no part in either.",
        "",
        "Results on the other sets showed where `auto` fell short, six times; what was changed then was chosen on",
        "sub-problems of Corel5K's training photos alone, never on those sets.",
        "",
        "Intervals are of draws of labelled photos from one and the same collection, five or ten of them: they say",
        "nothing about other collections. The visual words of photos are learnt by k-means, which finds other words on",
        "another kind of processor: figures of Corel5K, MSRC v2 and COCO-free then change as with another seed (single",
        "draws on another machine, by up to 0.01 of MAP). scene and Corel16k gave the same digits.",
        "",
        *lines_of(["method", "points and shared work"], methods),
        "Thinner than one might wish: grids have 3 to 12 points; the Gaussian graph of LabelSpreading, dense over all",
        "photos, is left out; SelfTraining sees 256 principal components and two folds; TagProp has one metric; a draw",
        "of Corel16k has 4,000 rows of about 13,800; folds end L-BFGS at a looser tolerance than the final fit.",
        "Grids that ended where a trial on Corel5K (5 %, first draw) did best were made wider once: logistic",
        "regression to C 10000, the RBF SVM to C 100, JEC to k 40, TagProp to K 200, LabelSpreading to k 60. At C of",
        "100 and more, scores of logistic regression still differ from scikit-learn's at its",
        "default tolerance (by up to 12 in log-odds at C 1000); equality is tested at C up to 20 on a small problem.",
        "",
    ]


def _maps(table: Table) -> list[str]:
    lines = ["## Mean average precision", ""]
    if not table.places:
        return [*lines, NOT_RUN, ""]
    lines += ["Mean over draws; in brackets the 95 % interval of that mean (bootstrap over draws).", ""]
    for data in dict.fromkeys(place[0] for place in table.places):
        conditions = [condition for name, condition in table.places if name == data]
        for part in PARTS:
            rows = []
            for name, method in METHODS.items():
                found = [figure_of(table, data, condition, name, f"{part}/map") for condition in conditions]
                if any(item is not None for item in found):
                    rows.append([method.title, *(number(item) for item in found)])
            lines += [f"{title_of(data)}, {PART_TITLES[part]}:", "", *lines_of(["method", *conditions], rows)]
    return lines


def _regret(table: Table) -> list[str]:
    lines = [
        "## Regret",
        "",
        "How far a method's MAP falls short of the best competitor's in hindsight, relative to the latter; below zero",
        "it is ahead. *Best of each draw* takes in every draw the competitor that did best in that very draw, which no",
        "one method can be; *best on average* the one with the best mean over draws. Judged is the former.",
        "",
    ]
    n_lines = len(lines)
    for own in OURS:
        found = shortfalls(table, own)
        told = regret(found)
        if told is None:
            continue
        rows = [
            [
                title_of(item.data),
                item.condition,
                PART_TITLES[item.part],
                percent(bootstrap(item.by_draw)),
                percent(bootstrap(item.of_best)),
                method_title(item.best),
            ]
            for item in found
        ]
        worst = told.worst_place
        lines += [
            f"{method_title(own)}: mean {percent(told.mean)}; worst {percent(told.worst)} "
            f"({title_of(worst.data)}, {worst.condition}, {PART_TITLES[worst.part]}).",
            "",
            *lines_of(["set", "labelled", "part", "best of each draw", "best on average", "which"], rows),
        ]
    return lines if len(lines) > n_lines else [*lines, NOT_RUN, ""]


def _deep(table: Table) -> list[str]:
    rows = [
        [method_title(own), item.condition, PART_TITLES[item.part], percent(gain), method_title(item.best)]
        for own in OURS
        for item, gain in gains_over_deep(table, own)
    ]
    header = ["method", "labelled", "part", "gain in MAP", "best on average"]
    return [
        "## Over the best supervised learner on the embedding alone",
        "",
        "Corel5K; in every draw against the best of ridge, logistic regression, SVMs and kNN on deep features in that",
        "draw.",
        "",
        *(lines_of(header, rows) if rows else [NOT_RUN, ""]),
    ]


def _calibration(table: Table) -> list[str]:
    rows = []
    for data, condition in table.places:
        for own in OURS:
            for kind, title in (("calibrated", method_title(own)), ("scores", f"{method_title(own)}, scores")):
                names = [f"{kind}/{name}" for name in ("best_error", "likely_error", "brier_skill")]
                found = [figure_of(table, data, condition, own, name) for name in names]
                if any(item is not None for item in found):
                    rows.append([title_of(data), condition, title, *(number(item) for item in found)])
    header = ["set", "labelled", "method", "error, five best", "error, p ≥ 0.05", "Brier skill"]
    return [
        "## Probabilities",
        "",
        "Calibration error in 15 bins of equal mass over each photo's five best tags and over all entries with",
        "p ≥ 0.05; Brier skill over the tags' frequency among the labelled photos; photos seen without labels.",
        f"*Scores*: uncalibrated scores, cut to 0 and 1. Judged at {' and '.join(JUDGED_AT)}.",
        "",
        *(lines_of(header, rows) if rows else [NOT_RUN, ""]),
    ]


def _accepted(table: Table) -> list[str]:
    rows = []
    for data, condition in table.places:
        for own in OURS:
            found = accepted(table, data, condition, own)
            if found is None:
                continue
            judged = "yes" if found.oracle >= LEAST_ORACLE else "no"
            rows.append(
                [
                    title_of(data),
                    condition,
                    method_title(own),
                    f"{found.count:.0f}",
                    number(found.precision),
                    f"{found.oracle:.0f}",
                    "–" if found.share is None else f"{found.share:.2f}",
                    judged,
                ]
            )
    header = ["set", "labelled", "method", "accepted", "precision", "hindsight accepts", "share", "judged"]
    return [
        "## At 95 % precision",
        "",
        "Tags accepted per draw by the thresholds for 95 % precision, their measured precision, and how many one",
        "threshold chosen on the truth would accept at 95 %. Sets where that is fewer than "
        f"{LEAST_ORACLE} are reported, not judged.",
        "",
        *(lines_of(header, rows) if rows else [NOT_RUN, ""]),
    ]


def _positive(table: Table) -> list[str]:
    rows = []
    for data, condition in table.places:
        for name in dict.fromkeys(method.partition("-")[0] for method in POSITIVE):
            for figure, title in (
                ("unlabeled/map", "MAP, seen without labels"),
                ("new/map", "MAP, new"),
                ("brier_skill", "Brier skill"),
                ("best_error", "calibration error, five best"),
            ):
                listed, no, unknown = (f"{name}-{meaning}" for meaning in ("listed", "no", "unknown"))
                found = [figure_of(table, data, condition, side, figure) for side in (listed, no, unknown)]
                gains = [paired(table, data, condition, unknown, side, figure) for side in (listed, no)]
                if any(gain is not None for gain in gains):
                    cells = [number(item) for item in (*found, *gains)]
                    rows.append([title_of(data), condition, method_title(name), title, *cells])
    no = "absent means no"
    header = ["set", "labelled", "method", "figure", no, f"{no}, emptied photos left out", "absent means unknown"]
    header += ["gain over the first", "over the second"]
    return [
        "## Only half of the true tags are named",
        "",
        "Of the labelled photos' true tags each is hidden with probability one half. A photo that has lost all of them",
        "is like an unlabelled one where absence means unknown. Where it means no, it is a photo without tags, or left",
        "out as well; then absence is next to a no where photos have one tag each (scene), and little can be won.",
        "",
        *(lines_of(header, rows) if rows else [NOT_RUN, ""]),
    ]


def _active(table: Table, figures: Container[str]) -> list[str]:
    rows = []
    for data, condition in table.places:
        reference = curves(table, data, condition, "random")
        if reference is None:
            continue
        for strategy in STRATEGIES[1:]:
            found = curves(table, data, condition, strategy)
            if found is None or found[1].shape != reference[1].shape:
                continue
            share = labels_needed(found[0], found[1], reference[1])
            needed = (
                percent(share, 0) if share.value <= 1 else f"not reached (MAP {100 * (share.value - 1):.1f} % below)"
            )
            ends = [f"{values[1].mean(axis=0)[-1]:.3f}" for values in (found, reference)]
            rows.append([title_of(data), strategy, f"{found[0][0]} to {found[0][-1]}", *ends, needed])
    header = ["set", "strategy", "labels", "MAP at the end", "random's", "labels needed to reach random's"]
    lines = [
        "## What to label next",
        "",
        "Each strategy of `rank_photos` from the same start sets, 20 seeds; smoothed ridge on 256 principal components",
        "of 2,400 photos at most, a third of them kept for scoring and never asked for. COCO-free has too few photos.",
        "",
        *(lines_of(header, rows) if rows else [NOT_RUN, ""]),
    ]
    return lines + (["![MAP by number of labels](quality-active.svg)", ""] if "quality-active.svg" in figures else [])


def _taken_in(table: Table) -> list[str]:
    """Return how often `auto` took in what it takes in only where labels can tell."""
    rows = []
    for data, condition in table.places:
        chosen = [cell.point for cell in table.cells_of(data, condition, "auto") if "tag_mixing" in cell.point]
        if not chosen:
            continue
        mixed = sum(point["tag_mixing"]["strength"] > 0 for point in chosen)
        single = sum(bool(point.get("single_tags")) for point in chosen)
        rows.append([f"{title_of(data)}, {condition}", str(len(chosen)), str(mixed), str(single)])
    header = ["set, labelled", "draws", "tags listen to others", "single tags choose"]
    return [
        "## What `auto` took in",
        "",
        "In how many draws leave-one-out scores showed a gain that stood out.",
        "",
        *(lines_of(header, rows) if rows else [NOT_RUN, ""]),
    ]


def _effort(table: Table) -> list[str]:
    if not table.places:
        return []
    rows = []
    for name in (*COMPETITORS, *DEEP_ALONE, *OURS):
        found = [table.seconds(data, condition, name) for data, condition in table.places]
        if any(value is not None for value in found):
            rows.append([method_title(name), *("–" if value is None else f"{value:.1f}" for value in found)])
    header = ["method", *(f"{title_of(data)}, {condition}" for data, condition in table.places)]
    return [
        "## Effort",
        "",
        "Median CPU seconds of a cell: choosing, fitting and scoring.",
        "",
        *lines_of(header, rows),
    ]
