"""``python -m benchmarks.papers list | run NAME | report NAME``."""

import argparse
import sys

from benchmarks.errors import BenchmarkError
from benchmarks.experiment import PAPERS, names, read_expected, read_experiment
from benchmarks.figures import draw_figures
from benchmarks.report import DOCS, figures_beside, paper_page
from benchmarks.results import CellStore
from benchmarks.runner import cells_of, finished, run
from benchmarks.studies import finished_studies, run_studies
from benchmarks.summary import Summary, statuses
from tagloom.core.files import write_text


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        if arguments.command == "list":
            _list()
        elif arguments.command == "run":
            _run(arguments)
            _report(arguments.name)
        else:
            _report(arguments.name)
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; finished cells are kept, run the same command again to go on", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.papers", description="Reproduce the papers' experiments.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="say which reproductions there are and how many cells are done")
    command = commands.add_parser("run", help="run the cells that are missing, then write tables, figures and page")
    command.add_argument("name")
    command.add_argument("--method", action="append", default=[], help="only this method (may be repeated)")
    command.add_argument("--data", action="append", default=[], help="only on these data (may be repeated)")
    command.add_argument("--study", action="append", default=[], help="only this study (may be repeated)")
    command.add_argument("--fresh", action="store_true", help="run also the cells that are there")
    command.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    commands.add_parser("report", help="write statuses, figures and page from what is there").add_argument("name")
    return parser


def _list() -> None:
    for name in names():
        experiment = read_experiment(PAPERS / name)
        known = CellStore(experiment.folder).load()
        wanted = list(cells_of(experiment))
        done = sum(cell.key in known and not known[cell.key].error for cell in wanted)
        studies = f", {len(finished_studies(experiment))} of {len(experiment.studies)} studies"
        print(f"{name}: {experiment.title} ({done} of {len(wanted)} cells{studies if experiment.studies else ''})")


def _run(arguments: argparse.Namespace) -> None:
    experiment = read_experiment(PAPERS / arguments.name)
    for kind, asked, known in (
        ("method", arguments.method, experiment.methods),
        ("data", arguments.data, experiment.data),
        ("study", arguments.study, experiment.studies),
    ):
        unknown = set(asked) - {item.name for item in known}
        if unknown:
            raise BenchmarkError(f"no {kind} {sorted(unknown)}; there are {[item.name for item in known]}")
    # Naming methods or data alone leaves the studies out, and the other way round.
    if arguments.method or not arguments.study:
        chosen = {"methods": tuple(arguments.method), "data": tuple(arguments.data)}
        cells = run(experiment, **chosen, fresh=arguments.fresh, jobs=arguments.jobs)
        CellStore(experiment.folder).commit(cells, [])
    if arguments.study or not (arguments.method or arguments.data):
        run_studies(experiment, names=tuple(arguments.study), fresh=arguments.fresh)


def _report(name: str) -> None:
    experiment = read_experiment(PAPERS / name)
    store = CellStore(experiment.folder)
    cells = finished(experiment, store.load())
    summary = Summary(experiment, cells)
    store.commit(cells, statuses(summary, read_expected(experiment.folder)))
    path = DOCS / "benchmarks" / f"{name}.md"
    if not draw_figures(experiment, summary, path.with_suffix(".svg")):
        print("no figure: matplotlib is not installed (pip install tagloom[plot])")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, paper_page(experiment, figures_beside(path)))
    print(f"written: {path.relative_to(DOCS.parent).as_posix()}")


if __name__ == "__main__":
    sys.exit(main())
