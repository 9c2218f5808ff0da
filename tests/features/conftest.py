"""Photos made of arrays."""

import numpy as np
import pytest

from tagloom.core.photos import PhotoRecord, Verdict
from tagloom.images import DecodedPhoto


@pytest.fixture(scope="session")
def make_photo():
    """Return a function that makes a decoded photo of pixels by rendition name."""

    def make(**pixels):
        record = PhotoRecord(b"photo.jpg", Verdict.OK)
        return DecodedPhoto(record, {name.replace("_", "-"): array for name, array in pixels.items()})

    return make


@pytest.fixture(scope="session")
def smooth_pictures():
    """Return a function that makes n square pictures with large and small structures."""

    def make(n, size, seed=0):
        generator = np.random.default_rng(seed)
        coarse = generator.uniform(0, 255, (n, 7, 7, 3)).repeat(size // 7 + 1, axis=1).repeat(size // 7 + 1, axis=2)
        noise = generator.normal(0, 20, (n, size, size, 3))
        return np.clip(coarse[:, :size, :size] + noise, 0, 255).astype(np.uint8)

    return make
