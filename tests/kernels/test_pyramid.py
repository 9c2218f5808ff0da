"""The spatial pyramid match kernel against the definition, patch by patch and level by level."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.features.words.words import PYRAMIDS, word_histograms
from tagloom.kernels import level_weights, pyramid_match_kernel

LAZEBNIK = PYRAMIDS["two_level"]


def random_patches(n_pictures, n_patches, n_words, seed=0):
    generator = np.random.default_rng(seed)
    return [
        (generator.integers(0, n_words, n_patches), generator.uniform(0, 1, (n_patches, 2))) for _ in range(n_pictures)
    ]


def histograms(patches, n_words, pyramid):
    return np.array([word_histograms(w, p, (1, 1), n_words=n_words, pyramid=pyramid) for w, p in patches])


def literal_match(one, other, n_words, n_levels):
    """Return the pyramid match by Eqs. (1) to (4) of the paper: new matches found at each level, weighted by scale."""
    total = 0.0
    last = n_levels - 1
    for word in range(n_words):
        intersections = []
        for level in range(n_levels):
            side = 2**level
            matches = 0.0
            for i in range(side):
                for j in range(side):
                    counts = []
                    for words, positions in (one, other):
                        inside = (np.floor(positions[words == word] * side).astype(int) == (i, j)).all(axis=1)
                        counts.append(inside.sum() / len(words))
                    matches += min(counts)
            intersections.append(matches)
        total += intersections[last]
        for level in range(last):
            total += (intersections[level] - intersections[level + 1]) / 2 ** (last - level)
    return total


@pytest.mark.parametrize("n_levels", [1, 2, 3])
def test_against_the_definition(n_levels):
    patches = random_patches(6, 30, 4)
    levels = LAZEBNIK[:n_levels]
    expected = [[literal_match(one, other, 4, n_levels) for other in patches] for one in patches]
    A = histograms(patches, 4, levels)
    np.testing.assert_allclose(pyramid_match_kernel(A, levels=levels, n_words=4), expected, rtol=1e-5)
    found = pyramid_match_kernel(A[:2], A[1:], levels=levels, n_words=4, n_threads=2)
    np.testing.assert_allclose(found, np.array(expected)[:2, 1:], rtol=1e-5)


@pytest.mark.parametrize("weights", ["lazebnik", "equal"])
@pytest.mark.parametrize("pyramid", PYRAMIDS)
def test_diagonal_and_positive_semi_definite(weights, pyramid):
    levels = PYRAMIDS[pyramid]
    A = histograms(random_patches(30, 50, 12), 12, levels).astype(np.float64)
    K = pyramid_match_kernel(A, levels=levels, n_words=12, weights=weights)
    np.testing.assert_allclose(np.diag(K), 1, rtol=1e-6)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert K[~np.eye(30, dtype=bool)].max() < 0.95


def test_given_weights_level_by_level():
    levels = PYRAMIDS["three_level"]
    A = histograms(random_patches(5, 40, 3), 3, levels)
    expected = 0.0
    start = 0
    for weight, (rows, columns) in zip((0.5, 0.0, 2.0), levels, strict=True):
        part = A[:, start : start + 3 * rows * columns]
        start += part.shape[1]
        expected = expected + weight * np.minimum(part[:, None], part[None]).sum(axis=2)
    found = pyramid_match_kernel(A, levels=levels, n_words=3, weights=(0.5, 0.0, 2.0))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_weights():
    np.testing.assert_array_equal(level_weights(1), [1])
    np.testing.assert_array_equal(level_weights(2), [0.5, 0.5])
    np.testing.assert_array_equal(level_weights(4), [1 / 8, 1 / 8, 1 / 4, 1 / 2])
    np.testing.assert_allclose(level_weights(3, "equal"), 1 / 3)
    for n_levels in range(1, 6):
        assert level_weights(n_levels).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (20, {"levels": LAZEBNIK, "n_words": 1}, "make 21 columns"),
        (5, {"levels": [(1, 1)], "n_words": 0}, "must be positive"),
        (5, {"levels": [], "n_words": 5}, "at least one level"),
        (5, {"levels": [(1, 1)], "n_words": 5, "weights": "graumann"}, "'lazebnik', 'equal'"),
        (5, {"levels": [(1, 1)], "n_words": 5, "weights": [1, 2]}, "1 finite numbers"),
        (5, {"levels": [(1, 1)], "n_words": 5, "weights": [-1]}, "not negative"),
    ],
)
def test_wrong_inputs(columns, options, message):
    with pytest.raises(InvalidInputError, match=message):
        pyramid_match_kernel(np.zeros((2, columns)), **options)
