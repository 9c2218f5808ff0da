"""Pages from results: a page depends on the committed files alone, so that a test can compare the two.

``python -m benchmarks.report`` writes every page; ``--check`` only says which ones differ.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

from benchmarks import experiment as experiments
from benchmarks.datasets import ROOT
from benchmarks.experiment import (
    CHOICES,
    ExpectedTable,
    Experiment,
    MethodSpec,
    read_claims,
    read_expected,
    read_experiment,
)
from benchmarks.few import page as few_page
from benchmarks.figures import view_path
from benchmarks.quality import features as quality_features
from benchmarks.quality import page as quality_page
from benchmarks.quality.text import fold
from benchmarks.reproduction import reproduction_page
from benchmarks.results import digest, read_cells
from benchmarks.runner import finished
from benchmarks.scale import page as scale_page
from benchmarks.scenarios import page as scenarios_page
from benchmarks.speed.report import speed_page
from benchmarks.splits import conditions
from benchmarks.studies import finished_studies
from benchmarks.summary import DATA_MISSING, Summary, claimed, statuses
from benchmarks.views import spell, table_of
from benchmarks.words import page as words_page
from tagloom.core.files import write_text

DOCS = ROOT / "docs"
SPEED_RESULTS = ROOT / "benchmarks" / "speed" / "results"
QUALITY_RESULTS = ROOT / "benchmarks" / "quality" / "results"


def markdown_table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    names = list(header)
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def paper_page(experiment: Experiment, figures: Container[str] = ()) -> str:
    """Return the page of one reproduction; ``figures`` are the files that it can show."""
    known = {cell.key: cell for cell in read_cells(experiment.folder / "results.json")}
    summary = Summary(experiment, finished(experiment, known))
    tables = read_expected(experiment.folder)
    told = statuses(summary, tables)
    lines = [f"# {experiment.title}", "", *([experiment.answer, ""] if experiment.answer else [])]
    lines += [f"**{_counts(told)}.**", "", *_image(experiment.title, f"{experiment.name}.svg", figures)]
    for table in tables:
        lines += _published(experiment, table, summary, told)
    lines += _claims(experiment, summary)
    lines += _studies(experiment, figures)
    for view in experiment.views:
        lines += [f"## {view.title}", "", *([view.text, ""] if view.text else [])]
        lines += [*markdown_table(*table_of(view, experiment, summary)), ""]
        lines += _image(view.title, view_path(Path(f"{experiment.name}.svg"), view).name, figures)
    about = [experiment.about, "", *_protocol(experiment)]
    if summary.cells:
        lines += _honest(experiment, summary)
        about += [*_effort(experiment, summary), *_environments(summary), ""]
    about += [
        f"Made by `python -m benchmarks.papers report {experiment.name}` from",
        f"`benchmarks/papers/{experiment.name}/`; edit the files there, not this page.",
    ]
    lines += fold("Protocol: data, parameters, effort, machines", about)
    return "\n".join(lines).rstrip() + "\n"


def _image(title: str, name: str, figures: Container[str]) -> list[str]:
    return [f"![{title}]({name})", ""] if name in figures else []


def _studies(experiment: Experiment, figures: Container[str]) -> list[str]:
    finished = finished_studies(experiment)
    lines = []
    for study in experiment.studies:
        lines += [f"## {study.title}", "", *([study.text.strip(), ""] if study.text else [])]
        if study.name not in finished:
            lines += ["No results yet.", ""]
            continue
        record = finished[study.name]
        for table in record["result"].get("tables", ()):
            caption = [table["caption"], ""] if table.get("caption") else []
            lines += [*caption, *markdown_table(table["header"], table["rows"]), ""]
        lines += _image(study.title, view_path(Path(f"{experiment.name}.svg"), study).name, figures)
        where = record["environment"]
        dirty = " with changes" if where["dirty"] else ""
        lines += [f"{record['cpu']:g} CPU s; commit {where['commit']}{dirty}.", ""]
    return lines


def _claims(experiment: Experiment, summary: Summary) -> list[str]:
    told = claimed(summary, read_claims(experiment.folder))
    if not told:
        return []
    rows = []
    for row in told:
        claim = row["claim"]
        stated = "–" if claim.gain is None else f"{claim.gain:+.0%}".replace("%", " %")
        rows.append([claim.text, claim.source, stated, _held(row["paper"]), _held(row["honest"])])
    return [
        "## The order that the paper states",
        "",
        "Each cell: in how many of the comparisons the method is the better one, and its relative difference to the",
        "best other one, averaged over conditions.",
        "",
        *markdown_table(["statement", "source", "stated difference", "paper's protocol", "honest"], rows),
        "",
    ]


def _held(counts: dict[str, Any]) -> str:
    if not counts["of"]:
        return "–"
    verdict = "holds" if counts["wins"] == counts["of"] else "does not hold"
    return f"{verdict}: {counts['wins']} of {counts['of']}, {counts['gain']:+.1%}".replace("%", " %")


def _counts(told: list[dict[str, Any]]) -> str:
    if not told:
        return "There are no published values to compare with"
    counts = Counter(row["status"] for row in told)
    return f"{len(told)} published values: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))


def _protocol(experiment: Experiment) -> list[str]:
    selection = experiment.selection
    lines = ["## How it is measured", ""]
    for data in experiment.data:
        sweep = ", ".join(name for name, _ in conditions(data.split))
        lines.append(
            f"- Data `{data.name}`: dataset `{data.dataset}`, split `{data.scheme}` ({sweep}), draws: {data.draws}."
        )
    lines += [
        f"- *Paper's protocol*: {CHOICES[selection.paper]}.",
        f"- *Honest*: in every draw the grid point with the best {selection.metric} by {selection.n_splits}-fold",
        "  `LabeledKFold` inside the labelled part. Only this column is quoted elsewhere.",
    ]
    if selection.default_in:
        lines.append(
            f"  At {', '.join(selection.default_in)} nothing can be compared there: every method has its default point."
        )
    lines.append("")
    rows = []
    for method in experiment.methods:
        fixed = ", ".join(f"{key} = {value}" for key, value in method.fixed.items())
        grid = "; ".join(f"{key}: {', '.join(map(str, values))}" for key, values in method.grid.items())
        rows.append([method.title, f"`{method.path}`", fixed or "–", grid or "–", _thinned(method)])
    header = ["method", "class", "fixed", "grid", "honest column"]
    if not any(method.honest or method.default or method.folds for method in experiment.methods):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return [*lines, *markdown_table(header, rows), ""]


def _thinned(method: MethodSpec) -> str:
    """Say how the honest column differs from choosing among the whole grid."""
    parts = [f"{key}: {', '.join(map(str, values))}" for key, values in method.honest.items()]
    if method.folds is not None:
        parts.append(f"folds looked at: {method.folds}")
    if method.default is not None:
        parts.append(f"default {_point(method.default)}")
    return "; ".join(parts) or "–"


def _published(experiment: Experiment, table: ExpectedTable, summary: Summary, told: list[dict[str, Any]]) -> list[str]:
    titles = {method.name: method.title for method in experiment.methods}
    rows = []
    for row in (row for row in told if row["table"] == table.title):
        place = row["data"], row["condition"], row["method"], table.metric
        status = row["status"] + (f" ({row['reason']})" if row["status"] == DATA_MISSING else "")
        rows.append(
            [
                row["data"],
                titles.get(row["method"], row["method"]),
                row["condition"],
                f"{row['published']:g}",
                spell(summary.paper(*place)),
                spell(summary.honest(*place)),
                status,
            ]
        )
    label = experiment.selection.paper.replace("_", " ")
    header = ["data", "method", "condition", "published", f"paper's protocol ({label})", "honest", "status"]
    return [
        f"## {table.title}",
        "",
        f"Source: {table.source}. Metric: {table.metric}. Reproduced means within {table.tolerance:g} of the",
        "published value under the paper's protocol.",
        "",
        *markdown_table(header, rows),
        "",
    ]


def _honest(experiment: Experiment, summary: Summary) -> list[str]:
    lines = ["## Honest results", ""]
    for data in experiment.data:
        columns = [name for name, _ in conditions(data.split)]
        metrics = sorted({metric for cell in summary.cells if cell.data == data.name for metric in cell.test})
        for metric in metrics:
            rows = [
                [method.title, *(spell(summary.honest(data.name, name, method.name, metric)) for name in columns)]
                for method in experiment.methods
                if method.grid_points() and any(summary.of(data.name, name, method.name) for name in columns)
            ]
            if rows:
                lines += [f"{data.name}, {metric}:", "", *markdown_table(["method", *columns], rows), ""]
    return lines


def _effort(experiment: Experiment, summary: Summary) -> list[str]:
    rows = []
    for data in experiment.data:
        for condition, _ in conditions(data.split):
            for method in experiment.methods:
                cells = summary.of(data.name, condition, method.name)
                if not cells:
                    continue
                column = summary.honest(data.name, condition, method.name, next(iter(cells[0].test)))
                fit, choosing = summary.seconds(data.name, condition, method.name)
                chosen = "; ".join(_point(point) for point in column.points) if column else "–"
                rows.append([data.name, condition, method.title, chosen, f"{fit:.2f}", f"{choosing:.2f}"])
    header = ["data", "condition", "method", "chosen in each draw", "CPU s per fit", "CPU s per grid point inside"]
    failed = sorted(
        {f"- {cell.data}, {cell.condition}, {cell.method}: {cell.error}" for cell in summary.cells if cell.error}
    )
    lines = ["## Chosen parameters and effort", "", *markdown_table(header, rows), ""]
    return lines + (["Cells without a result:", "", *failed, ""] if failed else [])


def _environments(summary: Summary) -> list[str]:
    found = {digest(cell.environment): cell.environment for cell in summary.cells}
    lines = ["## Machines and versions", ""]
    for where in sorted(found.values(), key=lambda item: sorted((key, str(value)) for key, value in item.items())):
        lines.append("- " + ", ".join(f"{key} {value}" for key, value in sorted(where.items())))
    return lines


def _point(point: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in point.items()) or "–"


def figures_beside(path: Path) -> set[str]:
    """Return the names of the figures that lie beside a page."""
    return {figure.name for figure in path.parent.glob("*.svg")}


def pages() -> dict[Path, str]:
    """Return every generated page with its text."""
    found = {}
    for name in experiments.names():
        path = DOCS / "benchmarks" / f"{name}.md"
        found[path] = paper_page(read_experiment(experiments.PAPERS / name), figures_beside(path))
    found[DOCS / "benchmarks" / "reproduction.md"] = reproduction_page()
    found[DOCS / "benchmarks" / "speed.md"] = speed_page(SPEED_RESULTS)
    if (QUALITY_RESULTS / "features.json").is_file():
        found[DOCS / "benchmarks" / "features.md"] = quality_features.page(QUALITY_RESULTS)
    path = DOCS / "benchmarks" / "quality.md"
    found[path] = quality_page.page(QUALITY_RESULTS, figures_beside(path))
    found[DOCS / "benchmarks" / "scenarios.md"] = scenarios_page.page()
    found[DOCS / "benchmarks" / "few.md"] = few_page.page()
    found[DOCS / "benchmarks" / "words.md"] = words_page.page()
    found[DOCS / "benchmarks" / "scale.md"] = scale_page.page()
    from benchmarks import glance  # its parts need this module

    found[DOCS / "benchmarks" / "glance.md"] = glance.page()
    return found


def stale(found: dict[Path, str]) -> list[str]:
    """Return the names of pages whose file differs from its text."""
    return [
        path.relative_to(ROOT).as_posix()
        for path, text in found.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.report", description="Write the pages made from results.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    check = parser.parse_args(argv).check
    found = pages()
    old = stale(found)
    for name in old:
        print(f"{'out of date' if check else 'written'}: {name}")
    if check:
        return 1 if old else 0
    for path, text in found.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
