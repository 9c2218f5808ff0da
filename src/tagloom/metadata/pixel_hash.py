"""Hashes of decoded pictures, to show that a change of metadata left the pixels alone. Runs in a process of its own."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tagloom.core.system import limit_memory
from tagloom.exceptions import MetadataError
from tagloom.images.settings import DEFAULT_MAX_PIXELS

__all__ = ["pixel_hashes"]

FORMATS = ("JPEG", "PNG", "TIFF", "WEBP")  # JPEG includes MPO, its form with several frames
DEADLINE = 120.0
MEMORY_LIMIT = 4 << 30
MOST_FRAMES = 1000
_ORIENTATION = 0x0112


def pixel_hashes(paths: Sequence[Path]) -> list[str]:
    """Return for each photo a hash of its pixels, of all frames, and of what decides how they are shown.

    Parameters
    ----------
    paths : sequence of Path
        JPEG, PNG, TIFF or WebP files, which may be malicious: another process decodes them.

    Raises
    ------
    MetadataError
        If one of them cannot be decoded.
    """
    # -P: a folder that happens to hold PIL.py must not be imported from.
    command = [sys.executable, "-P", "-W", "ignore", "-m", "tagloom.metadata.pixel_hash", *map(str, paths)]
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours
            command,
            capture_output=True,
            check=False,
            timeout=DEADLINE,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"},
        )
    except subprocess.TimeoutExpired as error:
        raise MetadataError(f"the photo takes more than {DEADLINE:.0f} s to decode; it is left alone") from error
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), f"exit status {done.returncode}")
        raise MetadataError(f"the photo cannot be decoded ({last[:200]}), so that nothing could be checked; left alone")
    return [str(each) for each in json.loads(done.stdout)]


def _hash(path: str) -> str:
    from PIL import Image, ImageSequence

    import tagloom.images.decoding  # noqa: F401 - makes the formats known to Pillow

    Image.MAX_IMAGE_PIXELS = DEFAULT_MAX_PIXELS
    digest = hashlib.blake2b(digest_size=32)
    with Image.open(path, formats=FORMATS) as image:
        for number, frame in enumerate(ImageSequence.Iterator(image)):
            if number >= MOST_FRAMES:
                raise ValueError(f"more than {MOST_FRAMES} frames")
            shown = frame.getexif().get(_ORIENTATION, 1), frame.info.get("icc_profile"), frame.getpalette()
            digest.update(repr((frame.mode, frame.size, shown)).encode())
            digest.update(frame.tobytes())
    return digest.hexdigest()


def _main(paths: Sequence[str]) -> None:
    limit_memory(MEMORY_LIMIT)
    sys.stdout.write(json.dumps([_hash(path) for path in paths]))


if __name__ == "__main__":
    _main(sys.argv[1:])
