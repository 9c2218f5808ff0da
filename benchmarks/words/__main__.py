"""``python -m benchmarks.words run``: run what is not there yet; ``python -m benchmarks report`` makes the page.

``python -m benchmarks.words fit`` prints what `tagloom.features.network.words.SCORE_TO_LOG_ODDS` was fitted to.
"""

import argparse
import sys

from benchmarks.results import environment
from benchmarks.words.cells import SETS, key_of, run_missing, store_of, wanted
from benchmarks.words.fit import fit


def main(argv: list[str] | None = None) -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="benchmarks.words", description="What names of tags say of photos.")
    parser.add_argument("command", choices=["run", "fit"])
    parser.add_argument("--set", action="append", default=[], choices=sorted(SETS), help="only this; repeatable")
    arguments = parser.parse_args(argv)
    if arguments.command == "fit":
        print(", ".join(f"{value:.3f}" for value in fit()))
        return 0
    for result in run_missing(wanted(tuple(arguments.set)), environment()):
        print(f"{result.data} | {result.method} | {result.condition} | draw {result.draw}: {result.test}", flush=True)
    known = store_of().load()
    store_of().commit([known[key_of(cell)] for cell in wanted() if key_of(cell) in known], [])
    return 0


if __name__ == "__main__":
    sys.exit(main())
