"""Region features against pixel loops and scikit-image."""

import math

import numpy as np
import pytest
from scipy import ndimage
from skimage import color, measure

from tagloom.exceptions import InvalidInputError
from tagloom.features.classic.color import srgb_to_lab
from tagloom.features.words.regions import REGION_COLUMNS, region_features, segment

DIRECTIONS = (0, 30, 60, 90, 120, 150)


def column(features, *names):
    return features[:, [REGION_COLUMNS.index(name) for name in names]]


def picture(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def literal_shape(labels, region):
    height, width = labels.shape
    places = [(i, j) for i in range(height) for j in range(width) if labels[i, j] == region]
    boundary = frame = 0
    for i, j in places:
        for k, m in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            outside = not (0 <= k < height and 0 <= m < width)
            frame += outside
            boundary += outside or labels[k, m] != region
    y, x = np.mean(places, axis=0)
    n = len(places)
    xx = sum((j - x) ** 2 for _, j in places) / n + 1 / 12
    yy = sum((i - y) ** 2 for i, _ in places) / n + 1 / 12
    xy = sum((i - y) * (j - x) for i, j in places) / n
    low, high = np.linalg.eigvalsh([[xx, xy], [xy, yy]])
    eccentricity = math.sqrt(max(0.0, 1 - low / high))
    return [
        *(n / labels.size, (x + 0.5) / width, (y + 0.5) / height, 16 * n / boundary**2, frame / boundary),
        *(n / (2 * math.pi * (xx + yy)), eccentricity, (xx - yy) / (xx + yy), 2 * xy / (xx + yy)),
    ]


def literal_color(values):
    mean = values.mean(axis=0)
    deviation = np.sqrt(((values - mean) ** 2).mean(axis=0))
    skewness = np.cbrt(((values - mean) ** 3).mean(axis=0))
    return [*mean, *deviation, *skewness]


def literal_texture(lightness, inside):
    smooth = {s: ndimage.gaussian_filter(lightness, s, mode="nearest", truncate=4.0) for s in (1, 2, 4)}
    numbers = []
    for scale in (1, 2):
        gx, gy = (ndimage.sobel(smooth[scale], axis=axis, mode="nearest") / 8 for axis in (1, 0))
        sums = dict.fromkeys(DIRECTIONS, 0.0)
        for dx, dy in zip(gx[inside], gy[inside], strict=True):
            angle = math.degrees(math.atan2(dy, dx)) % 180
            nearest = min((*DIRECTIONS, 180), key=lambda direction: abs(angle - direction))
            sums[nearest % 180] += math.hypot(dx, dy)
        numbers += [total / inside.sum() for total in sums.values()]
    bands = (lightness - smooth[1], smooth[1] - smooth[2], smooth[2] - smooth[4])
    return [*numbers, *(math.sqrt((band[inside] ** 2).mean()) for band in bands)]


def literal_features(pixels, labels):
    lab = srgb_to_lab(pixels).astype(np.float64)
    rows = []
    for region in range(labels.max() + 1):
        inside = labels == region
        rows.append(
            [*literal_shape(labels, region), *literal_color(lab[inside]), *literal_texture(lab[..., 0], inside)]
        )
    return np.array(rows)


@pytest.mark.parametrize("shape", [(24, 31), (1, 1), (1, 17), (9, 1), (2, 2), (6, 80)])
def test_against_loops(shape):
    pixels = picture(*shape)
    labels = segment(pixels, n_regions=5, tolerance=0)
    features = region_features(pixels, labels)
    assert features.shape == (labels.max() + 1, len(REGION_COLUMNS))
    assert features.dtype == np.float32
    # Skewness is a cube root: rounding of the third moment by 1e-10 is seen as 5e-4.
    np.testing.assert_allclose(features, literal_features(pixels, labels), rtol=2e-4, atol=1e-3)


def test_regions_need_not_be_connected():
    pixels = picture(12, 15)
    labels = np.random.default_rng(1).integers(0, 4, (12, 15))
    np.testing.assert_allclose(region_features(pixels, labels), literal_features(pixels, labels), rtol=2e-4, atol=1e-3)


def test_shape_and_color_against_another_library():
    pixels = picture(60, 80).repeat(2, axis=0)
    labels = segment(pixels, n_regions=6, tolerance=0)
    features = region_features(pixels, labels)
    lab = color.rgb2lab(pixels)
    for region, found in enumerate(measure.regionprops(labels + 1, intensity_image=lab)):
        row = features[region : region + 1]
        assert column(row, "area") == pytest.approx(found.area / labels.size)
        y, x = (np.array(found.centroid) + 0.5) / labels.shape
        np.testing.assert_allclose(column(row, "x", "y"), [[x, y]], atol=1e-6)
        long, short = np.array(found.inertia_tensor_eigvals) + 1 / 12  # which scikit-image leaves out
        assert column(row, "eccentricity") == pytest.approx(math.sqrt(1 - short / long), abs=1e-5)
        assert column(row, "eccentricity") == pytest.approx(found.eccentricity, abs=0.01)
        np.testing.assert_allclose(column(row, "L mean", "a mean", "b mean")[0], found.intensity_mean, atol=0.02)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (8, 8), (30, 50)])
