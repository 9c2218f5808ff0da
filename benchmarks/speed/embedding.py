"""How long the deep embedding takes per photo, by threads and batch size.

Run ``python benchmarks/speed/embedding.py --out embedding.json``. Pixels are made up: the network's time does not
depend on what they show, and decoding is not part of this figure.
"""

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import numpy as np

from tagloom.core.photos import PhotoRecord, Verdict
from tagloom.core.system import cpu_count
from tagloom.features import get_descriptor
from tagloom.images import DecodedPhoto


def make_photos(n: int) -> list[DecodedPhoto]:
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 256, (n, 224, 224, 3), dtype=np.uint8)
    fitted = generator.integers(0, 256, (n, 171, 256, 3), dtype=np.uint8)
    return [
        DecodedPhoto(PhotoRecord(b"", Verdict.OK), {"square-224": square, "fit-256": fit})
        for square, fit in zip(pixels, fitted, strict=True)
    ]


def measure(name: str, photos: list[DecodedPhoto], n_rounds: int, **parameters: int) -> dict[str, float]:
    """Return milliseconds per photo of several rounds: median and best by the clock, best by processor time.

    Processor time sums over the threads; on a busy machine it is the only steady figure.
    """
    descriptor = get_descriptor(name, **parameters)
    descriptor.compute(photos[:1])
    times, processor_times = [], []
    for _ in range(n_rounds):
        start, processor_start = time.perf_counter(), time.process_time()
        descriptor.compute(photos)
        times.append(1000 * (time.perf_counter() - start) / len(photos))
        processor_times.append(1000 * (time.process_time() - processor_start) / len(photos))
    return {
        "median_ms": round(statistics.median(times), 2),
        "best_ms": round(min(times), 2),
        "best_processor_ms": round(min(processor_times), 2),
    }


def describe(times: dict[str, float]) -> str:
    return f"{times['median_ms']:7.2f} ms per photo, {times['best_processor_ms']:6.2f} ms of processor time"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 16, 32])
    parser.add_argument("--out", type=Path, help="write the figures here as JSON")
    options = parser.parse_args(arguments)
    photos = make_photos(options.photos)
    rows = []
    for n_threads in options.threads:
        for batch_size in options.batches:
            times = measure("deep", photos, options.rounds, n_threads=n_threads, batch_size=batch_size)
            rows.append({"descriptor": "deep", "n_threads": n_threads, "batch_size": batch_size, **times})
            print(f"deep  threads {n_threads}  batch {batch_size:3d}  {describe(times)}")
    for name in ("color", "edges"):
        times = measure(name, photos, options.rounds)
        rows.append({"descriptor": name, **times})
        print(f"{name:27}{describe(times)}")
    if options.out is not None:
        machine = {"cores": cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
        options.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
