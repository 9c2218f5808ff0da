"""What the deep embedding takes per photo, by threads and batch size; colour and edges beside it.

Pixels are made up: the network's time does not depend on what they show, and decoding is not part of this figure.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.speed.harness import Local, case, compare, out_parser, record, wall_ratio
from tagloom.core.photos import PhotoRecord, Verdict
from tagloom.features import get_descriptor
from tagloom.images import DecodedPhoto

PHOTOS = {"full": 64, "quick": 8}
BATCHES = {"full": [1, 8, 16, 32], "quick": [1, 8]}
THREADS = (1, 2)


def make_photos(n: int) -> list[DecodedPhoto]:
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 256, (n, 224, 224, 3), dtype=np.uint8)
    fitted = generator.integers(0, 256, (n, 171, 256, 3), dtype=np.uint8)
    return [
        DecodedPhoto(PhotoRecord(b"", Verdict.OK), {"square-224": square, "fit-256": fit})
        for square, fit in zip(pixels, fitted, strict=True)
    ]


def name_of(threads: int, batch: int) -> str:
    return f"threads {threads}, batch {batch}"


def deep_case(photos: list[DecodedPhoto], batches: list[int]) -> dict[str, Any]:
    # The network's threads are its session's own: each contender has the number in its name.
    contenders = []
    for n_threads in THREADS:
        for batch_size in batches:
            compute = partial(get_descriptor("deep", n_threads=n_threads, batch_size=batch_size).compute, photos)
            contenders.append(Local(name_of(n_threads, batch_size), compute, role="ours"))

    def agreement(features: Any) -> dict[str, float]:
        reference = contenders[0].result()
        return {"max. relative difference from the first": np.abs(features - reference).max() / np.abs(reference).max()}

    entries = compare(contenders, accuracy=agreement)
    ratios = {
        f"Two threads, batch {batch}: wall time of one thread to that of two": wall_ratio(
            entries, name_of(1, batch), name_of(2, batch)
        )
        for batch in batches
    }
    return case("Deep features", {"photos": len(photos)}, entries, photos=len(photos), ratios=ratios)


def plain_case(photos: list[DecodedPhoto]) -> dict[str, Any]:
    names = ("color", "edges")
    contenders = [Local(name, partial(get_descriptor(name).compute, photos), role="ours") for name in names]
    return case("Other features", {"photos": len(photos)}, compare(contenders), photos=len(photos))


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("embedding").parse_args(argv)
    size = "quick" if arguments.quick else "full"
    photos = make_photos(PHOTOS[size])
    cases = [deep_case(photos, BATCHES[size]), plain_case(photos)]
    record("embedding", "Features of decoded photos", cases, arguments.out, packages=["onnxruntime"])


if __name__ == "__main__":
    main()