def test_a_constant_picture(shape):
    features = region_features(np.full((*shape, 3), 200, dtype=np.uint8), np.zeros(shape, dtype=np.int32))
    assert column(features, "area") == 1
    assert column(features, "frame") == 1
    np.testing.assert_allclose(column(features, "x", "y"), 0.5)
    np.testing.assert_allclose(features[:, REGION_COLUMNS.index("L deviation") :], 0, atol=1e-4)
    if shape[0] == shape[1]:
        assert column(features, "compactness") == 1
        assert column(features, "eccentricity") == 0


def test_a_disc_is_round():
    rows, columns = np.mgrid[:101, :101] - 50
    labels = (rows**2 + columns**2 <= 40**2).astype(np.int64)
    features = region_features(picture(101, 101), labels)
    assert column(features, "roundness")[1] == pytest.approx(1, abs=0.01)
    assert column(features, "eccentricity")[1] == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_direction_of_a_grating(direction):
    rows, columns = np.mgrid[:64, :64]
    angle = math.radians(direction)
    waves = 128 + 100 * np.sin(0.7 * (math.cos(angle) * columns + math.sin(angle) * rows))
    pixels = np.repeat(waves[..., None], 3, axis=2).astype(np.uint8)
    (features,) = region_features(pixels, np.zeros((64, 64), dtype=np.int64))
    for scale in (1, 2):
        first = REGION_COLUMNS.index(f"gradient 0° at {scale}")
        energies = features[first : first + 6]
        assert energies.argmax() == DIRECTIONS.index(direction)
        assert energies.max() > 0.8 * energies.sum()


def test_a_mirror_changes_what_it_should():
    pixels = picture(40, 56)
    labels = segment(pixels, n_regions=4, tolerance=0)
    straight = region_features(pixels, labels)
    mirrored = region_features(pixels[:, ::-1], labels[:, ::-1])
    expected = straight.copy()
    expected[:, REGION_COLUMNS.index("x")] = 1 - straight[:, REGION_COLUMNS.index("x")]
    expected[:, REGION_COLUMNS.index("slope")] *= -1
    for scale in (1, 2):
        first = REGION_COLUMNS.index(f"gradient 0° at {scale}")
        expected[:, first + 1 : first + 6] = straight[:, first + 1 : first + 6][:, ::-1]
    np.testing.assert_allclose(mirrored, expected, rtol=1e-4, atol=1e-3)


def test_brighter_by_one_step_of_lightness_moves_the_mean_alone():
    labels = np.repeat([[0, 1]], 20, axis=0).repeat(10, axis=1)
    gray = np.random.default_rng(2).integers(60, 80, (20, 20, 1)).repeat(3, axis=2).astype(np.uint8)
    dark, bright = region_features(gray, labels), region_features(gray + 90, labels)
    assert (column(bright, "L mean") > column(dark, "L mean") + 20).all()
    np.testing.assert_array_equal(dark[:, :9], bright[:, :9])


def test_names():
    assert len(REGION_COLUMNS) == len(set(REGION_COLUMNS)) == 33


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (np.zeros((3, 4), dtype=np.int64), "expected the region"),
        (np.zeros((4, 3)), "expected the region"),
        (np.full((4, 3), -1), "expected the region"),
        (np.full((4, 3), 1), "region 0 has no pixel"),
    ],
)
def test_wrong_labels(labels, match):
    with pytest.raises(InvalidInputError, match=match):
        region_features(picture(4, 3), labels)
