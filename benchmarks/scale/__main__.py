"""``python -m benchmarks.scale 10000 30000 100000``: what the verbs of a project cost, each in a process of its own."""

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.results import environment
from benchmarks.scale.made_up import DESCRIPTORS, FLAGS, labelled, make_project, say
from tagloom.features import registry
from tagloom.learning.update import Updater
from tagloom.metrics import mean_average_precision
from tagloom.project.project import Project

RESULTS = Path(__file__).resolve().parent / "results.json"
#: Photos that are decided before an update, and after which mean average precision is measured at most.
N_MORE, N_MEASURED = 20, 100_000


def train(folder: Path) -> dict[str, Any]:
    """Train, and measure what is suggested for photos without labels."""
    with Project.open(folder, flags=FLAGS) as project:
        project.train()
    return quality(folder)


def update(folder: Path) -> dict[str, Any]:
    """Decide one tag of twenty photos, as on the page, then all tags of twenty others, and learn from both."""
    known = np.load(folder.with_suffix(".npz"))
    more = labelled(len(known["ids"])) + np.arange(N_MORE)
    found: dict[str, Any] = {}
    with Project.open(folder, flags=FLAGS) as project:
        found["open"], updater = timed(lambda: Updater(project.store, project.settings))
        began = 0.0

        def look(*_: Any) -> None:
            found["first look"] = {"cpu": round(time.process_time() - began, 2)}

        with updater:
            updater.first_look, began = look, time.process_time()
            project.store.decisions.decide(known["ids"][more], known["tags"][0], known["truth"][more, 0])
            found["one tag"], _ = timed(updater.update)
            updater.first_look = None
            say(folder, slice(int(more[-1]) + 1, int(more[-1]) + 1 + N_MORE))
            found["all tags"], _ = timed(updater.update)
            found["save"], _ = timed(updater.save)
    return found | quality(folder)


def next_photos(folder: Path) -> dict[str, Any]:
    """Ask which photos to label next."""
    with Project.open(folder, flags=FLAGS) as project:
        project.next_photos()
    return {}


def suggest_one(folder: Path) -> dict[str, Any]:
    """Ask for the suggestions of one photo."""
    return command("suggest", "--project", str(folder), "00000005.jpg")


def suggest_json(folder: Path) -> dict[str, Any]:
    """Write the suggestions of all photos."""
    return command("suggest", "--project", str(folder), "--json")


STEPS: dict[str, Callable[[Path], dict[str, Any]]] = {
    one.__name__: one for one in (train, update, next_photos, suggest_one, suggest_json)
}


def command(*arguments: str) -> dict[str, Any]:
    """Run a command of the product and count what it writes."""
    from tagloom.cli.app import main as run

    class Counting(io.TextIOBase):
        written = 0

        def write(self, text: str) -> int:
            self.written += len(text)
            return len(text)

    out = Counting()
    with contextlib.redirect_stdout(out):  # type: ignore[type-var]
        try:
            run(list(arguments))
        except SystemExit as end:
            return {"status": end.code, "characters": out.written}
    return {"characters": out.written}


def quality(folder: Path) -> dict[str, float]:
    """Return the mean average precision of what is suggested, over photos that nothing was said of."""
    known = np.load(folder.with_suffix(".npz"))
    with Project.open(folder, flags=FLAGS) as project:
        stored = project.store.suggestions.load()
    assert stored is not None
    first = labelled(len(known["ids"])) + 2 * N_MORE
    rows = slice(first, first + N_MEASURED)
    return {"map": round(float(mean_average_precision(known["truth"][rows], stored.scores[rows])), 4)}


def timed(work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Return seconds of the processor and of the clock, and what came of it."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return {"cpu": round(time.process_time() - cpu, 2), "wall": round(time.perf_counter() - wall, 2)}, result


def memory() -> dict[str, int]:
    """Return resident and anonymous memory in MB; Linux only, empty elsewhere."""
    names = {"VmRSS": "rss", "RssAnon": "anonymous"}
    with contextlib.suppress(OSError):
        lines = [line.split() for line in Path("/proc/self/status").read_text().splitlines()]
        return {names[one[0][:-1]]: int(one[1]) // 1024 for one in lines if one[0][:-1] in names}
    return {}


def step(name: str, folder: Path) -> dict[str, Any]:
    """Run one step in this process, and watch its memory."""
    peak, done = memory(), threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            for key, value in memory().items():
                peak[key] = max(peak.get(key, 0), value)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    spent, found = timed(lambda: STEPS[name](folder))
    done.set()
    watcher.join()
    return spent | {f"peak {key}": value for key, value in peak.items()} | found


def main(argv: list[str] | None = None) -> int:
    """Run all steps for some sizes, or one in this process."""
    parser = argparse.ArgumentParser(prog="benchmarks.scale", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int)
    parser.add_argument("--step", choices=sorted(STEPS))
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--folder", type=Path, help="where projects are kept; default: a temporary folder")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    with patch.dict(registry._BUILT_IN, DESCRIPTORS):
        if arguments.step:
            print(json.dumps(step(arguments.step, arguments.folder)))
            return 0
        with tempfile.TemporaryDirectory() as temporary:
            for n in arguments.sizes:
                folder = (arguments.folder or Path(temporary)) / str(n)
                if not folder.exists():
                    make_project(folder, n)
                for name in arguments.steps.split(","):
                    cell = {"n": n, "step": name, "environment": environment(1)} | in_process(name, folder)
                    print({key: value for key, value in cell.items() if key != "environment"}, flush=True)
                    kept = json.loads(arguments.out.read_text()) if arguments.out.exists() else []
                    kept = [one for one in kept if (one["n"], one["step"]) != (n, name)]
                    arguments.out.write_text(json.dumps([*kept, cell], indent=1, sort_keys=True) + "\n")
    return 0


def in_process(name: str, folder: Path) -> dict[str, Any]:
    """Run one step in a process of its own."""
    asked = [sys.executable, "-m", "benchmarks.scale", "--step", name, "--folder", str(folder)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1:]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    sys.exit(main())
