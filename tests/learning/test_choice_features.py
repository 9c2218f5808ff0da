"""Features for choosing photos: few columns tell what many do, and rows are those of the photos asked for."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from tagloom.catalog.extraction import load_rows
from tagloom.exceptions import PhotosError, StoreError
from tagloom.features.scaling import GroupScaler
from tagloom.learning import next_photos as choice_features
from tagloom.learning.constants import N_COLUMNS
from tagloom.learning.next_photos import KeptFeatures, few_columns, load_choice_features


def directions(X):
    moved = X - X.mean(axis=0, dtype=np.float64)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def test_a_projection_keeps_directions_from_the_mean_and_the_nearest(monkeypatch):
    generator = np.random.default_rng(0)
    centers = generator.normal(size=(40, 1500))
    # Five photos of each of 40 kinds, all far from the origin on one side, as roots of histograms are.
    X = np.repeat(centers, 5, axis=0) + 0.6 * generator.normal(size=(200, 1500)) + 3.0
    X = X.astype(np.float32)
    found = few_columns(X)
    assert found.shape == (200, N_COLUMNS)
    assert found.dtype == np.float32
    before, after = directions(X) @ directions(X).T, directions(found) @ directions(found).T
    off = np.triu_indices(200, 1)
    error = (after - before)[off]
    assert np.sqrt(np.mean(error**2)) < 1.2 / np.sqrt(N_COLUMNS)
    assert abs(error.mean()) < 0.01
    for cosines in (before, after):
        np.fill_diagonal(cosines, -np.inf)
    np.testing.assert_array_equal(after.argmax(axis=1) // 5, np.arange(200) // 5)
    nearest = np.sort(np.argsort(-before, axis=1)[:, :4], axis=1)
    np.testing.assert_array_equal(np.sort(np.argsort(-after, axis=1)[:, :4], axis=1), nearest)
    monkeypatch.setattr(choice_features, "CHOICE_ROWS", 7)
    np.testing.assert_allclose(few_columns(X), found, rtol=1e-4, atol=1e-3)


def test_few_columns_stay_as_they_are():
    X = np.random.default_rng(0).normal(size=(5, N_COLUMNS)).astype(np.float32)
    assert few_columns(X) is X


@pytest.mark.parametrize(("descriptors", "n_columns"), [("color", 64), ("color,moments", N_COLUMNS)])
def test_rows_are_those_of_the_photos_asked_for(made_up, descriptors, n_columns):
    made = made_up(12, 1, descriptors=descriptors)
    store = made.project.store
    with store.lock(), store.cache() as cache:
        rows = load_rows(store, cache, made.project.settings)
    scaled = GroupScaler(rows.groups).fit_transform(rows.X)
    wanted = np.array([made.ids[7], 999, made.ids[2], made.ids[11]])
    X, has = load_choice_features(store, made.project.settings, wanted)
    assert X.shape == (4, n_columns)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(has, [True, False, True, True])
    np.testing.assert_array_equal(X[1], 0.0)
    np.testing.assert_allclose(X[has], few_columns(scaled)[[7, 2, 11]], rtol=1e-5, atol=1e-6)


def test_of_many_photos_some_are_drawn_and_the_labelled_ones_stay(made_up, monkeypatch):
    made = made_up(40, 2)
    monkeypatch.setattr(choice_features, "MOST_FREE", 12)
    said = np.isin(np.arange(40), [3, 30])
    X, has = load_choice_features(made.project.store, made.project.settings, made.ids, said=said)
    assert X.shape[0] == has.sum() == 14
    assert has[said].all()
    again = load_choice_features(made.project.store, made.project.settings, made.ids[has], sampled=True)[0]
    np.testing.assert_array_equal(X, again)
    few = load_choice_features(made.project.store, made.project.settings, made.ids, said=~np.isin(np.arange(40), [1]))
    assert few[1].all()
    assert few[0].shape[0] == 40


def test_no_photo_is_opened(made_up, monkeypatch):
    made = made_up(3, 1)
    monkeypatch.setattr("tagloom.features.engine.ExtractionEngine.read", lambda *_: pytest.fail("a photo was read"))
    made.project.flags["descriptors"] = "edges"
    with pytest.raises(PhotosError, match="tagloom extract"):
        load_choice_features(made.project.store, made.project.settings, made.ids)


def photos_of(ids, hashes=None):
    return SimpleNamespace(ids=np.asarray(ids), hashes=[str(number) for number in (hashes or ids)])


class Maker:
    """Makes features, and counts how often."""

    def __init__(self, has=True):
        self.n, self.has, self.error = 0, has, None

    def __call__(self, photos):
        self.n += 1
        if self.error is not None:
            raise self.error
        return np.full((len(photos.ids), 2), self.n, dtype=np.float32), np.full(len(photos.ids), self.has)


@pytest.mark.parametrize(
    ("other", "has", "n"),
    [
        (photos_of([1, 2]), True, 1),
        (photos_of([1, 2]), False, 2),  # they may have features by now
        (photos_of([1, 3]), True, 2),
        (photos_of([1, 2, 3]), True, 2),
        (photos_of([1, 2], [1, 9]), True, 2),  # the file has changed
    ],
)
def test_features_are_kept_as_long_as_the_photos_are_the_same(other, has, n):
    make = Maker(has)
    kept, photos = KeptFeatures(make), photos_of([1, 2])
    assert make.n == 0
    assert kept.of(photos) is kept.of(photos)
    assert make.n == 1
    assert len(kept.of(other)[0]) == len(other.ids)
    assert make.n == n


def test_an_error_is_not_kept():
    make, photos = Maker(), photos_of([1])
    kept, make.error = KeptFeatures(make), StoreError("busy")
    for _ in range(2):
        with pytest.raises(StoreError, match="busy"):
            kept.of(photos)
    make.error = None
    assert kept.of(photos)[0][0, 0] == 3.0


def test_threads_wait_for_the_one_that_makes_them():
    make, photos, found = Maker(), photos_of([1, 2]), []
    begun, go_on = threading.Event(), threading.Event()

    def slowly(wanted):
        begun.set()
        assert go_on.wait(30)
        return make(wanted)

    kept = KeptFeatures(slowly)
    threads = [threading.Thread(target=lambda: found.append(kept.of(photos))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert make.n == 1
    assert len(found) == 4
    assert all(item is found[0] for item in found)
