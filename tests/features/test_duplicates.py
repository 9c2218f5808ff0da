"""Near-duplicates against loops over all pairs and Kruskal's algorithm written out."""

import itertools
import math

import numpy as np
import pytest
from PIL import Image

from tagloom.exceptions import InvalidInputError
from tagloom.features.classic.phash import perceptual_hash
from tagloom.features.relations import duplicates
from tagloom.features.relations.duplicates import near_duplicate_pairs, near_duplicates


def make_hashes(n, seed=0, n_sources=12):
    """Return hashes that are copies of a few sources with up to ten bits flipped, in any order."""
    generator = np.random.default_rng(seed)
    hashes = generator.integers(0, 2, (n_sources, 64))[generator.integers(0, n_sources, n)]
    for row in hashes:
        row[generator.integers(0, 64, generator.integers(0, 11))] ^= 1
    return hashes


def literal_pairs(hashes, embeddings, max_bits, min_cosine):
    found = {}
    for i, j in itertools.combinations(range(len(hashes)), 2):
        bits = sum(int(a != b) for a, b in zip(hashes[i], hashes[j], strict=True))
        if bits <= max_bits and (embeddings is None or cosine(embeddings[i], embeddings[j]) >= min_cosine):
            found[i, j] = bits
    return found


def cosine(a, b):
    if not any(a) or not any(b):
        return float(not any(a) and not any(b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def literal_groups(n, pairs):
    """Return Kruskal's links and labels; pairs maps (i, j) to a length."""
    parent = list(range(n))

    def root(i):
        return i if parent[i] == i else root(parent[i])

    links = []
    for bits, i, j in sorted((bits, i, j) for (i, j), bits in pairs.items()):
        if root(i) != root(j):
            parent[root(j)] = root(i)
            links.append((i, j, bits))
    numbers, labels = {}, []
    for i in range(n):
        alone = not any(i in (a, b) for a, b, _ in links)
        labels.append(-1 if alone else numbers.setdefault(root(i), len(numbers)))
    return links, labels


def collect(chunks):
    return {
        (int(i), int(j)): int(bits)
        for pairs, distances in chunks
        for (i, j), bits in zip(pairs, distances, strict=True)
    }


@pytest.mark.parametrize("tile", [3, 16, 512])
@pytest.mark.parametrize("with_embeddings", [False, True])
@pytest.mark.parametrize("max_bits", [0, 4, 6, 20])
def test_against_loops(monkeypatch, tile, with_embeddings, max_bits):
    monkeypatch.setattr(duplicates, "_TILE", tile)
    hashes = make_hashes(40, seed=max_bits)
    generator = np.random.default_rng(1)
    embeddings = generator.normal([2.0, 0, 0], 1, (40, 3)).round(1) if with_embeddings else None
    hashes[9] = hashes[3]
    if with_embeddings:
        embeddings[[3, 9]] = 0
    expected = literal_pairs(hashes, embeddings, max_bits, 0.7)
    assert expected
    assert collect(near_duplicate_pairs(hashes, embeddings, max_bits=max_bits, min_cosine=0.7)) == expected
    found = near_duplicates(hashes, embeddings, max_bits=max_bits, min_cosine=0.7)
    links, labels = literal_groups(40, expected)
    assert found.labels.tolist() == labels
    assert [(*pair, bits) for pair, bits in zip(found.pairs.tolist(), found.distances.tolist(), strict=True)] == links


def test_links_do_not_depend_on_how_often_they_are_thinned_out(monkeypatch):
    hashes = make_hashes(120, seed=3)
    whole = near_duplicates(hashes)
    monkeypatch.setattr(duplicates, "_TILE", 7)
    monkeypatch.setattr("tagloom.features.relations.duplicates._PENDING", 5)
    parts = near_duplicates(hashes)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("with_embeddings", [False, True])
def test_order_of_the_photos(with_embeddings):
    generator = np.random.default_rng(5)
    hashes = make_hashes(150, seed=5)
    embeddings = generator.normal(1, 1, (150, 4)).astype(np.float32) if with_embeddings else None
    order = generator.permutation(150)
    plain = near_duplicates(hashes, embeddings, min_cosine=0.5)
    shuffled = near_duplicates(hashes[order], None if embeddings is None else embeddings[order], min_cosine=0.5)
    together = plain.labels[:, None] == plain.labels
    alone = plain.labels < 0
    np.testing.assert_array_equal(shuffled.labels[:, None] == shuffled.labels, together[np.ix_(order, order)])
    np.testing.assert_array_equal(shuffled.labels < 0, alone[order])
    np.testing.assert_array_equal(shuffled.distances, plain.distances)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64, bool])
