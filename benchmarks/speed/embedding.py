"""What the deep embedding takes per photo: by view, and with photos side by side in two threads.

Pixels are made up: the network's time does not depend on what they show, and decoding is not part of this figure.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.speed.harness import Local, case, compare, out_parser, record, wall_ratio
from tagloom.core.photos import PhotoRecord, Verdict
from tagloom.features import get_descriptor
from tagloom.features.engine import RowComputer
from tagloom.images import DecodedPhoto

PHOTOS = {"full": 64, "quick": 8}
VIEWS = {"whole": (224, 320), "centre": (224, 224)}
THREADS = (1, 2)


def make_photos(n: int, view: str) -> list[DecodedPhoto]:
    (rendition,) = get_descriptor("deep", view=view).renditions
    pictures = np.random.default_rng(0).integers(0, 256, (n, *VIEWS[view], 3), dtype=np.uint8)
    return [DecodedPhoto(PhotoRecord(b"", Verdict.OK), {rendition.name: pixels}) for pixels in pictures]


def name_of(threads: int) -> str:
    return f"{threads} photo(s) at a time"


def deep_case(n: int, view: str) -> dict[str, Any]:
    descriptor, photos = get_descriptor("deep", view=view), make_photos(n, view)
    contenders = [
        Local(name_of(threads), partial(RowComputer(threads).compute, descriptor, photos), role="ours")
        for threads in THREADS
    ]

    def agreement(features: Any) -> dict[str, float]:
        return {"max. difference from the first": np.abs(features - contenders[0].result()).max()}

    entries = compare(contenders, accuracy=agreement)
    ratio = wall_ratio(entries, name_of(1), name_of(2))
    title = f"Deep features, view {view!r} ({VIEWS[view][1]} × {VIEWS[view][0]} pixels)"
    told = {"Two photos at a time: wall time of one at a time to that of two": ratio}
    return case(title, {"photos": n, "view": view}, entries, photos=n, ratios=told)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("embedding").parse_args(argv)
    n = PHOTOS["quick" if arguments.quick else "full"]
    cases = [deep_case(n, view) for view in VIEWS]
    record("embedding", "Deep features of decoded photos", cases, arguments.out, packages=["onnxruntime"])


if __name__ == "__main__":
    main()
