"""``python -m benchmarks.faults KIND | all | report [--n N] [--seed S] [--quick]``."""

import argparse
import json
import logging
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.faults import filesystems, full_disk, kills, processes, trace
from benchmarks.faults.hostile import run as hostile
from benchmarks.faults.report import RESULTS, faults_page
from benchmarks.report import DOCS
from benchmarks.results import environment, write_json
from tagloom.core.files import write_text

DEFAULTS = {
    "kills": 1000,
    "trace": 0,
    "full-disk": full_disk.N_LEVELS,
    "processes": 2000,
    "filesystems": 0,
    "hostile": hostile.EVERY,
}
QUICK = DEFAULTS | {"kills": 20, "full-disk": 3, "processes": 20, "hostile": 40}
PAGE = DOCS / "benchmarks" / "faults.md"


def _runs(n: int, seed: int) -> dict[str, Callable[[], dict[str, Any]]]:
    return {
        "kills": lambda: kills.run(n, seed),
        "trace": trace.run,
        "full-disk": lambda: full_disk.run(n),
        "processes": lambda: processes.run(n),
        "filesystems": filesystems.run,
        "hostile": lambda: hostile.run(every=n),
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.faults", description="Provoke what must never lose anything.")
    parser.add_argument("what", choices=[*DEFAULTS, "all", "report"])
    parser.add_argument(
        "--n",
        type=int,
        help=f"kills, fill levels, labels of each process, every n-th hostile project; default: {DEFAULTS}",
    )
    parser.add_argument("--seed", type=int, default=0, help="decides the moments of kills")
    parser.add_argument(
        "--families", default="", help="hostile: try only projects of these, and record them beside the rest"
    )
    parser.add_argument("--verbs", default="", help="hostile: add only these verbs to what is recorded")
    parser.add_argument("--quick", action="store_true", help=f"small numbers ({QUICK}); nothing is recorded")
    arguments = parser.parse_args(argv)
    if (arguments.families or arguments.verbs) and arguments.what != "hostile":
        parser.error("--families and --verbs are for hostile")
    if arguments.n is not None and arguments.what in ("all", "report"):
        parser.error(f"--n is for one kind of fault; all of them have their own numbers: {DEFAULTS}")
    names = {"all": list(DEFAULTS), "report": []}.get(arguments.what, [arguments.what])
    logging.getLogger("tagloom").addHandler(logging.NullHandler())  # what a repair says of each file is counted
    parts = {
        "families": list(filter(None, arguments.families.split(","))),
        "only": list(filter(None, arguments.verbs.split(","))),
    }
    problems = []
    for name in names:
        n = arguments.n or (QUICK if arguments.quick else DEFAULTS)[name]
        found = hostile.run(every=n, **parts) if any(parts.values()) else _runs(n, arguments.seed)[name]()
        print(f"{name}: {found.get('skipped') or found['problems'] or 'nothing wrong'}")
        problems += found.get("problems", [])
        if not arguments.quick:
            path, known = RESULTS / f"{name}.json", environment()
            if any(parts.values()):
                stored = json.loads(path.read_text(encoding="utf-8"))
                write_json(path, hostile.add(stored, found, known["commit"], replace=not parts["only"]))
            else:
                write_json(path, found | {"environment": known})
    if not arguments.quick:
        write_text(PAGE, faults_page(RESULTS))
        print("written: docs/benchmarks/faults.md")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
