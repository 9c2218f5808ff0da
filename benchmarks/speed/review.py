"""The review page in a browser: 100,000 rows, and how soon the model has learned from a decision.

The rows are records without files; their pictures are a few hundred thumbnails, found by content. All times of the page
are the browser's own (its performance API). CPU time is that of the server, and of the driver that presses the keys.
"""

import hashlib
import io
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import Elapsed, measure
from benchmarks.errors import BenchmarkError
from benchmarks.speed.harness import case, missing_case, out_parser, record, thread_environment
from benchmarks.speed.update import make_scene
from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.datasets import make_scenes
from tagloom.project.project import Project
from tagloom.review.events import ReviewEvent
from tagloom.review.learner import ProjectLearner
from tagloom.review.session import ReviewSession

TITLE = "The review page"
SIZES = {
    "full": {"rows": 100_000, "pictures": 300, "loads": 5, "frames": 900, "stops": 21, "keys": 60},
    "quick": {"rows": 3_000, "pictures": 12, "loads": 1, "frames": 20, "stops": 3, "keys": 3},
}
LEARNING = {"full": (20_000, 1_000, 100, 10), "quick": (300, 60, 5, 2)}
N_TAGS, PATIENCE, LONG_TASK = 20, 120.0, 50.0
WHEEL = 120  # pixels that one notch of a wheel scrolls
#: Scrolls frame by frame, to the end or by steps; returns when each frame began, and all tasks of 50 ms and more.
_SCROLL = """async ({frames, step}) => {
  const grid = document.querySelector("tl-grid");
  const tasks = [];
  const take = (entries) => tasks.push(...entries.map((entry) => [entry.startTime, entry.duration]));
  const watch = new PerformanceObserver((list) => take(list.getEntries()));
  watch.observe({ type: "longtask" });
  const times = [];
  await new Promise((resolve) => {
    const tick = (now) => {
      times.push(now);
      if (times.length > frames) return resolve();
      const end = grid.scrollHeight - grid.clientHeight;
      grid.scrollTop = step ? grid.scrollTop + step : (end * times.length) / frames;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  take(watch.takeRecords());
  return { times, tasks };
}"""
_SHOWN = """() => {
  const grid = document.querySelector("tl-grid");
  const frame = grid.getBoundingClientRect();
  return [...grid.querySelectorAll("[data-testid=cell]:not([hidden])")]
    .map((node) => [node, node.getBoundingClientRect()])
    .filter(([, box]) => box.height && box.bottom > frame.top && box.top < frame.bottom)
    .sort(([, a], [, b]) => a.top - b.top || a.left - b.left)
    .map(([node]) => [Number(node.dataset.photo), node.querySelector("img.ready")?.getAttribute("src") ?? ""]);
}"""
_MARKS = "(name) => performance.getEntriesByName(name).map((mark) => mark.startTime)"


