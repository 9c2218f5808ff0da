"""Where a video cuts from one shot to another: colour histograms, which tagloom compares, beside embeddings.

Frames of made-up clips of two shots, a quarter of a second apart. A measure is good if every step over a cut is larger
than every step within a shot. In the second set a lamp is switched off or on somewhere within each clip.

Embeddings do not take a lamp for a cut; histograms do, which costs one key frame more. Embeddings cost about a hundred
times as much for each frame that is looked at, and find no cut that histograms miss, so tagloom compares histograms.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.speed.harness import Local, case, compare, out_parser, record
from tagloom.datasets.clips import RATE, make_clips
from tagloom.features import get_descriptor
from tagloom.images import photo_from_pixels
from tagloom.images.clip_decoding import SMALL_SIDE, coarse_histogram, histogram_distance

CLIPS = {"full": 60, "quick": 16}
EVERY = 3  # frames
LAMP = (0.6, 1.5)
SEED = 11

Frames = Sequence[NDArray[np.uint8]]


def clips_of_two_shots(n: int, *, lamp: bool) -> tuple[list[Frames], NDArray[np.bool_]]:
    """Return frames of clips, and which of their steps, one clip after the other, go over a cut."""
    made = make_clips(n, size=(240, 160), seconds=4.0, random_state=SEED)
    random = np.random.default_rng(SEED)
    found, cuts = [], []
    for index, shots in enumerate(made.shots):
        if len(shots) < 2:
            continue
        frames = list(made.frames(index))[::EVERY]
        times = EVERY * np.arange(len(frames)) / RATE
        is_cut = (times[:-1] < shots[1].begin) & (times[1:] >= shots[1].begin)
        if lamp:
            step = int(random.choice(np.flatnonzero(~is_cut))) + 1
            light = random.choice(LAMP)
            frames[step:] = [np.clip(light * frame, 0, 255).astype(np.uint8) for frame in frames[step:]]
        found.append(frames)
        cuts.append(is_cut)
    return found, np.concatenate(cuts)


def by_histogram(clips: list[Frames]) -> NDArray[np.float64]:
    """Return the distance of each step by the histograms that `tagloom.images` compares."""
    steps = []
    for frames in clips:
        small = [Image.fromarray(frame).reduce(max(1, frame.shape[1] // SMALL_SIDE)) for frame in frames]
        steps += [histogram_distance(a, b) for a, b in pairwise(map(coarse_histogram, small))]
    return np.array(steps)


def by_embedding(clips: list[Frames]) -> NDArray[np.float64]:
    """Return the cosine distance of each step by the default network's features."""
    network = get_descriptor("deep")
    n_columns = network.outputs["deep"]
    steps: list[float] = []
    for frames in clips:
        rows = network.compute([photo_from_pixels(frame, network.renditions) for frame in frames])[:, :n_columns]
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        steps += (1.0 - np.einsum("ij,ij->i", rows[:-1], rows[1:])).tolist()
    return np.array(steps)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("cuts").parse_args(argv)
    cases: list[dict[str, Any]] = []
    for title, lamp in (("hard cuts", False), ("hard cuts, and a lamp switched once in each clip", True)):
        clips, is_cut = clips_of_two_shots(CLIPS["quick" if arguments.quick else "full"], lamp=lamp)

        def accuracy(steps: NDArray[np.float64], is_cut: NDArray[np.bool_] = is_cut) -> dict[str, float]:
            at, within = steps[is_cut], steps[~is_cut]
            return {
                "smallest step over a cut": float(at.min()),
                "largest step within a shot": float(within.max()),
                "cuts above every step within a shot, %": 100.0 * float((at > within.max()).mean()),
            }

        contenders = [
            Local("histograms", lambda clips=clips: by_histogram(clips), role="ours", runs=2),  # type: ignore[misc]
            Local("embeddings", lambda clips=clips: by_embedding(clips), role="peer", runs=2),  # type: ignore[misc]
        ]
        entries = compare(contenders, accuracy=accuracy, threads=arguments.threads)
        n_frames = sum(map(len, clips))
        size = {"clips": len(clips), "frames": n_frames, "cuts": int(is_cut.sum())}
        heading = f"{len(clips)} clips of two shots, {n_frames} frames, {title}"
        cases.append(case(heading, size, entries))
    record("cuts", "Finding cuts in videos", cases, arguments.out, threads=arguments.threads)


if __name__ == "__main__":
    main()
