"""Training: probabilities where labels are enough, silence, and what is taken over from earlier models."""

import numpy as np
import pytest

from tagloom.catalog.extraction import load_rows
from tagloom.features.scaling import GroupScaler
from tagloom.learning.labels import read_labels
from tagloom.learning.stored_model import load_model
from tagloom.methods import RegularizedLeastSquares


def _problem(project):
    """Return scaled features and labels as training sees them."""
    store = project.store
    with store.lock(), store.cache() as cache:
        rows = load_rows(store, cache, project.settings)
    return GroupScaler(rows.groups).fit_transform(rows.X), read_labels(store, rows.ids)


def test_with_few_labels_the_numbers_are_scores_and_it_says_why(made_up):
    made = made_up()
    made.say(range(12))
    found = made.project.train("smoothed-ridge")
    assert found.kind == "score"
    assert found.why_scores == "probabilities need 20 labelled photos, and there are 12"
    assert (found.held_out_map, found.completeness) == (None, None)
    X, labels = _problem(made.project)
    expected = RegularizedLeastSquares(smoothing=0.5, n_neighbors=5).fit(X, labels.Y)
    stored = made.project.store.suggestions.load()
    np.testing.assert_allclose(stored.scores, expected.transduction_, atol=1e-4 * expected.transduction_.std())
    np.testing.assert_allclose(stored.thresholds, expected.thresholds_, atol=1e-6)
    assert made.project.suggest(n=1)[0].kind == "score"


@pytest.mark.parametrize("method", ["smoothed-ridge", "ridge", "harmonic"])
def test_with_enough_they_are_probabilities_with_the_wanted_precision(made_up, method):
    made = made_up(500, 4, precision=0.8)
    made.say(range(150))
    found = made.project.train(method)
    assert (found.kind, found.why_scores, found.silence_is_no) == ("probability", "", ())
    assert 0.4 < found.held_out_map <= 1.0
    stored = made.project.store.suggestions.load()
    assert ((stored.scores >= 0) & (stored.scores <= 1)).all()
    unseen = slice(150, None)
    above = stored.scores[unseen] > stored.thresholds
    assert above.sum() == found.n_above > 20
    assert made.truth[unseen][above].mean() > 0.65
    # As many photos as are expected have the tags.
    assert abs(stored.scores[unseen].sum() - made.truth[unseen].sum()) < 0.25 * made.truth[unseen].sum()
    assert made.project.suggest(n=1)[0].kind == "probability"


def test_tags_that_were_only_named_are_recorded_as_such(made_up):
    made = made_up(500, 10)
    named = made.truth[:200] == 1
    rows, columns = np.nonzero(named & (np.random.default_rng(0).random(named.shape) < 0.7))
    made.project.store.decisions.decide(made.ids[rows], made.tags[columns], 1)
    found = made.project.train("smoothed-ridge")
    assert found.kind == "probability"
    assert found.n_no == 0
    assert found.silence_is_no == tuple(f"tag {number}" for number in range(10))
    assert 0.05 <= found.completeness < 1.0
    model = load_model(made.project.store, made.project.store.models.active())
    assert model.header.completeness == found.completeness
    values = made.project.store.suggestions.load().scores
    # At most what was forgotten is missed.
    untouched = np.arange(200, 500)
    assert values[untouched].sum() > 0.75 * made.truth[untouched].sum()
    # From yeses alone a regression would give every photo the same number.
    best = untouched[np.argsort(-values[untouched], axis=0)[:40]]
    assert np.take_along_axis(made.truth, best, axis=0).mean() > 1.5 * made.truth[untouched].mean()


@pytest.mark.parametrize(
    ("method", "reused"),
    [
        ("smoothed-ridge", ("graph", "choice")),
        ("ridge", ("choice",)),
        pytest.param("sfss", ("graph", "choice"), marks=pytest.mark.medium),
        pytest.param("nova", ("choice",), marks=pytest.mark.medium),
    ],
)
def test_a_second_training_takes_over_what_is_still_right(made_up, method, reused):
    made, cold = made_up(150, 3), made_up(150, 3)
    for one in (made, cold):
        one.say(range(40))
    first = made.project.train(method)
    assert first.reused == ()
    again = made.project.train(method)
    assert again.reused == reused
    assert again.model > first.model
    expected = cold.project.train(method)
    assert expected.reused == ()
    stored, from_scratch = (one.project.store.suggestions.load() for one in (made, cold))
    np.testing.assert_allclose(stored.scores, from_scratch.scores, atol=1e-4)
    np.testing.assert_allclose(stored.thresholds, from_scratch.thresholds, atol=1e-4)


def test_with_other_labels_only_the_graph_is_taken_over(made_up):
    made, cold = made_up(150, 3), made_up(150, 3)
    made.say(range(40))
    made.project.train("smoothed-ridge")
    made.say(range(40, 60))
    assert made.project.train("smoothed-ridge").reused == ("graph",)
    cold.say(range(40))
    cold.say(range(40, 60))
    cold.project.train("smoothed-ridge")
    stored, expected = (one.project.store.suggestions.load().scores for one in (made, cold))
    np.testing.assert_allclose(stored, expected, atol=1e-5)


def test_a_damaged_graph_is_built_anew(made_up):
    made = made_up(100, 3)
    made.say(range(30))
    made.project.train("smoothed-ridge")
    before = made.project.store.suggestions.load().scores
    model = made.project.store.models.active()
    (made.project.folder / "models" / model.file.file).write_bytes(b"damaged")
    assert "graph" not in made.project.train("smoothed-ridge").reused
    np.testing.assert_allclose(made.project.store.suggestions.load().scores, before, atol=1e-6)


def test_entrywise_labels_train_as_the_annotator_does(made_up):
    made = made_up(200, 4)
    generator = np.random.default_rng(0)
    for row in range(19):
        made.say([row], np.flatnonzero(generator.random(4) < 0.8))
    made.project.train("ridge")
    X, labels = _problem(made.project)
    expected = RegularizedLeastSquares().fit(X, labels.Y)
    model = load_model(made.project.store, made.project.store.models.active())
    assert model.strength == expected.regularization_
    np.testing.assert_allclose(model.linear.coef, expected.coef_, atol=1e-8 * np.abs(expected.coef_).max())
