"""Dense SIFT against a loop over pixels, OpenCV's own SIFT, and pictures turned and mirrored."""

import math

import cv2
import numpy as np
import pytest
from scipy import ndimage

from tagloom.exceptions import InvalidInputError
from tagloom.features.words.sift import dense_sift


def literal_descriptor(plane, top, left, patch=16, min_contrast=1.0):
    """Return the 128 numbers of the patch whose upper left pixel is (top, left), pixel by pixel."""
    plane = np.pad(np.asarray(plane, dtype=float), 1, mode="edge")
    cell = patch // 4
    histogram, window = np.zeros((4, 4, 8)), np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            distance = math.hypot((i - 1.5) * cell, (j - 1.5) * cell)
            window[i, j] = math.exp(-(distance**2) / (2 * (patch / 2) ** 2))
    for row in range(max(0, top - cell), min(plane.shape[0] - 2, top + patch + cell)):
        for column in range(max(0, left - cell), min(plane.shape[1] - 2, left + patch + cell)):
            gx = (plane[row + 1, column + 2] - plane[row + 1, column]) / 2
            gy = (plane[row + 2, column + 1] - plane[row, column + 1]) / 2
            turn = math.atan2(gy, gx) / (math.pi / 4) % 8
            lower = int(turn)
            for i in range(4):
                for j in range(4):
                    dy = abs(row + 0.5 - (top + (i + 0.5) * cell)) / cell
                    dx = abs(column + 0.5 - (left + (j + 0.5) * cell)) / cell
                    share = max(0, 1 - dy) * max(0, 1 - dx) * math.hypot(gx, gy) * window[i, j]
                    histogram[i, j, lower % 8] += (1 - (turn - lower)) * share
                    histogram[i, j, (lower + 1) % 8] += (turn - lower) * share
    length = np.linalg.norm(histogram)
    if length < min_contrast * np.linalg.norm(window) * cell**2 or length == 0:
        return np.zeros(128)
    clipped = np.minimum(histogram / length, 0.2)
    return (clipped / np.linalg.norm(clipped)).ravel()


def smooth_picture(shape, seed=0, contrast=60.0):
    noise = np.random.default_rng(seed).standard_normal(shape)
    smooth = ndimage.gaussian_filter(noise, (2, 2, 0)[: len(shape)])
    return (128 + contrast * smooth / smooth.std()).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "step", "patch"), [((29, 35), 8, 16), ((16, 16), 8, 16), ((26, 20), 5, 12), ((13, 40), 3, 8)]
)
def test_against_a_loop(shape, step, patch):
    plane = smooth_picture(shape, seed=1)
    positions, descriptors = dense_sift(plane, step=step, patch=patch)
    tops = [(shape[0] - patch) % step // 2 + step * i for i in range((shape[0] - patch) // step + 1)]
    lefts = [(shape[1] - patch) % step // 2 + step * i for i in range((shape[1] - patch) // step + 1)]
    corners = [(top, left) for top in tops for left in lefts]
    np.testing.assert_array_equal(positions, np.array(corners) + patch / 2)
    expected = [literal_descriptor(plane, top, left, patch) for top, left in corners]
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(descriptors, expected, atol=2e-4)  # OpenCV's angles are good to 0.01°


def test_lengths_and_types():
    positions, descriptors = dense_sift(smooth_picture((50, 61)))
    assert positions.dtype == descriptors.dtype == np.float32
    assert positions.shape == (5 * 6, 2)
    np.testing.assert_allclose(np.linalg.norm(descriptors, axis=1), 1, atol=1e-5)
    assert descriptors.min() >= 0


def test_every_channel_is_described_on_its_own():
    planes = smooth_picture((40, 33, 3))
    positions, descriptors = dense_sift(planes)
    for channel in range(3):
        alone, numbers = dense_sift(planes[..., channel])
        np.testing.assert_array_equal(alone, positions)
        np.testing.assert_array_equal(numbers, descriptors[:, 128 * channel : 128 * (channel + 1)])


def test_nearly_the_directions_of_opencv():
    # 4-pixel cells are three times a keypoint's radius there; its picture is smoothed from 0.5 to 1.6, its angles turn
    # the other way, and its window is a Gaussian over pixels: near, not the same.
    plane = smooth_picture((120, 152), seed=3).clip(0, 255).astype(np.uint8)
    sigma = math.sqrt(1.6**2 - 0.5**2)
    positions, ours = dense_sift(cv2.GaussianBlur(plane.astype(np.float32), (0, 0), sigma))
    points = [cv2.KeyPoint(float(x) - 0.5, float(y) - 0.5, 8 / 3, 0.0) for y, x in positions]
    found, theirs = cv2.SIFT_create().compute(plane, points)
    assert [point.pt for point in found] == [point.pt for point in points]
    theirs = theirs.reshape(-1, 4, 4, 8)[..., -np.arange(8)].reshape(-1, 128)
    cosines = (ours * theirs).sum(axis=1) / np.linalg.norm(theirs, axis=1)
    assert cosines.mean() > 0.97
    assert cosines.min() > 0.9
    wrong = theirs.reshape(-1, 4, 4, 8)[..., ::-1].reshape(-1, 128)
    assert ((ours * wrong).sum(axis=1) / np.linalg.norm(wrong, axis=1)).mean() < 0.8


def by_place(positions, descriptors):
    return {tuple(place): row.reshape(4, 4, 8) for place, row in zip(positions.tolist(), descriptors, strict=True)}


DIRECTIONS = np.arange(8)
TURNS = {
    "mirror": (lambda p: p[:, ::-1], lambda y, x, h, w: (y, w - x), lambda d: d[:, ::-1, (4 - DIRECTIONS) % 8]),
    "half turn": (
        lambda p: p[::-1, ::-1],
        lambda y, x, h, w: (h - y, w - x),
        lambda d: d[::-1, ::-1, (DIRECTIONS + 4) % 8],
    ),
    "quarter turn": (  # np.rot90: a gradient to the right becomes one upwards
        np.rot90,
        lambda y, x, h, w: (w - x, y),
        lambda d: np.rot90(d)[:, :, (DIRECTIONS + 2) % 8],
    ),
}


@pytest.mark.parametrize("turn", TURNS)
def test_turned_pictures_permute_the_numbers(turn):
    # No rest of an odd number of pixels, which cannot lie on both ends alike.
    plane = smooth_picture((42, 56), seed=5)
    move, place, permute = TURNS[turn]
    before = by_place(*dense_sift(plane))
    after = by_place(*dense_sift(np.ascontiguousarray(move(plane))))
    assert len(after) == len(before)
    for (y, x), descriptor in before.items():
        np.testing.assert_allclose(after[place(y, x, 42, 56)], permute(descriptor), atol=5e-4)


def test_brightness_and_contrast_do_not_matter():
    plane = smooth_picture((40, 40), seed=6, contrast=20)
    expected = dense_sift(plane)[1]
    np.testing.assert_allclose(dense_sift(plane + 40)[1], expected, atol=1e-4)
    np.testing.assert_allclose(dense_sift(3 * plane)[1], expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (7, 9), (256, 8), (16, 16)])
@pytest.mark.parametrize("level", [0, 255])
def test_constant_pictures_give_zeros(shape, level):
    positions, descriptors = dense_sift(np.full(shape, level, dtype=np.uint8))
    assert len(positions) == len(descriptors) >= 1
    assert not descriptors.any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (7, 9), (8, 256)])
