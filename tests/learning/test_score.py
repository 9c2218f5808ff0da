"""Suggestions for photos that came after training."""

import shutil

import numpy as np
import pytest
from scipy.special import logit

from tagloom.catalog.extraction import load_rows
from tagloom.datasets import write_scenes
from tagloom.exceptions import StoreError
from tagloom.features.scaling import GroupScaler
from tagloom.learning.labels import read_labels
from tagloom.learning.stored_model import load_model
from tagloom.methods import RegularizedLeastSquares
from tagloom.project.project import Project


def _rows(project):
    store = project.store
    with store.lock(), store.cache() as cache:
        return load_rows(store, cache, project.settings)


def _new_features(n=15):
    return np.random.default_rng(1).gamma(2.0, size=(n, 289)).astype(np.float32)


@pytest.mark.parametrize("n_said", [10, 60])
def test_new_photos_get_the_numbers_of_the_linear_model(made_up, n_said):
    made = made_up(150, 3)
    made.say(range(n_said))
    kind = made.project.train("smoothed-ridge").kind
    before = made.project.store.suggestions.load()
    old = _rows(made.project)
    ids = made.add_photos(_new_features())
    found = made.project.score_new()
    assert (found.n_scored, found.why_not) == (15, "")
    stored = made.project.store.suggestions.load()
    assert np.array_equal(stored.photo_ids, np.concatenate([before.photo_ids, ids]))
    assert np.array_equal(stored.scores[:150], before.scores)
    assert stored.info == before.info
    rows = _rows(made.project)
    scaler = GroupScaler(old.groups).fit(old.X)
    labels = read_labels(made.project.store, old.ids)
    fitted = RegularizedLeastSquares(load_model(made.project.store, made.project.store.models.active()).strength)
    fitted.fit(scaler.transform(old.X), labels.Y)
    expected = fitted.decision_function(scaler.transform(rows.X[150:]))
    values = stored.scores[150:]
    if kind == "score":
        np.testing.assert_allclose(values, expected, atol=1e-5)
    else:
        for tag in range(3):
            order = np.argsort(expected[:, tag])
            assert (np.diff(logit(values[order, tag])) >= -1e-3).all()
    assert made.project.score_new().n_scored == 0
    assert {row.photo_id for row in made.project.suggest(n=1)} >= set(ids.tolist())


def test_beside_a_model_that_is_not_linear_a_ridge_scores_new_photos(made_up):
    made = made_up(100, 3)
    made.say(range(30))
    made.project.train("harmonic")
    before = made.project.store.suggestions.load()
    assert made.project.score_new().why_not == ""
    ids = made.add_photos(_new_features(6))
    found = made.project.score_new()
    assert (found.n_scored, found.why_not) == (6, "")
    stored = made.project.store.suggestions.load()
    np.testing.assert_array_equal(stored.scores[:100], before.scores)
    np.testing.assert_array_equal(stored.photo_ids[100:], ids)
    assert stored.info == before.info
    made.project.update()
    updated = made.project.store.suggestions.load()
    expected = updated.scores[np.searchsorted(updated.photo_ids, ids)]
    np.testing.assert_allclose(stored.scores[100:], expected, atol=1e-6)


def test_photos_without_features_wait(made_up):
    made = made_up(60, 3)
    with pytest.raises(StoreError, match="tagloom train"):
        made.project.score_new()
    made.say(range(25))
    made.project.train("ridge")
    made.add_photos(np.empty((0, 289), dtype=np.float32))
    assert made.project.score_new().n_scored == 0


@pytest.mark.medium
def test_extract_scores_what_it_extracts(tmp_path):
    write_scenes(tmp_path / "all", 16, size=(64, 48), labeled=0.5, random_state=0)
    photos = tmp_path / "photos"
    shutil.copytree(tmp_path / "all", photos)
    late = sorted(photos.glob("*.jpg"))[-3:]
    for path in late:
        path.unlink()
    flags = {"descriptors": "color", "n_workers": 1, "n_threads": 1, "method": "ridge"}
    with Project.init(photos, flags=flags) as project:
        project.scan()
        project.import_keywords(photos / "labels.csv")
        project.train()
        for path in late:
            shutil.copy(tmp_path / "all" / path.name, path)
        project.scan()
        assert project.extract().n_scored == 3
        assert len(project.store.suggestions.load().photo_ids) == 16
