"""``python -m benchmarks.words run``: run what is not there yet; ``python -m benchmarks report`` makes the page."""

import argparse
import sys

from benchmarks.results import environment
from benchmarks.words.cells import SETS, key_of, run_missing, store_of, wanted


def main(argv: list[str] | None = None) -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="benchmarks.words", description="What names of tags say of photos.")
    parser.add_argument("command", choices=["run"])
    parser.add_argument("--set", action="append", default=[], choices=sorted(SETS), help="only this; repeatable")
    arguments = parser.parse_args(argv)
    for result in run_missing(wanted(tuple(arguments.set)), environment()):
        print(f"{result.data} | {result.method} | {result.condition} | draw {result.draw}: {result.test}", flush=True)
    known = store_of().load()
    store_of().commit([known[key_of(cell)] for cell in wanted() if key_of(cell) in known], [])
    return 0


if __name__ == "__main__":
    sys.exit(main())
