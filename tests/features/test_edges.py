"""Edge histograms against a pixel loop and pictures with edges in known directions."""

import math

import numpy as np
import pytest
from scipy import ndimage

from tagloom.features import Descriptor, EdgeDescriptor
from tagloom.features.edges import edge_histogram
from tagloom.images import Rendition


def literal_histogram(pixels, threshold):
    luma = pixels.astype(float) @ [0.299, 0.587, 0.114]
    gx = ndimage.sobel(luma, axis=1, mode="nearest")
    gy = ndimage.sobel(luma, axis=0, mode="nearest")
    counts, n_other = [0] * 72, 0
    for dx, dy in zip(gx.ravel(), gy.ravel(), strict=True):
        if math.hypot(dx, dy) >= threshold:
            counts[round((math.degrees(math.atan2(dy, dx)) % 360) / 5) % 72] += 1
        else:
            n_other += 1
    n_edges = sum(counts)
    return [count / max(n_edges, 1) for count in counts] + [n_other / gx.size]


@pytest.mark.parametrize("shape", [(20, 31), (1, 1), (1, 12), (7, 1), (2, 2)])
@pytest.mark.parametrize("threshold", [20.0, 100.0, 400.0])
def test_against_a_loop(shape, threshold):
    pixels = np.random.default_rng(3).integers(0, 256, (*shape, 3), dtype=np.uint8)
    np.testing.assert_allclose(
        edge_histogram(pixels, threshold=threshold), literal_histogram(pixels, threshold), atol=1e-12
    )


@pytest.mark.parametrize("level", [0, 77, 255])
def test_nothing_but_no_edge_in_a_constant_picture(level):
    histogram = edge_histogram(np.full((9, 14, 3), level, dtype=np.uint8))
    assert histogram[72] == 1
    assert not histogram[:72].any()


@pytest.mark.parametrize(
    ("orientation", "direction"),
    [
        (lambda p: p, 0),
        (lambda p: p.transpose(1, 0, 2), 18),
        (lambda p: p[:, ::-1], 36),
        (lambda p: p.transpose(1, 0, 2)[::-1], 54),
    ],
)
def test_a_straight_step(orientation, direction):
    pixels = np.zeros((16, 16, 3), dtype=np.uint8)
    pixels[:, 8:] = 255
    histogram = edge_histogram(np.ascontiguousarray(orientation(pixels)))
    assert histogram[direction] == 1
    assert histogram[72] == pytest.approx(14 / 16)


def test_a_slanted_step():
    rows, columns = np.mgrid[:60, :60]
    angle = math.radians(30)
    ramp = np.clip(20 * (math.cos(angle) * (columns - 30) + math.sin(angle) * (rows - 30)) + 128, 0, 255)
    histogram = edge_histogram(np.repeat(ramp[..., None], 3, axis=2).astype(np.uint8))
    assert histogram[:72].argmax() == 6
    assert histogram[4:9].sum() > 0.95


def test_a_step_of_the_threshold_is_an_edge():
    pixels = np.zeros((5, 6, 3), dtype=np.uint8)
    pixels[:, 3:] = 26
    assert edge_histogram(pixels)[72] < 1
    pixels[:, 3:] = 24
    assert edge_histogram(pixels)[72] == 1


def test_contract(make_photo):
    descriptor = EdgeDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"edges": 73}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    rows = descriptor.compute([make_photo(fit_256=np.zeros((3, 1, 3), dtype=np.uint8))])
    assert rows.shape == (1, 73)
    assert rows.dtype == np.float32
    assert EdgeDescriptor(threshold=50).key != descriptor.key
