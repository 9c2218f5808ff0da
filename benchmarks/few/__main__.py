"""``python -m benchmarks.few run | report``."""

import argparse
import sys

from benchmarks import report
from benchmarks.few.cells import SETS, key_of, run_missing, store_of, wanted
from benchmarks.results import environment


def main(argv: list[str] | None = None) -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="benchmarks.few", description="What leaves a project with few labels.")
    parser.add_argument("command", choices=["run", "report"])
    parser.add_argument("--set", action="append", default=[], choices=sorted(SETS), help="only this; repeatable")
    parser.add_argument("--fresh", action="store_true", help="run also what is there already")
    arguments = parser.parse_args(argv)
    if arguments.command == "run":
        for result in run_missing(wanted(tuple(arguments.set)), environment(), fresh=arguments.fresh):
            told = ", ".join(f"{name} {value:.0f}" for name, value in result.test.items())
            print(f"{result.data} | draw {result.draw} | {result.method} labelled: {told}", flush=True)
    known = store_of().load()
    store_of().commit([known[key_of(cell)] for cell in wanted() if key_of(cell) in known], [])
    return report.main([])


if __name__ == "__main__":
    sys.exit(main())
