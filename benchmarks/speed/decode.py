"""Photos per second: the decode pool beside plain Pillow in one process.

Plain Pillow opens, turns, converts and resizes without any protection, once decoding in full and once at reduced size
(draft mode) as the pool does. Workers are started by the warm-up; what their start costs is a table of its own.
"""

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from benchmarks.datasets import data_folder
from benchmarks.errors import DataMissingError
from benchmarks.speed.harness import Local, case, compare, missing_case, out_parser, record
from tagloom.images import DecodePool, Rendition, find_photos
from tagloom.images.renditions import WORKING_SIDE

SIDE = 224
RENDITION = Rendition("square", "square", SIDE)
LARGE = (4032, 3024)
PHOTOS = {"full": 400, "quick": 20}
LARGE_PHOTOS = {"full": 12, "quick": 2}
Pixels = list[NDArray[np.uint8]]


def plain(paths: list[bytes], *, draft: bool) -> Pixels:
    return [_plain(os.fsdecode(path), draft=draft) for path in paths]


def _plain(path: str, *, draft: bool) -> NDArray[np.uint8]:
    with Image.open(path) as image:
        if draft:
            image.draft("RGB", (WORKING_SIDE, WORKING_SIDE))
        upright = ImageOps.exif_transpose(image).convert("RGB")
    side = min(upright.size)
    left, top = (upright.width - side) / 2, (upright.height - side) / 2
    box = (left, top, left + side, top + side)
    return np.asarray(upright.resize((SIDE, SIDE), Image.Resampling.BICUBIC, box=box))


def pooled(pool: DecodePool, paths: list[bytes]) -> Pixels:
    return [photo.pixels["square"] for photo in pool.decode(paths)]


def started(n_workers: int, path: bytes) -> Pixels:
    with DecodePool([RENDITION], n_workers=n_workers) as pool:
        return pooled(pool, [path] * n_workers)


def make_large(path: Path) -> bytes:
    """Write a JPEG of 12 megapixels with coarse and fine detail, as a photo has."""
    generator = np.random.default_rng(0)
    total = np.zeros((LARGE[1], LARGE[0], 3), dtype=np.float32)
    for cells, weight in ((4, 0.5), (16, 0.25), (64, 0.15), (256, 0.07), (1024, 0.03)):
        noise = generator.integers(0, 256, (cells * 3 // 4, cells, 3), dtype=np.uint8)
        total += weight * np.asarray(Image.fromarray(noise).resize(LARGE, Image.Resampling.BICUBIC))
    Image.fromarray(total.astype(np.uint8)).save(path, quality=90)
    return os.fsencode(path)


def agreement_with(reference: Local) -> Callable[[Pixels], dict[str, float]]:
    """Return a function that compares pixels with those of another contender."""

    def agreement(pixels: Pixels) -> dict[str, float]:
        pairs = zip(pixels, reference.result(), strict=True)
        worst = max(float(np.mean((one.astype(float) - other) ** 2)) for one, other in pairs)
        return {"largest RMS difference from full decoding, of 255": worst**0.5}

    return agreement


def decode_case(title: str, paths: list[bytes], threads: int) -> dict[str, Any]:
    full = Local("plain Pillow", partial(plain, paths, draft=False), role="peer")
    with DecodePool([RENDITION], n_workers=1) as one, DecodePool([RENDITION], n_workers=2) as two:
        contenders = [
            Local("tagloom, 1 worker", partial(pooled, one, paths), role="ours"),
            Local("tagloom, 2 workers", partial(pooled, two, paths), role="ours"),
            full,
            Local("plain Pillow, draft", partial(plain, paths, draft=True), role="peer"),
        ]
        entries = compare(contenders, accuracy=agreement_with(full), threads=threads)
    return case(title, {"photos": len(paths), "side": SIDE}, entries, photos=len(paths))


def corel_case(n: int, threads: int) -> dict[str, Any]:
    try:
        paths = find_photos(data_folder("corel5k") / "images").paths[:n]
    except DataMissingError as error:
        return missing_case("Photos of Corel5K", str(error))
    return decode_case(f"{len(paths)} photos of Corel5K", paths, threads)


def start_case(path: bytes, threads: int) -> dict[str, Any]:
    contenders = [Local(f"tagloom, {n} worker(s)", partial(started, n, path), role="ours") for n in (1, 2)]
    title = "Starting a pool, decoding one photo of 12 megapixels per worker, ending it"
    return case(title, {}, compare(contenders, threads=threads))


def main(argv: list[str] | None = None) -> None:
    parser = out_parser("decode")
    parser.add_argument("--data", type=Path, help="folder of the public datasets; default: $TAGLOOM_DATA")
    arguments = parser.parse_args(argv)
    if arguments.data is not None:
        os.environ["TAGLOOM_DATA"] = str(arguments.data)
    size, threads = "quick" if arguments.quick else "full", arguments.threads
    with tempfile.TemporaryDirectory() as folder:
        large = make_large(Path(folder) / "large.jpg")
        n_large = LARGE_PHOTOS[size]
        cases = [
            corel_case(PHOTOS[size], threads),
            decode_case(f"A made-up JPEG of 12 megapixels, {n_large} times", [large] * n_large, threads),
            start_case(large, threads),
        ]
    title = f"Decoding photos to a square of {SIDE} pixels"
    record("decode", title, cases, arguments.out, threads=threads, packages=["pillow"])


if __name__ == "__main__":
    main()
