"""``python -m benchmarks.scenarios run | report``."""

import argparse
import sys

from benchmarks import report
from benchmarks.results import environment
from benchmarks.scenarios.cells import SETS, key_of, run_missing, store_of, wanted
from benchmarks.scenarios.situations import SITUATIONS


def main(argv: list[str] | None = None) -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="benchmarks.scenarios", description="Promised and measured precision.")
    parser.add_argument("command", choices=["run", "report"])
    parser.add_argument("--set", action="append", default=[], choices=sorted(SETS), help="only this; repeatable")
    parser.add_argument("--situation", action="append", default=[], choices=sorted(SITUATIONS), help="only this")
    parser.add_argument("--draws", type=int, help="only the first so many")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--fresh", action="store_true", help="run also what is there already")
    arguments = parser.parse_args(argv)
    if arguments.command == "run":
        cells = wanted(tuple(arguments.set), tuple(arguments.situation), arguments.draws)
        for result in run_missing(cells, environment(), jobs=arguments.jobs, fresh=arguments.fresh):
            told = result.error or ", ".join(f"{name} {value:.4g}" for name, value in result.test.items())
            print(
                f"{result.data} | draw {result.draw} | {result.method}: {told} ({result.cpu_fit:.0f} CPU s)", flush=True
            )
    known = store_of().load()
    store_of().commit([known[key_of(cell)] for cell in wanted() if key_of(cell) in known], [])
    return report.main([])


if __name__ == "__main__":
    sys.exit(main())
