"""Edges by place against a pixel loop, and pictures with known edges in known places."""

import math

import numpy as np
import pytest
from scipy import ndimage

from tagloom.features import Descriptor
from tagloom.features.classic.edges import EdgeBlockDescriptor, edge_block_histogram
from tagloom.images import Rendition

REGIONS = [({0, 1}, {0, 1}), ({0, 1}, {2, 3}), ({2, 3}, {0, 1}), ({2, 3}, {2, 3}), ({1, 2}, {1, 2})]
NONE = 14


def literal_histogram(pixels, threshold):
    luma = pixels.astype(float) @ [0.299, 0.587, 0.114]
    gx = ndimage.sobel(luma, axis=1, mode="nearest")
    gy = ndimage.sobel(luma, axis=0, mode="nearest")
    height, width = luma.shape
    numbers = []
    for cell_rows, cell_columns in REGIONS:
        counts = [0] * 15
        for row in range(height):
            for column in range(width):
                if 4 * row // height in cell_rows and 4 * column // width in cell_columns:
                    dx, dy = gx[row, column], gy[row, column]
                    steps = math.degrees(math.atan2(dy, dx)) / (360 / 14)
                    edge = math.hypot(dx, dy) >= threshold
                    counts[math.floor(steps + 3 / 8) % 14 if edge else NONE] += 1
        numbers += [count / sum(counts) for count in counts]
    return numbers


@pytest.mark.parametrize("shape", [(20, 31), (4, 4), (5, 7), (8, 64)])
@pytest.mark.parametrize("threshold", [20.0, 50.0, 400.0])
def test_against_a_loop(shape, threshold):
    pixels = np.random.default_rng(5).integers(0, 256, (*shape, 3), dtype=np.uint8)
    np.testing.assert_allclose(
        edge_block_histogram(pixels, threshold=threshold), literal_histogram(pixels, threshold), atol=1e-12
    )


@pytest.mark.parametrize(
    ("shape", "stretched"), [((1, 1), (4, 4)), ((1, 12), (4, 12)), ((7, 2), (7, 4)), ((3, 3), (6, 6))]
)
def test_short_sides_are_stretched(shape, stretched):
    pixels = np.random.default_rng(6).integers(0, 256, (*shape, 3), dtype=np.uint8)
    repeated = pixels.repeat(stretched[0] // shape[0], axis=0).repeat(stretched[1] // shape[1], axis=1)
    np.testing.assert_allclose(edge_block_histogram(pixels), literal_histogram(repeated, 50.0), atol=1e-12)


@pytest.mark.parametrize("level", [0, 77, 255])
def test_nothing_but_no_edge_in_a_constant_picture(level):
    histogram = edge_block_histogram(np.full((9, 14, 3), level, dtype=np.uint8)).reshape(5, 15)
    np.testing.assert_array_equal(histogram, np.tile(np.eye(15)[NONE], (5, 1)))


@pytest.mark.parametrize(("rise", "run", "direction"), [(0, 1, 0), (1, 0, 3), (0, -1, 7), (-1, 0, 10)])
def test_straight_ramps_are_in_one_direction_everywhere(rise, run, direction):
    rows, columns = np.mgrid[:32, :32]
    ramp = 128 + 4 * (rise * (rows - 16) + run * (columns - 16))
    histogram = edge_block_histogram(np.repeat(ramp[..., None], 3, axis=2).astype(np.uint8), threshold=10)
    np.testing.assert_array_equal(histogram.reshape(5, 15)[:, direction], 1)


@pytest.mark.parametrize("region", range(5))
def test_an_edge_is_counted_in_its_region(region):
    first_row, first_column = [(2, 2), (2, 28), (28, 2), (28, 28), (15, 15)][region]
    pixels = np.zeros((32, 32, 3), dtype=np.uint8)
    pixels[first_row : first_row + 2, first_column : first_column + 2] = 255
    has_edges = edge_block_histogram(pixels).reshape(5, 15)[:, NONE] < 1
    # A spot in the middle of the picture touches all quarters, one in a corner only its own.
    assert has_edges.tolist() == ([True] * 5 if region == 4 else [index == region for index in range(5)])


def test_turning_by_half_a_circle_swaps_regions_and_directions(smooth_pictures):
    pixels = smooth_pictures(1, 64)[0, :48]
    histogram = edge_block_histogram(pixels).reshape(5, 15)
    turned = edge_block_histogram(np.ascontiguousarray(pixels[::-1, ::-1])).reshape(5, 15)
    directions = [*np.roll(np.arange(14), 7), NONE]
    np.testing.assert_allclose(turned, histogram[[3, 2, 1, 0, 4]][:, directions], atol=1e-12)


def test_brightness_does_not_matter_and_regions_sum_to_one(smooth_pictures):
    pixels = smooth_pictures(1, 40)[0] // 2
    histogram = edge_block_histogram(pixels)
    np.testing.assert_array_equal(edge_block_histogram(pixels + np.uint8(100)), histogram)
    np.testing.assert_allclose(histogram.reshape(5, 15).sum(axis=1), 1)


def test_contract(make_photo):
    descriptor = EdgeBlockDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"edge_blocks": 75}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    rows = descriptor.compute([make_photo(fit_256=np.zeros((3, 1, 3), dtype=np.uint8))])
    assert rows.shape == (1, 75)
    assert rows.dtype == np.float32
    assert EdgeBlockDescriptor(threshold=100).key != descriptor.key