def test_any_type_of_bits(dtype):
    hashes = make_hashes(30)
    np.testing.assert_array_equal(near_duplicates(hashes.astype(dtype)).labels, near_duplicates(hashes).labels)


def test_many_copies_are_one_group_with_a_link_each():
    found = near_duplicates(np.zeros((5000, 64)))
    assert (found.labels == 0).all()
    np.testing.assert_array_equal(found.pairs, [(0, j) for j in range(1, 5000)])
    assert not found.distances.any()
    copies = near_duplicates(np.zeros((5000, 64)), np.ones((5000, 3)))
    np.testing.assert_array_equal(copies.pairs, found.pairs)


def test_embeddings_tell_blank_pictures_apart():
    hashes = np.zeros((4, 64))
    embeddings = [[1, 0], [1, 0.01], [0, 1], [0.01, 1]]
    assert near_duplicates(hashes).labels.tolist() == [0, 0, 0, 0]
    assert near_duplicates(hashes, embeddings).labels.tolist() == [0, 0, 1, 1]


def test_rows_in_one_direction_have_cosine_one():
    generator = np.random.default_rng(0)
    row = generator.normal(size=300).astype(np.float32)
    embeddings = row * generator.uniform(1e-18, 1e18, 50).astype(np.float32)[:, None]
    assert near_duplicates(np.zeros((50, 64)), embeddings.astype(np.float64), min_cosine=1.0 - 1e-9).labels.max() == 0


@pytest.mark.medium
def test_photos_that_are_twice_in_a_public_set(shared_data):
    paths = sorted(path for first in (1, 9) for path in (shared_data / "msrc_v2" / "images").glob(f"{first}_*.jpg"))
    found = near_duplicates([perceptual_hash(np.asarray(Image.open(path).convert("RGB"))) for path in paths])
    twins = {tuple(paths[photo].stem for photo in pair) for pair in found.pairs}
    assert twins == {("1_26", "9_10"), ("1_27", "9_15")}


def test_nothing_and_one():
    for n in (0, 1):
        found = near_duplicates(np.zeros((n, 64)), np.zeros((n, 5)))
        assert found.labels.tolist() == [-1] * n
        assert found.pairs.shape == (0, 2)
        assert found.distances.shape == (0,)
        assert list(near_duplicate_pairs(np.zeros((n, 64)))) == []


@pytest.mark.parametrize(
    ("hashes", "options"),
    [
        (np.zeros((3, 63)), {}),
        (np.zeros(64), {}),
        (np.full((3, 64), 0.5), {}),
        (np.full((3, 64), np.nan), {}),
        (np.zeros((3, 64)), {"max_bits": 65}),
        (np.zeros((3, 64)), {"max_bits": -1}),
        (np.zeros((3, 64)), {"max_bits": 1.5}),
        (np.zeros((3, 64)), {"min_cosine": 1.1}),
        (np.zeros((3, 64)), {"min_cosine": float("nan")}),
        (np.zeros((3, 64)), {"embeddings": np.ones((2, 4))}),
        (np.zeros((3, 64)), {"embeddings": np.full((3, 4), np.nan)}),
    ],
)
def test_what_is_refused(hashes, options):
    for function in (near_duplicates, near_duplicate_pairs):
        with pytest.raises(InvalidInputError):
            function(hashes, **options)


def test_hashes_may_be_columns_of_a_larger_array():
    rng = np.random.default_rng(0)
    wide = np.asfortranarray(rng.integers(0, 2, (9, 80)).astype(np.float32))
    wide[3, 8:72] = wide[5, 8:72]
    found = near_duplicates(wide[:, 8:72])
    assert found.pairs.tolist() == [[3, 5]]