def make_rows(root: Path, n: int, n_pictures: int) -> dict[int, str]:
    """Make a project of n rows with numbers of a model; return of each photo, in the order of paths, its content."""
    names = [b"%03d/%06d.jpg" % (number // 1000, number) for number in range(n)]
    hashes = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(n_pictures)]
    contents = [hashes[number % n_pictures] for number in range(n)]
    scenes, stamp = make_scenes(n_pictures, size=(320, 214)), FileStamp(0, 0, 0)
    records = [
        PhotoRecord(name, Verdict.OK, "", of, stamp, 4000, 3000) for name, of in zip(names, contents, strict=True)
    ]
    with Project.init(root) as project:
        store = project.store
        with store.lock(), store.cache() as cache:
            cache.record(records)
            cache.put_thumbnails((of, _webp(scenes.pixels(number))) for number, of in enumerate(hashes))
        ids = np.asarray(store.photos.reconcile(names).new)
        tags = store.tags.add([f"tag {number}" for number in range(N_TAGS)])
        values = np.random.default_rng(0).beta(0.3, 3.0, size=(n, N_TAGS)).astype(np.float32)
        info = {"kind": "probability", "model": 0}
        store.suggestions.save(ids, tags, values, thresholds=np.full(N_TAGS, 0.5), info=info)
    return dict(zip(ids.tolist(), contents, strict=True))


def _webp(pixels: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="WEBP", quality=80)
    return file.getvalue()


class Served:
    """A running review: its address, which lets one browser in once, and the cookies that let in further ones."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.base = address.partition("/?")[0]
        self.cookies: list[Any] = []


@contextmanager
def serving(root: Path, threads: int) -> Iterator[Served]:
    """Serve a project in a process of its own."""
    command = [sys.executable, "-c", "from tagloom.cli import main; main()", "review", str(root), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=thread_environment(threads))
    try:
        address = process.stdout.readline().strip() if process.stdout else ""
        if not address:
            raise BenchmarkError("the server did not start; its message is above")
        yield Served(address)
    finally:
        process.terminate()
        process.communicate()


def wait(page: Any, condition: Callable[[], Any], what: str) -> Any:
    """Wait until a condition holds while the browser goes on; return what it gave."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        page.wait_for_timeout(10)
    raise BenchmarkError(f"did not happen within {PATIENCE:.0f} s: {what}")


def entry(name: str, elapsed: Elapsed, wall: float, figures: dict[str, float]) -> dict[str, Any]:
    """Return a row whose wall time is the browser's."""
    return {"name": name, "role": "ours", "cpu": elapsed.cpu, "wall": wall, "accuracy": figures}


def enter(browser: Any, served: Served, path: str = "/") -> Any:
    """Open the page with an empty cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.add_cookies(served.cookies)
    page = context.new_page()
    if not served.cookies:
        page.goto(served.address)
        served.cookies = context.cookies()
    if page.url == "about:blank" or path != "/":
        page.goto(served.base + path)
    wait(page, lambda: page.evaluate("window.tagloomReady === true"), "the first grid")
    return page


def first_grid(browser: Any, served: Served, n_loads: int) -> dict[str, Any]:
    """Load the page several times."""
    found = []
    with measure() as elapsed:
        for _ in range(n_loads):
            page = enter(browser, served)
            found += page.evaluate(_MARKS, "tl-first-grid")
            page.context.close()
    elapsed.cpu /= n_loads
    median = statistics.median(found)
    return entry("first grid after page load", elapsed, median / 1000, {"median ms": median, "worst ms": max(found)})


def scrolling(page: Any, name: str, frames: int, step: int | None) -> dict[str, Any]:
    """Scroll from the top."""
    page.evaluate("document.querySelector('tl-grid').scrollTop = 0")
    with measure() as elapsed:
        seen = page.evaluate(_SCROLL, {"frames": frames, "step": step})
    return entry(
        name, elapsed, (seen["times"][-1] - seen["times"][0]) / 1000, frame_figures(seen["times"], seen["tasks"])
    )


def frame_figures(times: list[float], tasks: list[list[float]]) -> dict[str, float]:
    """Return the share of frames during which no long task ran, and the longest task."""
    begin, end = np.asarray(times[:-1]), np.asarray(times[1:])
    held = np.zeros(len(begin), dtype=bool)
    inside = [(start, length) for start, length in tasks if length > LONG_TASK and start < times[-1]]
    for start, length in inside:
        held |= (begin < start + length) & (end > start)
    free = 100.0 * (1.0 - held.mean())
    return {
        "frames": len(begin),
        "% free of tasks over 50 ms": free,
        "longest task ms": max([0.0, *(t[1] for t in inside)]),
    }


def right_photos(page: Any, contents: dict[int, str], n_stops: int) -> float:
    """Return the share of stops, from the top to the end, at which the right photos with their pictures appear."""
    order = list(contents)
    place = {photo: number for number, photo in enumerate(order)}

    def is_right() -> bool:
        seen = page.evaluate(_SHOWN)
        start = place[seen[0][0]] if seen else 0
        is_run = [photo for photo, _ in seen] == order[start : start + len(seen)]
        return bool(seen) and is_run and all(src.endswith(f"/{i}/thumb?v={contents[i][:12]}") for i, src in seen)

    right = 0
    for part in np.linspace(0.0, 1.0, n_stops):
        script = "(part) => { const g = document.querySelector('tl-grid'); g.scrollTop = part * g.scrollHeight; }"
        page.evaluate(script, float(part))
        wait(page, is_right, f"the right photos at {part:.0%}")
        near = abs(place[page.evaluate(_SHOWN)[0][0]] / len(order) - part) < 0.02
        right += near
    return right / n_stops


def accepting(browser: Any, served: Served, n_keys: int) -> dict[str, Any]:
    """Press the key that accepts, again and again, on the lens of a tag."""
    page = enter(browser, served, "/tag/1")
    wait(page, lambda: page.evaluate("document.activeElement?.dataset?.photo"), "a photo has the focus")
    wait(page, lambda: page.locator("[data-testid=lens] img.ready").count() > 10, "pictures")
    with measure() as elapsed:
        for number in range(1, n_keys + 1):
            page.keyboard.press("a")
            wait(page, lambda n=number: len(page.evaluate(_MARKS, "tl-paint")) == n, "the paint after a key")
    took = np.subtract(page.evaluate(_MARKS, "tl-paint"), page.evaluate(_MARKS, "tl-key"))
    page.context.close()
    figures = {"median ms": float(np.median(took)), "worst ms": float(took.max())}
    elapsed.cpu /= n_keys
    return entry("accept: key to paint", elapsed, figures["median ms"] / 1000, figures)


def page_case(size: dict[str, int], threads: int) -> dict[str, Any]:
    """Measure the page in a browser."""
    title = f"{size['rows']} rows in headless Chromium"
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        return missing_case(title, "chromium was not found")
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root = Path(folder) / "photos"
        root.mkdir()
        contents = make_rows(root, size["rows"], size["pictures"])
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with serving(root, threads) as served:
            entries = [first_grid(browser, served, size["loads"])]
            page = enter(browser, served)
            entries.append(scrolling(page, "scroll end to end", size["frames"], None))
            entries.append(scrolling(page, f"scroll, {WHEEL} pixels a frame", size["frames"], WHEEL))
            entries[1]["accuracy"]["% of stops with the right photos"] = 100 * right_photos(
                page, contents, size["stops"]
            )
            page.context.close()
            entries.append(accepting(browser, served, size["keys"]))
        browser.close()
    return case(title, size, entries)


def learning_case(n: int, n_labeled: int, c: int, n_steps: int, threads: int) -> dict[str, Any]:
    """Measure the time from a decision to the event that tells the pages what was learned from it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "photos"
        os.mkdir(root)
        scene = make_scene(root, n, c, threads)
        scene.say(n_labeled)
        news = threading.Semaphore(0)

        def arrive(event: ReviewEvent | None) -> None:
            if event is None or (event.name == "learned" and event.data["tags"]):
                news.release()

        found = []

        is_heard = threading.Event()

        def learner() -> ProjectLearner:
            is_heard.wait()  # or a quick machine has learned before anybody listens
            return ProjectLearner(scene.project)

        with scene.project, ReviewSession(scene.project, make_learner=learner, with_looks=False) as session:
            session.events.listen(arrive)
            is_heard.set()
            if not news.acquire(timeout=600):
                raise BenchmarkError("nothing was learned at the start")
            with measure() as elapsed:
                for photo in scene.ids[n_labeled : n_labeled + n_steps].tolist():
                    begin = time.perf_counter()
                    session.decide([photo], [int(scene.tags[0])], 1, origin="suggested")
                    if not news.acquire(timeout=PATIENCE):
                        raise BenchmarkError("nothing was learned from a decision")
                    found.append(1000 * (time.perf_counter() - begin))
    elapsed.cpu /= n_steps
    figures = {"median ms": statistics.median(found), "worst ms": max(found)}
    row = entry("from a decision to what was learned", elapsed, figures["median ms"] / 1000, figures)
    return case(f"{n} photos, {n_labeled} labelled, {c} tags", {"n": n, "labelled": n_labeled}, [row])


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("review").parse_args(argv)
    size = "quick" if arguments.quick else "full"
    cases = [page_case(SIZES[size], arguments.threads), learning_case(*LEARNING[size], arguments.threads)]
    record("review", TITLE, cases, arguments.out, threads=arguments.threads, packages=["playwright", "starlette"])


if __name__ == "__main__":
    main()
