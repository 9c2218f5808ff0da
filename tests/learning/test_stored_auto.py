"""A project that keeps the default method's model whole; the oracle is an annotator fitted in memory."""

from dataclasses import replace

import numpy as np
import pytest

from tagloom.catalog.extraction import load_rows
from tagloom.learning import stored_model
from tagloom.learning.labels import read_labels
from tagloom.learning.methods import get_learner, make_annotator
from tagloom.learning.predictions import Predictions
from tagloom.learning.stored_model import AutoModel, load_model
from tagloom.learning.update import Updater
from tagloom.tuning.auto import annotator as _annotator
from tagloom.tuning.auto.refine import TagMixing, label_correlations
from tagloom.tuning.explain.explain import ScoreExplainer


def new_features(n=12, random_state=1):
    return np.random.default_rng(random_state).gamma(2.0, size=(n, 289)).astype(np.float32)


def rows_of(project, photo_ids=None):
    with project.store.lock(), project.store.cache() as cache:
        return load_rows(project.store, cache, project.settings, photo_ids=photo_ids)


def model_of(project, **header):
    """Return the stored model, with other words in its header."""
    found = load_model(project.store, project.store.models.active(), n_threads=1)
    found.header = replace(found.header, **header)
    return found


def score(model, project, X):
    """Return what a model predicts for new photos."""
    rows = rows_of(project)
    return model.score(replace(rows, ids=np.arange(len(X)), X=X), lambda ids: rows_of(project, ids))


def in_memory(project):
    """Return an annotator fitted on what the project would train on now."""
    rows = rows_of(project)
    labels = read_labels(project.store, rows.ids)
    annotator = make_annotator(get_learner("auto"), project.settings, rows.groups)
    return annotator.fit(rows.X, labels.Y), rows, labels


def added(made, n=12):
    """Add photos, and return them and those of their columns that are learnt from."""
    ids = made.add_photos(new_features(n))
    return ids, rows_of(made.project, ids).X


def values_of(project, ids):
    stored = project.store.suggestions.load()
    return stored.scores[np.searchsorted(stored.photo_ids, ids)]


@pytest.mark.parametrize(("n_said", "kind"), [(10, "score"), pytest.param(50, "probability", marks=pytest.mark.medium)])
def test_new_photos_get_the_numbers_of_the_model_itself(made_up, n_said, kind):
    made = made_up(140, 3)
    made.say(range(n_said))
    assert made.project.train().kind == kind
    before = made.project.store.suggestions.load()
    fitted, *_ = in_memory(made.project)
    ids, X = added(made)
    found = made.project.score_new()
    assert (found.n_scored, found.why_not) == (12, "")
    expected = fitted.predict_proba(X) if kind == "probability" else fitted.decision_function(X)
    np.testing.assert_allclose(values_of(made.project, ids), expected, atol=1e-6)
    stored = made.project.store.suggestions.load()
    np.testing.assert_array_equal(stored.scores[:140], before.scores)
    assert stored.info == before.info
    assert made.project.score_new().n_scored == 0
    # An update leaves them as they are: nothing was decided since.
    assert made.project.update().tag_ids == ()
    np.testing.assert_allclose(values_of(made.project, ids), expected, atol=1e-6)


def test_the_stored_annotator_is_the_fitted_one(made_up):
    made = made_up(120, 3)
    made.say(range(40))
    made.project.train()
    fitted, rows, labels = in_memory(made.project)
    made.add_photos(new_features())  # further photos beside those of the training do not matter
    model = model_of(made.project)
    found = model.restored(rows_of(made.project))
    np.testing.assert_allclose(found.probabilities_, fitted.probabilities_, atol=1e-9)
    np.testing.assert_array_equal(found.labels_, labels.Y)
    more = labels.Y.copy()
    more[40:60] = made.truth[40:60]
    np.testing.assert_allclose(found.update(more).probabilities_, fitted.update(more).probabilities_, atol=1e-9)
    assert model.restored(rows_of(made.project, rows.ids)).n_tags_ == 3
    assert model.restored(rows_of(made.project, rows.ids[1:])) is None


def test_tags_that_were_named_are_corrected_as_in_training(made_up):
    made = made_up(120, 3)
    made.say(range(40))
    made.project.train()
    fitted, *_ = in_memory(made.project)
    model = model_of(made.project, completeness=0.42, forgettable=(False, True, False))
    _, X = added(made)
    found = score(model, made.project, X)
    expected = fitted.predict_proba(X)
    np.testing.assert_allclose(found[:, [0, 2]], expected[:, [0, 2]], atol=1e-6)
    most = 1.0 - 0.05 * (1.0 - expected[:, 1])
    np.testing.assert_allclose(found[:, 1], np.minimum(expected[:, 1] / (0.42 / 0.6), most), atol=1e-6)


