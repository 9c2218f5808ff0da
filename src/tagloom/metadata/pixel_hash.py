"""Hashes of decoded pictures, to show that a change of metadata left the pixels alone. Runs in a process of its own."""

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tagloom.exceptions import MetadataError
from tagloom.images import DEFAULT_MAX_PIXELS
from tagloom.metadata.kept_process import KeptProcess

__all__ = ["PixelHasher"]

FORMATS = ("JPEG", "PNG", "TIFF", "WEBP")  # JPEG includes MPO, its form with several frames
DEADLINE = 120.0
MEMORY_LIMIT = 4 << 30
MOST_FRAMES = 1000
_ORIENTATION = 0x0112
_END = "{ready}"


class PixelHasher:
    """Hashes the pixels of photos, which may be malicious: another process decodes them, and is replaced if it dies."""

    def __init__(self) -> None:
        # -P: a folder that happens to hold PIL.py must not be imported from.
        command = [sys.executable, "-P", "-W", "ignore", "-m", "tagloom.metadata.pixel_hash"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
        self._process = KeptProcess(command, name="the decoder", environment=environment, memory=MEMORY_LIMIT)

    def hashes(self, paths: Sequence[Path]) -> list[str]:
        """Return for each photo a hash of its pixels, of all frames, and of what decides how they are shown.

        Parameters
        ----------
        paths : sequence of Path
            JPEG, PNG, TIFF or WebP files.

        Raises
        ------
        MetadataError
            If one of them cannot be decoded.
        """
        request = json.dumps([str(path) for path in paths]).encode() + b"\n"
        try:
            said = self._process.ask(request, _END.encode(), folder=Path(os.sep), deadline=DEADLINE)
            # What libraries print comes before the answer.
            answer = json.loads(said.decode(errors="replace").splitlines()[-1])
            if "problem" in answer:
                raise MetadataError(answer["problem"])
            return [str(each) for each in answer["hashes"]]
        except (MetadataError, ValueError, IndexError, KeyError) as error:
            self._process.close()
            raise MetadataError(
                f"the photo cannot be decoded ({str(error)[:200]}), so nothing could be checked; it stays as it is"
            ) from error

    def close(self) -> None:
        """End the process."""
        self._process.close()


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


def _serve() -> None:
    """Answer each line of paths with a line."""
    for line in sys.stdin:
        try:
            answer: dict[str, object] = {"hashes": [_hash(path) for path in json.loads(line)]}
        except Exception as error:  # decoders raise whatever they like
            answer = {"problem": f"{type(error).__name__}: {error}"}
        sys.stdout.write(f"\n{json.dumps(answer)}\n{_END}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
