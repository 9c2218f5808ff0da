"""``python -m benchmarks.scale 10000 30000 100000``: what the verbs of a project cost, each in a process of its own."""

import argparse
import contextlib
import functools
import io
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import report
from benchmarks.results import environment
from benchmarks.scale.made_up import DESCRIPTORS, FLAGS, labelled, make_project, say
from benchmarks.scale.page import METHODS, draw_figures
from benchmarks.scale.peers import peers
from tagloom.features import registry
from tagloom.features.engine import ExtractionEngine
from tagloom.learning import kept_graph
from tagloom.learning import train as learning_train
from tagloom.learning.update import Updater
from tagloom.metrics import mean_average_precision
from tagloom.project.project import Project
from tagloom.review import ProjectLearner, ReviewSession
from tagloom.tuning.auto.model import StackModel, Systems
from tagloom.tuning.auto.search import Search
from tagloom.tuning.auto.views import PhotoViews
from tagloom.web import serve

RESULTS = Path(__file__).resolve().parent / "results.json"
#: Photos that are decided before an update, and after which mean average precision is measured at most.
N_MORE, N_MEASURED = 20, 100_000
#: Photos that a page shows at first.
N_CELLS = 60


def train(folder: Path, method: str | None = None) -> dict[str, Any]:
    """Train."""
    with Project.open(folder, flags=FLAGS) as project, stages() as spent:
        project.train(method)
    own = project.folder.rglob("*")
    disk = sum(file.stat().st_size for file in own if file.is_file()) // 1_000_000
    return {"stages": {name: round(cpu, 2) for name, cpu in spent.items()}, "disk": disk}


#: Parts of a training, by what does them; one does not call another.
STAGES: dict[str, tuple[Any, str]] = {
    "reading features": (ExtractionEngine, "rows"),
    "principal components": (PhotoViews, "_coordinates"),
    "graph": (kept_graph, "knn_graph"),
    "smoothing features": (PhotoViews, "_smooth_features"),
    "search": (Search, "run"),
    "solving": (Systems, "solve"),
    "scores": (StackModel, "_kernel_sums"),
    "smoothing scores": (PhotoViews, "smooth_scores"),
    "storing": (learning_train, "save_model"),
}


@contextlib.contextmanager
def stages() -> Iterator[dict[str, float]]:
    """Add up the processor seconds of the parts of a training."""
    spent = dict.fromkeys(STAGES, 0.0)

    def watched(name: str, work: Any) -> Any:
        def run(*arguments: Any, **options: Any) -> Any:
            cpu = time.process_time()
            try:
                return work(*arguments, **options)
            finally:
                spent[name] += time.process_time() - cpu

        return run

    with contextlib.ExitStack() as stack:
        for name, (owner, attribute) in STAGES.items():
            stack.enter_context(patch.object(owner, attribute, watched(name, getattr(owner, attribute))))
        yield spent


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
    return found


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


def open_page(folder: Path) -> dict[str, Any]:
    """Serve the page as `tagloom review` does, and ask for what a person sees first."""
    known = np.load(folder.with_suffix(".npz"))
    addresses: list[str] = []
    listening, stop = threading.Event(), threading.Event()

    def told(address: str) -> None:
        addresses.append(address)
        listening.set()

    with Project.open(folder, flags=FLAGS) as project, contextlib.ExitStack() as stack:

        def start() -> None:
            session = stack.enter_context(ReviewSession(project, make_learner=lambda: ProjectLearner(project)))
            server = threading.Thread(target=serve, args=(session,), kwargs={"ready": told, "stop": stop})
            server.start()
            stack.callback(server.join)
            stack.callback(stop.set)
            listening.wait()

        found = {"until it listens": timed(start)[0]}
        browser = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(), NoRedirect()
        )
        with contextlib.suppress(urllib.error.HTTPError):  # 303: the token is exchanged for a cookie
            browser.open(addresses[0])
        base = addresses[0].partition("/?")[0] + "/api/v1/"
        cells = "cells?ids=" + ",".join(map(str, known["ids"][:N_CELLS].tolist()))
        lens = f"ranking?sort=score&tag={known['tags'][0]}&state=unreviewed"
        for name, paths in (
            ("first grid", ("project", "ranking?sort=path", cells)),
            ("lens of a tag", (lens, cells)),
            ("teach", ("teach?n=50", cells)),
            ("teach again", ("teach?n=50", cells)),
        ):
            found[name] = timed(lambda paths=paths: [browser.open(base + path).read() for path in paths])[0]
        found["memory"] = memory()
    return found


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follow nothing."""

    def redirect_request(self, *_: Any) -> None:
        """Return that there is no other request."""


def others(folder: Path) -> dict[str, Any]:
    """Let other methods learn from the same labels."""
    n = len(np.load(folder.with_suffix(".npz"))["ids"])
    return {"peers": peers(n, measured(n))}


STEPS: dict[str, Callable[[Path], dict[str, Any]]] = {
    one.__name__: one for one in (train, update, next_photos, suggest_one, suggest_json, open_page, others)
}
#: Trainings with other methods, which are run when they are asked for.
WITH_METHODS = {f"train {name}": functools.partial(train, method=name) for name in METHODS}


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
    rows = measured(len(known["ids"]))
    return {"map": round(float(mean_average_precision(known["truth"][rows], stored.scores[rows])), 4)}


def measured(n: int) -> slice:
    """Return the photos that mean average precision is of."""
    first = labelled(n) + 2 * N_MORE
    return slice(first, first + N_MEASURED)


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
    spent, found = timed(lambda: (STEPS | WITH_METHODS)[name](folder))
    done.set()
    watcher.join()
    found |= spent | {f"peak {key}": value for key, value in peak.items()}
    # What comes of it is looked at when time and memory have been measured.
    return found | quality(folder) if name.split()[0] in ("train", "update") else found


def main(argv: list[str] | None = None) -> int:
    """Run all steps for some sizes, or one in this process."""
    parser = argparse.ArgumentParser(prog="benchmarks.scale", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, help="photos; none: write the page of what is recorded")
    parser.add_argument("--step", choices=sorted(STEPS | WITH_METHODS))
    parser.add_argument("--steps", default=",".join(STEPS), help=f"also: {', '.join(WITH_METHODS)}")
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
    if arguments.sizes:
        return 0
    draw_figures(report.DOCS / "benchmarks")
    return report.main([])


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