def test_tags_that_were_gone_through_follow_what_was_said_of_them(made_up):
    made = made_up(200, 3)
    made.say(range(40))
    decisions = made.project.store.decisions
    # None of those that were looked at had the tag, against all expectation.
    for start in range(60, 90, 10):  # more at once would be no looks
        decisions.decide(made.ids[start : start + 10], made.tags[1], np.zeros(10, dtype=int), origin="suggested")
    made.project.train()
    model = model_of(made.project)
    assert model.header.reviewed == (False, True, False)
    annotator = model.restored(rows_of(made.project))
    own, is_open = model.predictions.values, annotator.labels_[:, 1] == -1
    assert not np.allclose(own[is_open, 1], annotator.probabilities_[is_open, 1], atol=1e-2)
    ids, X = added(made, 40)
    made.project.score_new()
    found, told = values_of(made.project, ids), annotator.predict_proba(X)
    np.testing.assert_allclose(found[:, [0, 2]], told[:, [0, 2]], atol=1e-6)
    # Every new photo lies between the two photos of the training that are next to it in the ranking.
    order = np.argsort(annotator.probabilities_[is_open, 1])
    before, after = annotator.probabilities_[is_open, 1][order], own[is_open, 1][order]
    place = np.searchsorted(before, told[:, 1])
    low, high = after[np.maximum(place - 1, 0)], after[np.minimum(place, len(after) - 1)]
    assert ((found[:, 1] >= low - 1e-6) & (found[:, 1] <= high + 1e-6)).all()
    # Exactly, where what the training did is known.
    model.predictions = replace(model.predictions, values=(0.25 * annotator.probabilities_).astype(np.float32))
    np.testing.assert_allclose(score(model, made.project, X)[:, 1], 0.25 * told[:, 1], rtol=2e-2)


def test_new_photos_have_what_the_updated_model_says(made_up):
    made = made_up(140, 3)
    made.say(range(40))
    made.project.train()
    fitted, *_ = in_memory(made.project)
    made.say(range(50, 60), [1])
    (extra,) = made.project.store.tags.add(["something new"])
    made.project.store.decisions.decide(made.ids[:8], extra, np.arange(8) % 2)
    made.project.update()
    assert isinstance(model_of(made.project), AutoModel)
    fitted.update(read_labels(made.project.store, made.ids).Y, columns=[0, 1, 2, -1])
    ids, X = added(made)
    assert made.project.score_new().n_scored == 12
    assert made.project.store.suggestions.load().tag_ids.tolist() == [*made.tags.tolist(), extra]
    np.testing.assert_allclose(values_of(made.project, ids), fitted.predict_proba(X), atol=1e-6)


def test_an_update_after_new_photos_came_explains_its_own_scores(made_up):
    made = made_up(120, 3)
    made.say(range(40))
    before = made.project.train().model
    made.add_photos(new_features(4))
    # Photos without numbers: all are learnt again, on the labels of before.
    assert made.project.update().model != before
    model = model_of(made.project)
    assert len(model.predictions.photo_ids) == 124
    assert model.solved_since(Predictions.of(made.project.store.suggestions.load())) == set()
    assert made.project.explain(int(made.ids[100]), "tag 1").photos_exact


def test_labels_since_training_that_no_update_has_seen_do_not_matter(made_up):
    made = made_up(140, 3)
    made.say(range(40))
    made.project.train()
    fitted, *_ = in_memory(made.project)
    made.say(range(50, 60), [1])
    ids, X = added(made)
    made.project.score_new()
    np.testing.assert_allclose(values_of(made.project, ids), fitted.predict_proba(X), atol=1e-6)


def check_ridge(made):
    """Look whether new photos have what a ridge beside the model says, and return their features and numbers."""
    ids, X = added(made)
    with Updater(made.project.store, made.project.settings) as updater:
        updater.update()
        expected = updater.values[np.searchsorted(updater.photo_ids, ids)]
    assert made.project.score_new().n_scored == len(X)
    np.testing.assert_allclose(values_of(made.project, ids), expected, atol=1e-6)
    return X, expected


@pytest.mark.medium
def test_photos_of_the_training_that_are_gone_leave_a_ridge(made_up):
    made = made_up(120, 3)
    made.say(range(40))
    made.project.train()
    (made.project.root / "00100.jpg").unlink()
    check_ridge(made)


def test_a_state_that_is_not_understood_leaves_a_ridge(made_up, monkeypatch, caplog):
    made = made_up(120, 3)
    made.say(range(40))
    monkeypatch.setattr("tagloom.tuning.auto.annotator.FORMAT", 99)
    made.project.train()
    monkeypatch.undo()
    check_ridge(made)
    assert "cannot be used whole" in caplog.text


def test_of_other_methods_their_predictions_are_kept(made_up):
    made = made_up(60, 2)
    made.say(range(30))
    made.project.train("harmonic")
    assert model_of(made.project).arrays().keys() == {"photo_ids", "values"}


def explained_in_memory(project, row, column, *, own_label=False):
    """Return what an annotator fitted in memory says for its score, by default without what was said of the photo."""
    fitted, rows, labels = in_memory(project)
    explainer = ScoreExplainer(fitted, rows.X, labels.Y, groups=rows.groups)
    return (explainer if own_label else explainer.without(row)).explain(row, column), labels


