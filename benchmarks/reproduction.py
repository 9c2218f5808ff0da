"""The page "Did it reproduce?": every claim of the papers with a verdict, from recorded results alone."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from benchmarks import experiment as experiments
from benchmarks.experiment import Claim, Experiment, read_claims, read_expected, read_experiment
from benchmarks.results import CellResult, read_cells
from benchmarks.runner import finished
from benchmarks.summary import Summary, claimed, statuses

HOLDS, IN_PART, FAILS, UNTESTED = "holds", "holds in part", "fails", "cannot be tested"
#: The papers in the order of the pages.
PAPERS = ("sfss", "topics", "lpssvm", "tkml", "nova")
ABOUT = """\
For each claim of the five papers: does it come out here? *Ours* is the paper's own protocol. Where parameters chosen
without the test photos (the honest column) say otherwise, the claim holds in part at most; it fails where neither
column wins half of the comparisons. Figures are of the method and of the best of the others; over several conditions,
how many comparisons the method wins, and its mean relative difference to the best. A published value counts as
reproduced when it is near and no method around it stands on the other side of it."""


def reproduction_page() -> str:
    """Return the page."""
    lines = ["# Did it reproduce?", "", ABOUT, ""]
    lines += [
        "Made by `python -m benchmarks.report` from `benchmarks/papers/`; edit the files there, not this page.",
        "",
    ]
    overall: Counter[str] = Counter()
    sections: list[str] = []
    for name in PAPERS:
        experiment = read_experiment(experiments.PAPERS / name)
        known = {cell.key: cell for cell in read_cells(experiment.folder / "results.json")}
        section, counts = _section(experiment, Summary(experiment, finished(experiment, known)))
        sections += section
        overall += counts
    lines += [f"**{sum(overall.values())} claims: {_counted(overall)}.**", "", *sections]
    return "\n".join(lines).rstrip() + "\n"


def verdict(row: dict[str, Any]) -> str:
    """Return what both columns say of a claim: a row of `claimed`."""
    columns = [row[name] for name in ("paper", "honest") if row[name]["of"]]
    if not columns:
        return UNTESTED
    if all(one["wins"] == one["of"] for one in columns):
        return HOLDS
    return IN_PART if any(2 * one["wins"] >= one["of"] for one in columns) else FAILS


def _section(experiment: Experiment, summary: Summary) -> tuple[list[str], "Counter[str]"]:
    rows, counts = [], Counter[str]()
    for row in claimed(summary, [one for one in read_claims(experiment.folder) if one.source != "–"]):
        claim, found = row["claim"], verdict(row)
        counts[found] += 1
        cause = claim.cause if found != HOLDS else ""
        published = claim.published or ("–" if claim.gain is None else f"{claim.gain:+.0%}".replace("%", " %"))
        rows.append([claim.text, claim.source, found, _ours(summary, claim, row), published, cause or "–"])
    told = Counter(row["status"] for row in statuses(summary, read_expected(experiment.folder)))
    values = f"{sum(told.values())} published values: {_counted(told)}. " if told else ""
    header = ["claim", "source", "verdict", "ours", "published", "likely cause"]
    table = ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
    page = f"[{experiment.title}]({experiment.name}.md)"
    return [
        f"## {experiment.title}",
        "",
        f"{values}All figures: {page}.",
        "",
        *table,
        "",
        _when(summary.cells),
        "",
    ], counts


def _ours(summary: Summary, claim: Claim, row: dict[str, Any]) -> str:
    """Return our figures: both where there is one condition, else how many comparisons are won."""
    if not row["paper"]["of"]:
        return "–"
    if len(claim.conditions) == 1:
        (condition,) = claim.conditions
        mine = summary.paper(claim.data, condition, claim.method, claim.metric)
        others = {
            method.title: summary.paper(claim.data, condition, method.name, claim.metric)
            for method in summary.experiment.methods
            if method.name in claim.over
        }
        known = {title: one.mean for title, one in others.items() if one is not None}
        if mine is not None and known:
            lower = claim.metric.endswith("complete_length")
            best = (min if lower else max)(known, key=lambda title: known[title])
            return f"{mine.mean:.3g}, {best} {known[best]:.3g}"
    paper = row["paper"]
    return f"{paper['wins']} of {paper['of']}, {paper['gain']:+.1%}".replace("%", " %")


def _when(cells: Iterable[CellResult]) -> str:
    """Return which commits the cells were recorded at, the most first."""
    commits = Counter(str(cell.environment.get("commit", ""))[:7] for cell in cells if not cell.error)
    told = ", ".join(f"{n} at commit {commit}" for commit, n in commits.most_common())
    return f"Cells recorded: {told}; not run again since." if told else "No cell is recorded."


def _counted(counts: "Counter[str]") -> str:
    order = (HOLDS, IN_PART, FAILS, UNTESTED)
    named = sorted(counts.items(), key=lambda item: (order.index(item[0]) if item[0] in order else 9, item[0]))
    return ", ".join(f"{n} {name}" for name, n in named)
