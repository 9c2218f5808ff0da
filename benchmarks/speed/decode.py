"""Photos per second: the decode pool against plain Pillow in one process.

Usage: python benchmarks/speed/decode.py --data FOLDER [--photos 400] [--giants 12] [--out decode.json]

FOLDER holds photos (the images of Corel5k, say); a 12-megapixel JPEG is made on the spot, a mosaic of them. Plain
Pillow opens, turns, converts and resizes without any protection, once decoding in full and once at reduced size (draft
mode) as the pool does. Workers are started before the clock; their start is timed apart. How well the pool's pixels
agree with those of full decoding is reported as the smallest PSNR (null: all are equal). Other load on the machine
distorts the figures, so the load average is reported with them.
"""

import argparse
import json
import math
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import PIL
from PIL import Image, ImageOps

from tagloom.images import DecodePool, Rendition, find_photos
from tagloom.images.renditions import WORKING_SIDE

SIZE = 224
RENDITION = Rendition("square", "square", SIZE)
REPEATS = 3


def plain(paths: Iterable[bytes], *, draft: bool) -> Iterator[np.ndarray]:
    """Decode with Pillow alone."""
    for path in paths:
        with Image.open(os.fsdecode(path)) as image:
            if draft:
                image.draft("RGB", (WORKING_SIDE, WORKING_SIDE))
            upright = ImageOps.exif_transpose(image).convert("RGB")
        side = min(upright.size)
        left, top = (upright.width - side) / 2, (upright.height - side) / 2
        box = (left, top, left + side, top + side)
        yield np.asarray(upright.resize((SIZE, SIZE), Image.Resampling.BICUBIC, box=box))


def through(pool: DecodePool, paths: Iterable[bytes]) -> Iterator[np.ndarray]:
    """Decode with a pool."""
    return (photo.pixels["square"] for photo in pool.decode(paths))


def rate(decode: Callable[[], Iterator[np.ndarray]], n_photos: int) -> tuple[float, list[np.ndarray]]:
    """Return photos per second (best of a few runs) and the pixels."""
    best = float("inf")
    pixels: list[np.ndarray] = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        pixels = list(decode())
        best = min(best, time.perf_counter() - start)
    return round(n_photos / best, 2), pixels


def smallest_psnr(pixels: list[np.ndarray], expected: list[np.ndarray]) -> float | None:
    """Return the worst agreement in dB, None where all photos are equal."""
    errors = [np.mean((one.astype(float) - other) ** 2) for one, other in zip(pixels, expected, strict=True)]
    return round(10 * math.log10(255**2 / max(errors)), 1) if max(errors) > 0 else None


def large_photo(sources: list[bytes], folder: str) -> bytes:
    """Make a 4032 × 3024 JPEG with the detail of real photos: a mosaic of them."""
    width, height = 4032, 3024
    mosaic = Image.new("RGB", (width, height))
    for index in range(16):
        with Image.open(os.fsdecode(sources[index % len(sources)])) as image:
            tile = image.convert("RGB").resize((width // 4, height // 4), Image.Resampling.BICUBIC)
        mosaic.paste(tile, (index % 4 * (width // 4), index // 4 * (height // 4)))
    path = os.path.join(folder, "large.jpg")
    mosaic.save(path, quality=90)
    return os.fsencode(path)


def compare(paths: list[bytes]) -> dict[str, float | None]:
    """Time all ways on one list of photos."""
    results: dict[str, float | None] = {}
    results["plain_pillow"], expected = rate(lambda: plain(paths, draft=False), len(paths))
    results["plain_pillow_draft"], _ = rate(lambda: plain(paths, draft=True), len(paths))
    for n_workers in (1, 2):
        with DecodePool([RENDITION], n_workers=n_workers) as pool:
            start = time.perf_counter()
            list(pool.decode(paths[:1] * n_workers))
            results[f"pool_{n_workers}_start_s"] = round(time.perf_counter() - start, 3)
            found, pixels = rate(lambda pool=pool: through(pool, paths), len(paths))
            results[f"pool_{n_workers}"] = found
            results[f"pool_{n_workers}_smallest_psnr"] = smallest_psnr(pixels, expected)
    return results


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder of photos")
    parser.add_argument("--photos", type=int, default=400, help="how many of them")
    parser.add_argument("--giants", type=int, default=12, help="how often the 12-megapixel photo")
    parser.add_argument("--out", help="JSON file to write")
    options = parser.parse_args(arguments)
    paths = find_photos(options.data).paths[: options.photos]
    with tempfile.TemporaryDirectory() as folder:
        large = large_photo(paths, folder)
        report = {
            "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "pillow": PIL.__version__},
            "unit": "photos per second, best of 3; a square rendition of 224 pixels",
            "load_average_before": [round(value, 2) for value in os.getloadavg()],
            "folder": {"photos": len(paths), **compare(paths)},
            "twelve_megapixels": {"photos": options.giants, **compare([large] * options.giants)},
        }
    text = json.dumps(report, indent=2)
    print(text)
    if options.out:
        Path(options.out).write_text(text + "\n")


if __name__ == "__main__":
    main()
