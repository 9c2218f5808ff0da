"""What reading photos costs: decoding once or twice, resizing at once or by blocks first, here or on other workers.

Photos are decoded by one process and described by one thread, with the default set of descriptors, thumbnails and
capture times. The workers of the engines have one decoding process each, too; their CPU time is that of all their
processes. The start of workers is not counted.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import Elapsed, cpu_seconds, measure
from benchmarks.datasets import data_folder
from benchmarks.errors import DataMissingError
from benchmarks.speed.features import SIZES, make_files
from benchmarks.speed.harness import Local, case, compare, missing_case, out_parser, record
from tagloom.catalog import THUMBNAIL_SIZE
from tagloom.engines import start_engine
from tagloom.features import Descriptor, ExtractionEngine, MemoryCache, resolve_descriptors
from tagloom.features.classic.exif import CaptureTime
from tagloom.images import find_photos

PHOTOS = {"full": 24, "quick": 2}
SPREAD = {"full": 256, "quick": 32}
#: A decoder that resizes each photo at once, as tagloom did.
AT_ONCE = (
    sys.executable,
    "-P",
    "-c",
    "from tagloom.images import decoding, worker; decoding.REDUCING_GAP = None; worker.main()",
)


class Reading:
    """Engines that read the same photos one after the other, each time as if they had never been seen.

    Parameters
    ----------
    paths : sequence of bytes
        The photos.
    passes : sequence of (list of Descriptor, bool)
        For each time that a photo is decoded what is computed, and whether a thumbnail is made.
    options : dict
        Of the engines.
    """

    def __init__(self, paths: Sequence[bytes], passes: Sequence[tuple[list[Descriptor], bool]], **options: Any) -> None:
        options = {"n_workers": 1, "n_threads": 1} | options
        self.paths = paths
        self.engines = [
            ExtractionEngine(found, MemoryCache(), thumbnail_size=THUMBNAIL_SIZE if pictures else None, **options)
            for found, pictures in passes
        ]

    def __call__(self) -> NDArray[np.float32]:
        """Read all photos, and return the rows of the last pass."""
        for engine in self.engines:
            engine.cache = MemoryCache()
            records = engine.read(self.paths)
        return engine.features(records)[0]

    def close(self) -> None:
        """End all workers."""
        for engine in self.engines:
            engine.close()


class Spread(Local):
    """Reading by the workers of an engine, timed with all processes below this one."""

    def once(self) -> Elapsed:
        """Do the work once."""
        cpu = tree_seconds()
        with measure() as elapsed:
            self._result = self._function()
        return Elapsed(tree_seconds() - cpu, elapsed.wall)


def tree_seconds() -> float:
    """Return the CPU time of this process and all below it, those of living grandchildren too (Linux)."""
    total, todo = cpu_seconds(), _children(os.getpid())
    for process in todo:
        for below in _children(process):
            todo.append(below)
            fields = Path(f"/proc/{below}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def _children(process: int) -> list[int]:
    return [int(one) for path in Path(f"/proc/{process}/task").glob("*/children") for one in path.read_text().split()]


def costs_case(title: str, paths: list[bytes], threads: int) -> dict[str, Any]:
    default, taken = resolve_descriptors(None)[0], CaptureTime()
    twice = [([taken], True), (default, False)]
    with ExitStack() as stack:
        contenders = []
        for name, passes, options in (
            ("scan, then extract, resized at once", twice, {"worker_command": AT_ONCE}),
            ("scan, then extract", twice, {}),
            ("extract alone", [([*default, taken], True)], {}),
        ):
            reading = Reading(paths, passes, **options)
            stack.callback(reading.close)
            contenders.append(Local(name, reading, role="ours"))
        entries = compare(contenders, threads=threads)
    before, *rest = entries
    ratios = {f"{entry['name']}: CPU of the first line": entry["cpu"] / before["cpu"] for entry in rest}
    return case(title, {"photos": len(paths)}, entries, photos=len(paths), ratios=ratios)


def engines_case(n: int, threads: int) -> dict[str, Any]:
    try:
        paths = find_photos(data_folder("corel5k") / "images").paths[:n]
    except DataMissingError as error:
        return missing_case("Engines", str(error))
    passes = [([*resolve_descriptors(None)[0], CaptureTime()], True)]
    entries, expected = [], np.empty(0, dtype=np.float32)

    def accuracy(rows: NDArray[np.float32]) -> dict[str, float]:
        return {"largest difference from this process": float(np.abs(rows - expected).max())}

    for title, name, n_workers in (
        ("this process", "local", 1),
        ("processes, 1 worker", "processes", 1),
        ("processes, 2 workers", "processes", 2),
        ("Dask, 1 worker", "dask", 1),
        ("Dask, 2 workers", "dask", 2),
    ):
        # One at a time: a cluster takes processor time while it waits, too.
        with ExitStack() as stack:
            engine = name if name == "local" else stack.enter_context(start_engine(name, n_workers=n_workers))
            reading = Reading(paths, passes, engine=engine)
            stack.callback(reading.close)
            if not expected.size:
                expected = reading()
            entries += compare([Spread(title, reading, role="ours")], accuracy=accuracy, threads=threads, repeats=1)
    by_name = {entry["name"]: entry for entry in entries}
    ratios = {}
    for n_workers in ("1 worker", "2 workers"):
        dask, pool = by_name[f"Dask, {n_workers}"], by_name[f"processes, {n_workers}"]
        ratios[f"Dask, {n_workers}: CPU of processes"] = dask["cpu"] / pool["cpu"]
    for name in ("Dask", "processes"):
        one, two = by_name[f"{name}, 1 worker"], by_name[f"{name}, 2 workers"]
        ratios[f"{name}: wall time of 1 worker over that of 2"] = one["wall"] / two["wall"]
    title = f"{len(paths)} photos of Corel5K, engine by engine"
    return case(title, {"photos": len(paths)}, entries, photos=len(paths), ratios=ratios)


def main(argv: list[str] | None = None) -> None:
    parser = out_parser("extraction")
    parser.add_argument("--data", type=Path, help="folder of the public datasets; default: $TAGLOOM_DATA")
    arguments = parser.parse_args(argv)
    if arguments.data is not None:
        os.environ["TAGLOOM_DATA"] = str(arguments.data)
    size, threads = "quick" if arguments.quick else "full", arguments.threads
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for title in ("1 megapixel", "12 megapixels"):
                paths = [os.fsencode(path) for path in make_files(Path(folder), SIZES[title], PHOTOS[size])]
                cases.append(costs_case(f"Photos of {title}", paths, threads))
        except DataMissingError as error:
            cases.append(missing_case("Photos", str(error)))
    cases.append(engines_case(SPREAD[size], threads))
    packages = ["pillow", "opencv-python-headless", "onnxruntime", "distributed"]
    record("extraction", "Reading photos", cases, arguments.out, threads=threads, packages=packages)


if __name__ == "__main__":
    main()
