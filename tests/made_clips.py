"""Short clips in many containers and codecs, encoded by the tests."""

import functools

import numpy as np

from tagloom.datasets.clips import make_clips

#: name: picture codec, sound codec (None: no sound track), pixel format, frames a second, rate of the sound.
FORMATS = {
    "h264.mp4": ("libx264", "aac", "yuv420p", 12, 16_000),
    "hevc.mov": ("libx265", "pcm_s16le", "yuv420p", 12, 44_100),
    "vp9.mkv": ("libvpx-vp9", "flac", "yuv420p", 12, 16_000),
    "vp8.webm": ("libvpx", "libopus", "yuv420p", 12, 48_000),
    "mpeg4.avi": ("mpeg4", "libmp3lame", "yuv420p", 12, 44_100),
    "mjpeg.avi": ("mjpeg", "pcm_s16le", "yuvj420p", 12, 16_000),
    "h263.3gp": ("h263", "libopencore_amrnb", "yuv420p", 12, 8_000),
    "prores.mov": ("prores_ks", None, "yuv422p10le", 12, 0),
    "av1.mp4": ("libsvtav1", "aac", "yuv420p", 12, 16_000),
    "mpeg2.mpg": ("mpeg2video", "mp2", "yuv420p", 25, 44_100),
    "stream.mts": ("libx264", "ac3", "yuv420p", 12, 48_000),
    "ffv1.mkv": ("ffv1", None, "yuv420p", 12, 0),
    "msmpeg4.avi": ("msmpeg4", "pcm_s16le", "yuv420p", 12, 16_000),
}
CONTAINERS = {"mts": "mpegts", "mpg": "mpeg", "mkv": "matroska"}
SIZE = (176, 144)


@functools.cache
def frames():
    """Return 36 frames with a cut in the middle."""
    clips = make_clips(8, size=SIZE, seconds=3, random_state=0)
    two = next(index for index, shots in enumerate(clips.shots) if len(shots) == 2)
    return tuple(np.ascontiguousarray(frame) for frame in clips.frames(two))


def tone(seconds=3.0, rate=16_000, pitch=440.0):
    """Return a note."""
    return 0.3 * np.sin(2 * np.pi * pitch * np.arange(int(seconds * rate)) / rate)


def write_format(folder, name, **options):
    """Write the clip of `FORMATS` with this name and return its path."""
    from tagloom.datasets._clip_file import write_clip

    picture, sound, pixel_format, rate, sound_rate = FORMATS[name]
    path = folder / name
    write_clip(
        path,
        frames(),
        rate=rate,
        sound=tone(36 / rate, sound_rate) if sound else None,
        sound_rate=sound_rate,
        picture_codec=picture,
        sound_codec=sound or "",
        pixel_format=pixel_format,
        container=CONTAINERS.get(name.rpartition(".")[2]),
        **options,
    )
    return path


def mutated(data, random):
    """Return a clip that is cut short, has other bytes, or lacks a piece."""
    data = bytearray(data)
    kind = random.integers(3)
    if kind == 0:
        return bytes(data[: random.integers(1, len(data))])
    if kind == 1:
        for place in random.integers(0, len(data), size=random.integers(1, 60)):
            data[place] = random.integers(256)
        return bytes(data)
    begin = int(random.integers(len(data)))
    del data[begin : begin + int(random.integers(1, 2_000))]
    return bytes(data)
