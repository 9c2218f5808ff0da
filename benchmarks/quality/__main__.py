"""``python -m benchmarks.quality run features | run annotators … | plan | report``."""

import argparse
import sys
from itertools import groupby

from benchmarks import report
from benchmarks.quality import cells, features
from benchmarks.quality.analysis import Table
from benchmarks.quality.cells import STUDIES, Wanted, store_of
from benchmarks.quality.figures import draw_figures
from benchmarks.quality.page import page
from benchmarks.quality.sets import SETS
from benchmarks.results import pack, read_cells, write_json
from tagloom.core.files import write_text

PAGE = report.DOCS / "benchmarks" / "quality.md"


def main(argv: list[str] | None = None) -> int:
    """Run one command."""
    arguments = _parser().parse_args(argv)
    if arguments.command == "plan":
        return _plan(arguments)
    if arguments.command == "run":
        if arguments.name == "features":
            features.run()
        else:
            cells.run(arguments.name, _wanted(arguments), jobs=arguments.jobs, fresh=arguments.fresh)
    write_page()
    return report.main([])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.quality", description="Measure how good tagging is.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run what is missing of a benchmark, then write the pages")
    run.add_argument("name", choices=sorted(("features", *STUDIES)))
    run.add_argument("--jobs", type=int, default=1, help="processes")
    run.add_argument("--fresh", action="store_true", help="run also what is there already")
    plan = commands.add_parser("plan", help="what is left to run, and how long it will take")
    plan.add_argument("name", nargs="*", default=STUDIES, metavar="STUDY", help=f"of {', '.join(STUDIES)}; all")
    plan.add_argument("--jobs", type=int, default=2, help="processes")
    plan.add_argument("--measure", action="store_true", help="first measure costs not known yet, on shuffled photos")
    for command in (run, plan):
        command.add_argument(
            "--set", action="append", default=[], choices=sorted(SETS), help="only this set; repeatable"
        )
        command.add_argument("--fraction", action="append", default=[], type=float, help="only this; repeatable")
        command.add_argument("--method", action="append", default=[], help="method or strategy; repeatable")
        command.add_argument("--draws", type=int, help="only the first so many")
    commands.add_parser("report", help="write the pages from the recorded results")
    return parser


def _wanted(arguments: argparse.Namespace) -> Wanted:
    return Wanted(tuple(arguments.set), tuple(arguments.fraction), tuple(arguments.method), arguments.draws)


def _plan(arguments: argparse.Namespace) -> int:
    """Print what is left: CPU time, and wall time were the processes never idle."""
    wanted = _wanted(arguments)
    if arguments.measure:
        for study in arguments.name:
            cells.measure_costs(study, wanted)
    rows = cells.plan(arguments.name, wanted)
    print(
        f"{'study':<12}{'set':<12}{'labelled':>9}{'cells':>8}{'missing':>9}{'CPU min':>9}{'guessed':>9}{'unknown':>9}"
    )
    for row in rows:
        share = "–" if row.study == "active" else f"{100 * row.fraction:g} %"
        told = f"{row.n_cells:>8}{row.n_missing:>9}{row.seconds / 60:>9.1f}{row.n_guessed:>9}{row.n_unknown:>9}"
        print(f"{row.study:<12}{row.set_name:<12}{share:>9}{told}")
    for study, group in groupby(rows, key=lambda row: row.study):
        seconds = sum(row.seconds for row in group)
        hours = seconds / 3600
        print(f"{study}: {hours:.1f} CPU h, {hours / arguments.jobs:.1f} h in {arguments.jobs} processes")
    total = sum(row.seconds for row in rows)
    unknown = sum(row.n_unknown for row in rows)
    print(f"all: {total / 3600:.1f} CPU h, {total / 3600 / arguments.jobs:.1f} h; {unknown} cells of unknown cost")
    return 0


def commit() -> None:
    """Write each study's finished cells that are asked for now to its committed file."""
    for study in STUDIES:
        store = store_of(study)
        known = store.load()
        found = [known[cell.key] for cell in Wanted().cells(study) if cell.key in known]
        if found:
            write_json(store.path, pack(found, []))
            # Only what is in the file now: another run may be adding cells.
            for cell in found:
                (store.cache / f"{cell.key}.json").unlink(missing_ok=True)


def write_page() -> None:
    """Write page and figures of the annotators from what is recorded."""
    commit()
    tables = {study: Table(read_cells(cells.RESULTS / f"{study}.json")) for study in STUDIES}
    draw_figures(tables["annotators"], tables["active"], PAGE.parent)
    write_text(PAGE, page(cells.RESULTS, report.figures_beside(PAGE)))


if __name__ == "__main__":
    sys.exit(main())
