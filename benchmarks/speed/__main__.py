"""``python -m benchmarks.speed list | run NAME … | run all | report``."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import DOCS
from benchmarks.speed.harness import HERE, RESULTS, ROOT, thread_environment
from benchmarks.speed.report import speed_page
from tagloom.core.files import write_text

MACHINERY = {"__init__", "__main__", "harness", "report", "worker"}


def benchmark_names() -> list[str]:
    """Return the modules here that are benchmarks."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in MACHINERY)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.speed", description="Time tagloom beside other tools.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="say which benchmarks there are")
    command = commands.add_parser("run", help="run benchmarks, each in a process of its own, then write the page")
    command.add_argument("names", nargs="+", metavar="NAME", help="a benchmark, or all")
    command.add_argument("--threads", type=int, default=1)
    command.add_argument("--quick", action="store_true", help="small problems only; nothing is recorded")
    command.add_argument("--data", type=Path, help="folder of the public datasets; default: $TAGLOOM_DATA")
    commands.add_parser("report", help="write docs/benchmarks/speed.md from the recorded results")
    arguments = parser.parse_args(argv)
    if arguments.command == "list":
        print("\n".join(benchmark_names()))
        return 0
    if arguments.command == "run":
        code = _run(arguments)
        if code or arguments.quick:
            return code
    return report()


def _run(arguments: argparse.Namespace) -> int:
    known = benchmark_names()
    chosen = known if arguments.names == ["all"] else arguments.names
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        print(f"error: no benchmark {unknown}; there are {known}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if arguments.quick else RESULTS
        failed = [name for name in chosen if _run_one(name, folder / f"{name}.json", arguments)]
    if failed:
        print(f"error: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _run_one(name: str, out: Path, arguments: argparse.Namespace) -> int:
    options = ["--out", str(out), "--threads", str(arguments.threads)] + (["--quick"] if arguments.quick else [])
    # A process of its own, so that thread counts are in force before any library is loaded.
    command = [sys.executable, "-m", f"benchmarks.speed.{name}", *options]
    variables = thread_environment(arguments.threads)
    if arguments.data is not None:
        variables["TAGLOOM_DATA"] = str(arguments.data.resolve())
    return subprocess.run(command, cwd=ROOT, env=variables).returncode


def report() -> int:
    DOCS.mkdir(exist_ok=True)
    write_text(DOCS / "benchmarks" / "speed.md", speed_page(RESULTS))
    print("written: docs/benchmarks/speed.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
