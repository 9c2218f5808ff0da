"""``python -m benchmarks.quality run features | report``."""

import argparse
import sys

from benchmarks import report
from benchmarks.quality import features

BENCHMARKS = {"features": features.run}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.quality", description="Measure how good features are.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run", help="run a benchmark, then write the pages")
    command.add_argument("name", choices=sorted(BENCHMARKS))
    commands.add_parser("report", help="write the pages from the recorded results")
    arguments = parser.parse_args(argv)
    if arguments.command == "run":
        BENCHMARKS[arguments.name]()
    return report.main([])


if __name__ == "__main__":
    sys.exit(main())