def test_small_pictures_are_repeated_at_the_border(shape):
    plane = np.random.default_rng(2).uniform(0, 255, shape).astype(np.float32)
    positions, descriptors = dense_sift(plane)
    before = [max(0, 16 - size) // 2 for size in shape]
    after = [max(0, 16 - size - n) for size, n in zip(shape, before, strict=True)]
    padded = np.pad(plane, list(zip(before, after, strict=True)), mode="edge")
    centres, expected = dense_sift(padded)
    np.testing.assert_array_equal(positions, centres - before)
    np.testing.assert_array_equal(descriptors, expected)
    assert (positions >= 0).all()
    assert (positions <= np.maximum(shape, 1)).all()
    assert np.isfinite(descriptors).all()


def test_contrast_of_a_slope_is_its_steepness():
    # The patch in the middle lies wholly inside, borders have lost half a cell of the slope.
    slope = np.tile(np.arange(48, dtype=np.float32), (48, 1))
    assert dense_sift(1.001 * slope, step=16)[1][4].any()
    assert not dense_sift(0.999 * slope, step=16)[1][4].any()
    assert dense_sift(0.3 * slope, step=16, min_contrast=0.29)[1][4].any()


def test_a_slope_points_one_way():
    slope = np.tile(4 * np.arange(48, dtype=np.float32), (48, 1))
    for picture, direction in ((slope, 0), (slope.T, 2), (slope[:, ::-1], 4), (slope.T[::-1], 6)):
        descriptor = dense_sift(np.ascontiguousarray(picture), step=16)[1][4].reshape(16, 8)
        assert (descriptor[:, direction] > 0.1).all()
        assert descriptor.sum() == pytest.approx(descriptor[:, direction].sum())


def test_results_are_the_callers_to_change():
    plane = smooth_picture((32, 32))
    first, _ = dense_sift(plane)
    first[:] = -1
    assert (dense_sift(plane)[0] > 0).all()


@pytest.mark.parametrize("options", [{"step": 0}, {"patch": 15}, {"patch": 0}])
def test_impossible_grids(options):
    with pytest.raises(InvalidInputError, match="grid needs"):
        dense_sift(np.zeros((32, 32)), **options)


@pytest.mark.parametrize("planes", [np.zeros(5), np.zeros((0, 4)), np.zeros((1, 2, 3, 4))])
def test_arrays_that_are_no_picture(planes):
    with pytest.raises(InvalidInputError, match="planes must have shape"):
        dense_sift(planes)
