"""Segmentation: what regions must be, the steps against literal versions, and masks drawn by people."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from skimage import measure, segmentation

from tagloom.exceptions import InvalidInputError
from tagloom.features.words import regions as module
from tagloom.features.words.regions import segment

COLORS = np.array([[200, 40, 30], [40, 160, 60], [30, 60, 190], [230, 220, 90]], dtype=np.uint8)


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def patches(height, width, seed=0):
    """Return random colours in blocks of 5 × 7, with noise."""
    coarse = noise(-(-height // 5), -(-width // 7), seed).repeat(5, axis=0).repeat(7, axis=1)[:height, :width]
    return np.clip(coarse + np.random.default_rng(seed).normal(0, 8, coarse.shape), 0, 255).astype(np.uint8)


def n_pieces(labels):
    return [ndimage.label(labels == region)[1] for region in range(labels.max() + 1)]


@pytest.mark.parametrize("make", [noise, patches])
@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 2), (1, 256), (256, 1), (2, 2), (7, 5), (8, 256), (33, 50), (128, 192), (192, 256)]
)
@pytest.mark.parametrize("n_regions", [1, 3, 10])
def test_what_regions_are(make, shape, n_regions):
    labels = segment(make(*shape), n_regions=n_regions)
    assert labels.shape == shape
    assert labels.dtype == np.int32
    areas = np.bincount(labels.ravel())
    assert len(areas) <= n_regions
    assert areas.min() > 0
    assert (np.diff(areas) <= 0).all()
    assert n_pieces(labels) == [1] * len(areas)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (30, 1), (60, 90)])
def test_a_constant_picture_is_one_region(shape):
    assert not segment(np.full((*shape, 3), 93, dtype=np.uint8)).any()


@pytest.mark.parametrize("shape", [(12, 16), (64, 96), (150, 256)])
def test_quarters_are_found(shape):
    height, width = shape
    truth = (2 * np.arange(height) // height)[:, None] * 2 + 2 * np.arange(width) // width
    labels = segment(COLORS[truth], n_regions=4)
    assert labels.max() == 3
    agreement = sum(np.bincount(truth[labels == region]).max() for region in range(4)) / truth.size
    assert agreement > 0.97


def test_texture_alone_parts_a_picture():
    pixels = np.full((96, 96, 3), 120, dtype=np.uint8)
    pixels[:, 48::4] = 90
    pixels[:, 50::4] = 150
    labels = segment(pixels, n_regions=2)
    assert (labels[:, :40] == labels[50, 10]).mean() > 0.97
    assert (labels[:, 56:] != labels[50, 10]).mean() > 0.97


@pytest.mark.parametrize(("step", "n_expected"), [(4, 1), (40, 2)])
def test_alike_neighbors_are_one_region(step, n_expected):
    pixels = np.full((64, 96, 3), 100, dtype=np.uint8)
    pixels[:, 48:] += step
    assert segment(pixels).max() + 1 == n_expected


def test_a_low_tolerance_keeps_what_hardly_differs():
    pixels = np.full((64, 96, 3), 100, dtype=np.uint8)
    pixels[:, 48:] += 4
    assert segment(pixels, tolerance=0.5).max() == 1


@pytest.mark.parametrize(("min_share", "n_expected"), [(0.02, 1), (0.0, 2)])
def test_small_regions_join_a_neighbor(min_share, n_expected):
    pixels = np.full((96, 96, 3), 60, dtype=np.uint8)
    pixels[40:49, 40:49] = 220
    assert segment(pixels, n_regions=2, min_share=min_share).max() + 1 == n_expected


def test_the_same_in_threads():
    pictures = [patches(120, 100, seed) for seed in range(6)]
    with ThreadPoolExecutor(4) as pool:
        for labels, pixels in zip(pool.map(segment, pictures), pictures, strict=True):
            np.testing.assert_array_equal(labels, segment(pixels))


@pytest.mark.parametrize("wrong", [{"n_regions": 0}, {"min_share": -0.1}, {"min_share": 2}, {"tolerance": np.nan}])
def test_wrong_parameters(wrong):
    with pytest.raises(InvalidInputError, match="expected n_regions"):
        segment(noise(4, 4), **wrong)


def literal_superpixels(lab, cells, cell):
    height, width = lab.shape[:2]
    scale = module._COMPACTNESS / max(cell)
    points = np.array([[[*lab[i, j], i * scale, j * scale] for j in range(width)] for i in range(height)], dtype=float)
    own = np.array([[(i // cell[0], j // cell[1]) for j in range(width)] for i in range(height)])
    labels, centers = own.copy(), {}
    for _ in range(module._N_ITERATIONS):
        for name in np.ndindex(*cells):
            members = points[(labels == name).all(axis=2)]
            if len(members):
                centers[name] = members.mean(axis=0)
        for i, j in np.ndindex(height, width):
            near = [name for name in np.ndindex(*cells) if np.abs(own[i, j] - name).max() <= 1]
            labels[i, j] = min(near, key=lambda name: np.linalg.norm(points[i, j] - centers[name]))
    return labels[..., 0] * cells[1] + labels[..., 1]


@pytest.mark.parametrize(("cells", "cell"), [((3, 4), (6, 6)), ((1, 5), (1, 4)), ((2, 2), (3, 5))])
def test_superpixels_against_a_loop(cells, cell):
    shape = (cells[0] * cell[0], cells[1] * cell[1], 3)
    lab = np.random.default_rng(4).normal(0, 12, shape).astype(np.float32)
    np.testing.assert_array_equal(module._superpixels(lab, cells, cell), literal_superpixels(lab, cells, cell))


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (20, 31)])
def test_connected_pieces_against_another_library(shape):
    labels = np.random.default_rng(5).integers(0, 3, shape)
    found = module._connected(labels)
    expected = measure.label(labels, connectivity=1, background=-1)
    assert len(np.unique(found)) == expected.max()
    assert len(np.unique(np.stack([found.ravel(), expected.ravel()]), axis=1).T) == expected.max()


def are_neighbors(labels, a, b):
    return (ndimage.binary_dilation(labels == a) & (labels == b)).any()


def literal_merging(labels, channels, n_regions):
    """Merge the cheapest neighbours, everything computed anew from the pixels at each step."""
    labels = labels.copy()
    while len(names := np.unique(labels)) > n_regions:
        costs = {}
        for a in names:
            for b in names[names > a]:
                if are_neighbors(labels, a, b):
                    left, right = channels[labels == a], channels[labels == b]
                    weight = (len(left) * len(right) / (len(left) + len(right))) ** module._SIZE_POWER
                    costs[a, b] = weight * ((left.mean(axis=0) - right.mean(axis=0)) ** 2).sum()
        a, b = min(costs, key=costs.get)
        labels[labels == b] = a
    return labels


@pytest.mark.parametrize("n_regions", [1, 2, 6])
def test_merging_against_a_loop(n_regions):
    generator = np.random.default_rng(n_regions)
    labels = (np.arange(20) // 4)[:, None] * 6 + np.arange(24) // 4
    channels = generator.normal(0, 1, (30, 4))[labels] + generator.normal(0, 0.1, (20, 24, 4))
    graph = module._RegionGraph(labels, channels.reshape(-1, 4))
    graph.merge(n_regions, min_size=0, tolerance=0)
    found, expected = graph.labels(), literal_merging(labels, channels, n_regions)
    assert len(np.unique(np.stack([found.ravel(), expected.ravel()]), axis=1).T) == n_regions
    assert len(np.unique(found)) == n_regions


def test_fragments_join_the_neighbor_most_like_them():
    labels = np.zeros((9, 9), dtype=np.int64)
    labels[:, 5:] = 1
    labels[4, 4] = 2  # between both, of the right one's colour
    values = np.array([0.0, 10.0, 9.0])[labels]
    graph = module._RegionGraph(labels, values.reshape(-1, 1))
    graph.absorb_fragments(2)
    found = graph.labels()
    assert len(np.unique(found)) == 2
    assert found[4, 4] == found[0, 8]


def covering(labels, truth):
    """Return the mean over the true regions' pixels of the best overlap (intersection by union) with a region."""
    known = truth > 0
    total = 0.0
    for part in np.unique(truth[known]):
        inside = truth == part
        overlaps = [
            (inside & (labels == region)).sum() / (inside | (known & (labels == region))).sum()
            for region in np.unique(labels[inside])
        ]
        total += inside.sum() * max(overlaps)
    return total / known.sum()


@pytest.mark.medium
def test_nearer_to_masks_drawn_by_people_than_superpixels(shared_data):
    folder = shared_data / "msrc_v2"
    ours, theirs = [], []
    for path in sorted((folder / "images").iterdir())[::40]:
        with Image.open(path) as photo, Image.open(folder / "groundtruth" / f"{path.stem}.png") as mask:
            photo.thumbnail((256, 256))
            pixels = np.asarray(photo.convert("RGB"))
            truth = np.asarray(mask.resize(photo.size, Image.Resampling.NEAREST))
        labels = segment(pixels)
        ours.append(covering(labels, truth))
        theirs.append(covering(segmentation.slic(pixels, n_segments=labels.max() + 1), truth))
    assert np.mean(ours) > 0.5
    assert np.mean(ours) > np.mean(theirs) + 0.05
