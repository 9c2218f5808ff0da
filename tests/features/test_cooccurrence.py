"""Co-occurrence texture against scikit-image and a pixel loop, and pictures whose matrices are known."""

import numpy as np
import pytest
from skimage.feature import graycomatrix, graycoprops

from tagloom.features import Descriptor
from tagloom.features.classic.cooccurrence import CooccurrenceDescriptor, cooccurrence_matrices, cooccurrence_texture
from tagloom.images import Rendition

STATISTICS = ("contrast", "homogeneity", "entropy", "correlation")
# scikit-image turns towards the rows below: its 135° is Haralick's 45°.
ANGLES = (0, 3 * np.pi / 4, np.pi / 2, np.pi / 4)
# Haralick's 0°, 45°, 90° and 135° as (row, column) steps, rows pointing down.
STEPS = ((0, 1), (-1, 1), (1, 0), (1, 1))


def grey_levels(pixels):
    weighted = pixels.astype(int) @ [299, 587, 114]
    return (weighted // 16000).astype(np.uint8)


def scikit_image_matrices(levels):
    return graycomatrix(levels, [1], ANGLES, levels=16, symmetric=True, normed=True)


def grey_picture(levels):
    return np.repeat(np.asarray(levels, dtype=np.uint8)[..., None] * np.uint8(16), 3, axis=2)


@pytest.mark.parametrize("shape", [(20, 31), (2, 2), (2, 12), (7, 2), (8, 256)])
def test_against_scikit_image(shape):
    pixels = np.random.default_rng(4).integers(0, 256, (*shape, 3), dtype=np.uint8)
    matrices = scikit_image_matrices(grey_levels(pixels))
    np.testing.assert_allclose(cooccurrence_matrices(pixels), matrices[:, :, 0].transpose(2, 0, 1), atol=1e-15)
    expected = np.array([graycoprops(matrices, name)[0] for name in STATISTICS]).T
    np.testing.assert_allclose(cooccurrence_texture(pixels).reshape(4, 4), expected, atol=1e-12)


def test_against_scikit_image_on_a_smooth_picture(smooth_pictures):
    pixels = smooth_pictures(1, 70)[0, :50]
    matrices = scikit_image_matrices(grey_levels(pixels))
    expected = np.array([graycoprops(matrices, name)[0] for name in STATISTICS]).T
    np.testing.assert_allclose(cooccurrence_texture(pixels).reshape(4, 4), expected, atol=1e-12)


def test_matrices_against_a_loop():
    levels = np.random.default_rng(8).integers(0, 16, (6, 5))
    expected = np.zeros((4, 16, 16))
    for direction, (down, right) in enumerate(STEPS):
        for row in range(6):
            for column in range(5):
                for sign in (1, -1):
                    other_row, other_column = row + sign * down, column + sign * right
                    if 0 <= other_row < 6 and 0 <= other_column < 5:
                        expected[direction, levels[row, column], levels[other_row, other_column]] += 1
        expected[direction] /= expected[direction].sum()
    np.testing.assert_allclose(cooccurrence_matrices(grey_picture(levels)), expected, atol=1e-15)


def test_grey_levels_are_sixteen_wide():
    for value in range(256):
        matrices = cooccurrence_matrices(np.full((2, 3, 3), value, dtype=np.uint8))
        assert (matrices[:, value // 16, value // 16] == 1).all()


@pytest.mark.parametrize("level", [0, 77, 255])
@pytest.mark.parametrize("shape", [(1, 1), (9, 14)])
def test_a_constant_picture(shape, level):
    numbers = cooccurrence_texture(np.full((*shape, 3), level, dtype=np.uint8))
    np.testing.assert_array_equal(numbers.reshape(4, 4), [[0, 1, 0, 1]] * 4)


@pytest.mark.parametrize("shape", [(1, 12), (9, 1)])
def test_a_side_of_one_pixel_is_doubled(shape):
    pixels = np.random.default_rng(9).integers(0, 256, (*shape, 3), dtype=np.uint8)
    doubled = pixels.repeat(2, axis=shape.index(1))
    np.testing.assert_array_equal(cooccurrence_texture(pixels), cooccurrence_texture(doubled))
    along_the_short_side = cooccurrence_texture(pixels).reshape(4, 4)[2 if shape[0] == 1 else 0]
    np.testing.assert_allclose(along_the_short_side[[0, 1, 3]], [0, 1, 1], atol=1e-12)


def test_stripes_differ_across_and_not_along():
    levels = np.tile([[2, 5]], (8, 4))
    across, rising, along, falling = cooccurrence_texture(grey_picture(levels)).reshape(4, 4)
    for numbers in (across, rising, falling):
        np.testing.assert_allclose(numbers, [9, 0.1, np.log(2), -1])
    np.testing.assert_allclose(along, [0, 1, np.log(2), 1])


def test_diagonal_stripes_tell_45_from_135_degrees():
    rows, columns = np.mgrid[:9, :9]
    # Constant from the lower left to the upper right.
    numbers = cooccurrence_texture(grey_picture((rows + columns) % 2 * 7)).reshape(4, 4)
    np.testing.assert_allclose(numbers[:, 0], [49, 0, 49, 0])
    numbers = cooccurrence_texture(grey_picture((rows + columns) % 3)).reshape(4, 4)
    assert numbers[1, 0] == 0
    assert numbers[3, 0] > 1


def test_mirroring_swaps_the_diagonals_and_turning_changes_nothing(smooth_pictures):
    pixels = smooth_pictures(1, 50)[0, :40]
    numbers = cooccurrence_texture(pixels).reshape(4, 4)
    mirrored = cooccurrence_texture(np.ascontiguousarray(pixels[:, ::-1])).reshape(4, 4)
    np.testing.assert_allclose(mirrored, numbers[[0, 3, 2, 1]], rtol=1e-12)
    turned = cooccurrence_texture(np.ascontiguousarray(pixels[::-1, ::-1])).reshape(4, 4)
    np.testing.assert_allclose(turned, numbers, rtol=1e-12)
    transposed = cooccurrence_texture(np.ascontiguousarray(pixels.transpose(1, 0, 2))).reshape(4, 4)
    np.testing.assert_allclose(transposed, numbers[[2, 1, 0, 3]], rtol=1e-12)


def test_a_whole_level_brighter_is_the_same_texture(smooth_pictures):
    pixels = smooth_pictures(1, 40)[0, :, :, :1].repeat(3, axis=2) // 2
    brighter = pixels + np.uint8(48)
    np.testing.assert_allclose(cooccurrence_texture(brighter), cooccurrence_texture(pixels), rtol=1e-10)


def test_contract(make_photo):
    descriptor = CooccurrenceDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"cooccurrence": 16}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    rows = descriptor.compute([make_photo(fit_256=np.zeros((3, 1, 3), dtype=np.uint8))])
    assert rows.shape == (1, 16)
    assert rows.dtype == np.float32
    assert CooccurrenceDescriptor(size=128).key != descriptor.key
