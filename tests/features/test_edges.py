"""Edge histograms against a pixel loop and pictures with edges in known directions."""

import math

import numpy as np
import pytest
from scipy import ndimage

from tagloom.features import Descriptor, EdgeDescriptor
from tagloom.features.classic.edges import direction_bins, edge_angles, edge_histogram
from tagloom.features.classic.luma import scaled_luma
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


@pytest.mark.parametrize("shape", [(20, 31), (1, 1), (1, 12), (7, 1), (2, 2), (8, 256)])
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


@pytest.mark.parametrize("channels", [(1, 1, 1), (1, 0, 0), (0, 2, 1)])
@pytest.mark.parametrize(("rise", "run", "direction"), [(0, 1, 0), (1, 1, 9), (1, 0, 18), (0, -1, 36), (-1, -1, 45)])
def test_ramps_do_not_scatter(channels, rise, run, direction):
    rows, columns = np.mgrid[:20, :20]
    ramp = 60 + rise * rows + run * columns
    where, angles = edge_angles(scaled_luma((ramp[..., None] * channels).astype(np.uint8)), threshold=0.1)
    rows, columns = np.divmod(where, 20)
    inside = (rows > 0) & (rows < 19) & (columns > 0) & (columns < 19)
    assert inside.sum() == 18 * 18
    assert np.unique(angles[inside]).size == 1
    assert set(direction_bins(angles[inside], 72)) == {direction}


def test_mirroring_and_turning_permute_the_directions(smooth_pictures):
    pixels = smooth_pictures(1, 60)[0, :45]
    directions, none = np.split(edge_histogram(pixels), [72])
    steps = np.arange(72)
    for picture, permutation in (
        (pixels[:, ::-1], (36 - steps) % 72),
        (pixels[::-1], -steps % 72),
        (pixels[::-1, ::-1], (steps + 36) % 72),
        (pixels.transpose(1, 0, 2), (18 - steps) % 72),
        (255 - pixels, (steps + 36) % 72),
    ):
        histogram = edge_histogram(np.ascontiguousarray(picture))
        np.testing.assert_allclose(histogram, [*directions[permutation], *none], atol=1e-12)


def test_brightness_does_not_matter(smooth_pictures):
    pixels = smooth_pictures(1, 40)[0] // 2
    np.testing.assert_array_equal(edge_histogram(pixels + np.uint8(100)), edge_histogram(pixels))


def test_pixels_may_be_a_view(smooth_pictures):
    pixels = smooth_pictures(1, 40)[0]
    np.testing.assert_array_equal(edge_histogram(pixels[::-2, 3::2]), edge_histogram(pixels[::-2, 3::2].copy()))


@pytest.mark.parametrize("aside", [0.0, 0.125])
def test_direction_bins(aside):
    angles = np.radians(np.arange(-180, 181, 0.7)).astype(np.float32)
    expected = [round(math.degrees(angle) / (360 / 14) - aside) % 14 for angle in angles]
    np.testing.assert_array_equal(direction_bins(angles, 14, aside=aside), expected)
    assert direction_bins(np.float32([-np.pi, np.pi]), 14, aside=aside).tolist() == [7, 7]


def test_contract(make_photo):
    descriptor = EdgeDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"edges": 73}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    rows = descriptor.compute([make_photo(fit_256=np.zeros((3, 1, 3), dtype=np.uint8))])
    assert rows.shape == (1, 73)
    assert rows.dtype == np.float32
    assert descriptor.key.startswith("edges-v2-")
    assert EdgeDescriptor(threshold=50).key != descriptor.key
