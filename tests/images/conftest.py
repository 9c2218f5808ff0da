"""Photos made on the spot, and pools over workers that misbehave on demand."""

import io
import os
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagloom.images import DecodePool, Rendition
from tagloom.images.decoding import prepare
from tagloom.images.settings import DEFAULT_MAX_PIXELS, DEFAULT_MEMORY_LIMIT, DecodeSettings

HOOKED_WORKER = """
import os, signal, sys, time
from pathlib import Path
from tagloom.images import worker

plain = worker.answer

def answer(task, path, settings):
    name = os.path.basename(path)
    if task == "decode":
        if name.startswith(b"hang"):
            time.sleep(600)
        if name.startswith(b"segfault"):
            os.kill(os.getpid(), signal.SIGSEGV)
        if name.startswith(b"once"):
            mark = Path(os.fsdecode(path) + ".mark")
            if not mark.exists():
                mark.touch()
                os._exit(3)
        if name.startswith(b"noise"):
            os.write(1, b"a library talks to standard output")
            os.write(2, b"x" * 1_000_000)
        if name.startswith(b"liar"):
            return {"verdict": "ok", "pictures": [(9999, 9999)], "thumbnail": 0, "exif": 0}, []
        if name.startswith(b"memory"):
            return {"verdict": "too_large", "detail": f"pid {os.getpid()}", "again": True}, []
    return plain(task, path, settings)

worker.answer = answer
worker.main()
"""


def encoded(image: Image.Image, kind: str = "JPEG", **options) -> bytes:
    """Return an image as a file's bytes."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def scene(width: int = 96, height: int = 64, seed: int = 0) -> Image.Image:
    """Return a smooth colour image without symmetry."""
    generator = np.random.default_rng(seed)
    coarse = generator.integers(0, 256, size=(4, 6, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


@pytest.fixture(name="encoded")
def encoded_fixture():
    """Give `encoded` to tests."""
    return encoded


@pytest.fixture(name="scene")
def scene_fixture():
    """Give `scene` to tests."""
    return scene


@pytest.fixture
def make_settings(monkeypatch):
    """Return a function that makes settings and sets Pillow up for them in this process, until the test ends."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS)

    def make(
        *renditions, thumbnail_size=None, memory_limit=DEFAULT_MEMORY_LIMIT, max_pixels=DEFAULT_MAX_PIXELS, **more
    ):
        settings = DecodeSettings(tuple(renditions), thumbnail_size, 30.0, memory_limit, max_pixels, **more)
        prepare(settings)
        return settings

    return make


@pytest.fixture(scope="module")
def pool():
    """Return a pool of two workers with one rendition of each kind and a thumbnail."""
    renditions = [Rendition("square", "square", 32), Rendition("fit", "fit", 48)]
    with DecodePool(renditions, n_workers=2, thumbnail_size=40) as opened:
        yield opened


@pytest.fixture
def hooked_command(tmp_path_factory) -> list[str]:
    """Return the command of a worker that misbehaves on files named hang, segfault, once, noise, liar, memory."""
    script = tmp_path_factory.mktemp("worker") / "hooked.py"
    script.write_text(textwrap.dedent(HOOKED_WORKER))
    return [sys.executable, "-P", str(script)]


@pytest.fixture
def photo_files(tmp_path):
    """Return a function that writes small photos under given names and returns their paths as bytes."""

    def write(*names: str | bytes) -> list[bytes]:
        paths = [os.path.join(os.fsencode(tmp_path), os.fsencode(name)) for name in names]
        for seed, path in enumerate(paths):
            Path(os.fsdecode(path)).write_bytes(encoded(scene(seed=seed), quality=95))
        return paths

    return write


@pytest.fixture
def peak_of():
    """Return a function from a process id to its peak resident bytes, None where the system does not say.

    Not ``ru_maxrss``: after vfork and exec that starts from the peak of the parent.
    """

    def peak(pid: int) -> int | None:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except FileNotFoundError:
            return None
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))

    return peak
