"""What reading a video costs: key frames, default features and sound, beside decoding every frame and all sound.

The clips are made up, 1080p at 24 frames a second, one group of pictures a second as phones have it: a smooth window
that wanders over paintings, and the same with the grain of a small sensor, which costs any decoder more. One decoding
process and one thread; all times are CPU times, so that a busy machine does not count as a slow program.
"""

import importlib.util
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.extraction import Reading
from benchmarks.speed.harness import Local, case, compare, missing_case, out_parser, record
from tagloom.datasets.clips import RATE, make_clips
from tagloom.features import resolve_descriptors
from tagloom.features.classic.exif import CaptureTime

SIZE = (1920, 1080)
FRAME_RATE = 24
SECONDS = {"full": 20, "quick": 2}
GRAIN = 6.0  # standard deviation, of 256 levels
SEED = 3


def write_clips(folder: Path, seconds: int) -> dict[str, Path]:
    """Write the two clips and return them by what they are."""
    from tagloom.datasets._clip_file import write_clip

    n_frames = seconds * FRAME_RATE
    clips = make_clips(8, size=SIZE, seconds=n_frames / RATE, random_state=SEED)
    index = next(index for index, shots in enumerate(clips.shots) if len(shots) == 2)
    sound = 0.3 * np.sin(2 * np.pi * 440 * np.arange(seconds * 44_100) / 44_100)
    found = {}
    for name, frames in (("smooth", clips.frames(index)), ("with grain", grainy(clips.frames(index)))):
        found[name] = folder / f"{name.replace(' ', '-')}.mp4"
        write_clip(found[name], frames, rate=FRAME_RATE, sound=sound, sound_rate=44_100, gop_size=FRAME_RATE)
    return found


def grainy(frames: Iterator[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    """Add noise that is new in each frame."""
    random = np.random.default_rng(SEED)
    grain = (GRAIN * random.standard_normal((2 * SIZE[1], 2 * SIZE[0], 1))).astype(np.int16)
    for frame in frames:
        top, left = random.integers(SIZE[1]), random.integers(SIZE[0])
        noise = grain[top : top + SIZE[1], left : left + SIZE[0]]
        yield np.clip(frame + noise, 0, 255).astype(np.uint8)


def decode_all(path: Path) -> dict[str, float]:
    """Decode every frame and all sound by PyAV in one thread, and do nothing with it."""
    import av

    with av.open(str(path)) as container:
        for stream in container.streams:
            stream.codec_context.thread_count = 1
        n = sum(isinstance(frame, av.VideoFrame) for packet in container.demux() for frame in packet.decode())
    return {"frames looked at": float(n)}


def video_case(name: str, path: Path, seconds: int, threads: int) -> dict[str, Any]:
    groups = resolve_descriptors(None)[0]
    descriptors = [*groups, *resolve_descriptors(["audio"])[0], CaptureTime()]
    reading = Reading([os.fsencode(path)], [(descriptors, True)])

    def read() -> dict[str, float]:
        rows = reading()
        (clip,) = reading.engines[0].read([os.fsencode(path)])
        return {"values of the row": float(rows.shape[1])} if clip.ok else {}

    try:
        contenders = [
            Local("decode everything, do nothing", lambda: decode_all(path), role="peer"),
            Local("tagloom: key frames, features, sound", read, role="ours"),
        ]
        entries = compare(contenders, accuracy=lambda found: found, threads=threads)
    finally:
        reading.close()
    plain, ours = (entry["cpu"] for entry in entries)
    ratios = {
        "CPU of decoding everything": ours / plain,
        "real time, by the CPU time of one core": seconds / ours,
        "real time, by the CPU time of two cores that read two videos": 2 * seconds / ours,
    }
    size = {"seconds": seconds, "width": SIZE[0], "height": SIZE[1], "frames a second": FRAME_RATE}
    megabytes = path.stat().st_size / 1e6
    title = f"{seconds} seconds of 1080p H.264, {name}, {megabytes:.1f} MB; {60 * ours / seconds:.1f} CPU s a minute"
    return case(title, size, entries, ratios=ratios)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("video").parse_args(argv)
    title = "Reading videos"
    if importlib.util.find_spec("av") is None:
        cases = [missing_case("Videos", "PyAV is not installed")]
    else:
        seconds = SECONDS["quick" if arguments.quick else "full"]
        with tempfile.TemporaryDirectory() as folder:
            clips = write_clips(Path(folder), seconds)
            cases = [video_case(name, path, seconds, arguments.threads) for name, path in clips.items()]
    packages = ["av", "pillow", "opencv-python-headless", "onnxruntime"]
    record("video", title, cases, arguments.out, threads=arguments.threads, packages=packages)


if __name__ == "__main__":
    main()
