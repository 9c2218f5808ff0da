"""The pyramid of gradients, against a loop over pixels and scikit-image's histograms of oriented gradients."""

import math

import numpy as np
import pytest
from skimage.feature import hog

from tagloom.features.classic.filter_bank import gray_levels
from tagloom.features.classic.gradients import GradientDescriptor, gradient_pyramid
from tagloom.features.descriptor import Descriptor
from tagloom.images import Rendition


def as_rgb(gray):
    return np.stack([np.asarray(gray).astype(np.uint8)] * 3, axis=-1)


def random_pixels(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (*shape, 3), dtype=np.uint8)


def literal_pyramid(gray):
    height, width = len(gray), len(gray[0])
    cells = [[[[0.0] * 8 for _ in range(2**level)] for _ in range(2**level)] for level in range(4)]
    for r in range(height):
        for c in range(width):
            across = gray[r][min(c + 1, width - 1)] - gray[r][max(c - 1, 0)]
            down = gray[min(r + 1, height - 1)][c] - gray[max(r - 1, 0)][c]
            position = math.degrees(math.atan2(down, across)) % 360 / 45
            for level in range(4):
                cell = cells[level][2**level * r // height][2**level * c // width]
                for direction in range(8):
                    distance = min(abs(position - direction), 8 - abs(position - direction))
                    cell[direction] += math.hypot(across, down) * max(0.0, 1 - distance)
    numbers = [number for level in cells for row in level for cell in row for number in cell]
    return np.array(numbers) / (sum(numbers) or 1.0)


@pytest.mark.parametrize("shape", [(24, 32), (13, 17), (8, 8), (5, 3), (1, 1), (1, 9), (11, 1)])
def test_against_a_loop(shape):
    pixels = random_pixels(shape)
    expected = literal_pyramid(gray_levels(pixels).astype(int).tolist())
    np.testing.assert_allclose(gradient_pyramid(pixels), expected, atol=1e-7)


@pytest.mark.parametrize("level", [2, 3])
def test_against_scikit_image(level):
    """Its histograms coincide with ours where they are finer.

    scikit-image has central differences too, sums lengths in cells, and divides a block of all cells by its sum
    (L1). It does not share a length between bins and folds directions to 180°: half-degree bins of its own are
    shared out here, and ours are folded. The outermost pixels are repeated since it has no gradient at the border.
    """
    gray = np.pad(gray_levels(random_pixels((62, 94), seed=1)), 1, mode="edge")
    n_cells, n_bins = 2**level, 360
    found = gradient_pyramid(as_rgb(gray))
    start = 8 * sum(4**coarser for coarser in range(level))
    found = 4 * found[start : start + 8 * 4**level].reshape(n_cells, n_cells, 2, 4).sum(axis=2)
    fine = hog(
        gray,
        orientations=n_bins,
        pixels_per_cell=(64 // n_cells, 96 // n_cells),
        cells_per_block=(n_cells, n_cells),
        block_norm="L1",
    ).reshape(n_cells, n_cells, n_bins)
    position = (np.arange(n_bins) + 0.5) * 180 / n_bins / 45
    distance = np.abs(position[:, None] - np.arange(4))
    shares = np.maximum(0, 1 - np.minimum(distance, 4 - distance))
    np.testing.assert_allclose(found, fine @ shares, atol=0.006 * found.max())
    np.testing.assert_allclose(found.sum(axis=-1), fine.sum(axis=-1), rtol=1e-5)


@pytest.mark.parametrize(
    ("direction", "across", "down"),
    [(0, 2, 0), (1, 2, 2), (2, 0, 2), (3, -2, 2), (4, -2, 0), (5, -2, -2), (6, 0, -2), (7, 2, -2)],
)
def test_ramps_have_one_direction(direction, across, down):
    rows, columns = np.indices((40, 40))
    levels = gradient_pyramid(as_rgb(128 + (across * (columns - 20) + down * (rows - 20)) // 2)).reshape(85, 8)
    # Not the border, where one difference is halved.
    middle = levels[21:].reshape(8, 8, 8)[1:-1, 1:-1]
    np.testing.assert_allclose(middle[..., direction], 1 / 4 / 64, rtol=0.1)
    np.testing.assert_allclose(np.delete(middle, direction, axis=-1), 0, atol=1e-9)


def test_order_of_cells():
    gray = np.zeros((64, 64))
    gray[18:22, 50:54] = 200  # level 1: row 0, column 1; level 2: row 1, column 3; level 3: row 2, column 6
    levels = gradient_pyramid(as_rgb(gray)).reshape(85, 8).sum(axis=1)
    expected = np.zeros(85)
    expected[[0, 1 + 1, 5 + 4 + 3, 21 + 16 + 6]] = 0.25
    np.testing.assert_allclose(levels, expected, atol=1e-7)


@pytest.mark.parametrize("shape", [(24, 32), (171, 256), (9, 9), (256, 8)])
def test_every_level_sums_to_a_quarter_and_adds_up_to_the_coarser_one(shape):
    found = gradient_pyramid(random_pixels(shape))
    assert found.sum() == pytest.approx(1)
    start = 0
    for level in range(4):
        stop = start + 8 * 4**level
        cells = found[start:stop].reshape(4**level, 8)
        np.testing.assert_allclose(cells.sum(axis=0), found[:8], atol=1e-12)
        start = stop


@pytest.mark.parametrize("shape", [(1, 1), (1, 200), (200, 1), (171, 256), (8, 256)])
@pytest.mark.parametrize("color", [(0, 0, 0), (77, 200, 13), (255, 255, 255)])
def test_constant_pictures_give_zeros(shape, color):
    np.testing.assert_array_equal(gradient_pyramid(np.full((*shape, 3), color, dtype=np.uint8)), 0)


def split(numbers):
    """Return the levels as arrays of cell row, cell column and direction."""
    starts = np.cumsum([8 * 4**level for level in range(3)])
    return [part.reshape(2**level, 2**level, 8) for level, part in enumerate(np.split(numbers, starts))]


def test_turning_and_mirroring_permute_directions_and_cells():
    pixels = random_pixels((48, 64))
    directions = np.arange(8)
    mirrored = split(gradient_pyramid(np.ascontiguousarray(pixels[:, ::-1])))
    half_turn = split(gradient_pyramid(np.ascontiguousarray(pixels[::-1, ::-1])))
    for level, straight in enumerate(split(gradient_pyramid(pixels))):
        np.testing.assert_allclose(mirrored[level], straight[:, ::-1, (4 - directions) % 8], atol=1e-8)
        np.testing.assert_allclose(half_turn[level], straight[::-1, ::-1, (directions + 4) % 8], atol=1e-8)


def test_brightness_and_contrast_change_nothing():
    gray = np.random.default_rng(2).integers(0, 60, (40, 56))
    base = gradient_pyramid(as_rgb(gray))
    np.testing.assert_allclose(gradient_pyramid(as_rgb(gray * 3 + 50)), base, atol=1e-7)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 3), (8, 256), (256, 8), (256, 1)])
def test_odd_shapes_give_finite_numbers(shape):
    found = gradient_pyramid(random_pixels(shape))
    assert found.shape == (680,)
    assert np.isfinite(found).all()
    assert (found >= 0).all()


def test_contract(make_photo):
    descriptor = GradientDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"gradients": 680}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    pixels = random_pixels((40, 30))
    rows = descriptor.compute([make_photo(fit_256=pixels)] * 2)
    assert rows.shape == (2, 680)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[1], gradient_pyramid(pixels).astype(np.float32))
    assert GradientDescriptor(size=128).key != descriptor.key