def check_explanation(found, expected, ids):
    assert found.score == pytest.approx(expected.score, abs=1e-9)
    near = expected.neighbors
    names = [int(ids[near.names[place]]) for place in near.order]
    assert [one.photo_id for one in found.photos] == names
    assert [one.has_tag for one in found.photos] == [bool(near.labels[place]) for place in near.order]
    np.testing.assert_allclose([one.amount for one in found.photos], near.amounts[near.order], atol=1e-9)
    np.testing.assert_allclose([one.weight for one in found.photos], near.weights[near.order], atol=1e-9)
    assert found.photos_base == pytest.approx(near.base, abs=1e-9)
    assert (found.photos_exact, found.groups_exact) == (near.is_exact, expected.groups.is_exact)
    by_group = {one.name: one.amount for one in found.groups}
    assert by_group == pytest.approx(dict(zip(expected.groups.names, expected.groups.amounts, strict=True)), abs=1e-9)
    assert found.groups_rest == pytest.approx(expected.groups.rest, abs=1e-9)


@pytest.mark.parametrize(("n_said", "kind"), [(10, "score"), pytest.param(40, "probability", marks=pytest.mark.medium)])
def test_explanations_are_those_of_the_model_itself(made_up, n_said, kind):
    made = made_up(120, 3)
    made.say(range(n_said))
    made.project.train()
    for row, column in ((100, 1), (3, 2)):
        expected, labels = explained_in_memory(made.project, row, column, own_label=kind == "score")
        found = made.project.explain(int(made.ids[row]), f"tag {column}", n=0)
        check_explanation(found, expected, labels.photo_ids)
        assert found.photos_exact
        assert found.kind == kind
        assert found.tags == ()
        assert found.notes == ("The table of feature groups is approximate; one row holds what it does not explain.",)


def test_tags_that_listen_to_each_other_are_explained_by_tags(made_up, monkeypatch):
    def find(deviations, labels, spreads, folds):
        return TagMixing(0.3, np.eye(len(spreads)) + 0.3 * label_correlations(labels), 0.0)

    monkeypatch.setattr(_annotator, "find_mixing", find)
    made = made_up(120, 4)
    made.say(range(40))
    made.project.train()
    for row in (100, 3):  # one of which nothing was said, and one that is labelled
        expected, labels = explained_in_memory(made.project, row, 1)
        found = made.project.explain(int(made.ids[row]), "tag 1", n=0)
        check_explanation(found, expected, labels.photo_ids)
        assert found.photos_exact
        amounts = {f"tag {place}": amount for place, amount in enumerate(expected.tags.amounts)}
        assert {one.name: one.amount for one in found.tags} == pytest.approx(amounts, abs=1e-9)


def test_tags_that_listen_and_are_known_on_photos_of_their_own_are_explained_by_stand_ins(made_up, monkeypatch):
    def find(deviations, labels, spreads, folds):
        return TagMixing(0.3, np.eye(len(spreads)) + 0.3 * label_correlations(labels), 0.0)

    monkeypatch.setattr(_annotator, "find_mixing", find)
    monkeypatch.setattr(stored_model, "MOST_PATTERNS", 3)
    made = made_up(120, 4)
    for tag in range(4):
        made.say(range(10 * tag, 10 * tag + 30), [tag])
    made.project.train()
    found = made.project.explain(int(made.ids[110]), "tag 1")
    assert not found.photos_exact
    assert not found.tags
    assert any("log-odds" in note for note in found.notes)


def test_explanations_stay_those_of_the_training(made_up):
    made = made_up(120, 3)
    made.say(range(40))
    made.project.train()
    expected, labels = explained_in_memory(made.project, 100, 1)
    made.project.explain(int(made.ids[100]), "tag 1")
    first = made.project.explainer
    # Labels and photos that the model has not seen.
    made.say(range(50, 60), [1])
    ids = made.add_photos(new_features())
    made.project.score_new()
    found = made.project.explain(int(made.ids[100]), "tag 1", n=0)
    assert made.project.explainer is not first
    assert made.project.explainer._own is first._own
    check_explanation(found, expected, labels.photo_ids)
    assert found.notes[0].startswith("Labels or photos have changed")
    assert made.project.explain(int(made.ids[52]), "tag 1").decided == bool(made.truth[52, 1])
    # A photo that came later has its number explained, by a stand-in.
    later = made.project.explain(int(ids[0]), "tag 1")
    assert later.score == pytest.approx(np.log(later.value / (1 - later.value)), rel=1e-4)
    assert not later.photos_exact
    # An update learns from both, and explains what it says.
    made.project.update()
    updated = made.project.explain(int(ids[0]), "tag 1")
    assert updated.photos_exact
    assert not any("log-odds" in note for note in updated.notes)
    # Another model has another explanation.
    made.project.train()
    expected, labels = explained_in_memory(made.project, 100, 1)
    check_explanation(made.project.explain(int(made.ids[100]), "tag 1", n=0), expected, labels.photo_ids)
