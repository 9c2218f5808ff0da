"""What several fits on the same photos share changes nothing."""

import numpy as np

from tagloom.core.groups import FeatureGroups
from tagloom.methods.shared.out_of_fold import known_means, stable_folds
from tagloom.metrics import average_precision
from tagloom.tuning.auto import annotator as auto
from tagloom.tuning.evaluation.evaluation import SharedFits


def test_an_annotator_that_chooses_gets_its_views_once_and_gives_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(80, 9))).astype(np.float32)
    Y = (X[:, :2] > 0.7).astype(np.int8)
    Y[40:] = -1
    fewer = Y.copy()
    fewer[20:] = -1
    annotator = auto.AutoAnnotator(FeatureGroups(["deep", "color"], [5, 4]), random_state=0, n_threads=1)
    made, make = [], auto.PhotoViews
    monkeypatch.setattr(auto, "PhotoViews", lambda *given, **options: made.append(1) or make(*given, **options))
    fits = SharedFits(annotator, X)
    found = [fits.fit(labels) for labels in (Y, fewer)]
    assert len(made) == 1
    for labels, fit in zip((Y, fewer), found, strict=True):
        alone = auto.AutoAnnotator(FeatureGroups(["deep", "color"], [5, 4]), random_state=0, n_threads=1).fit(X, labels)
        np.testing.assert_array_equal(fit.scores, alone.transduction_)
        np.testing.assert_array_equal(fit.thresholds, alone.thresholds_)
        np.testing.assert_array_equal(fit.probabilities, alone.probabilities_)
        n_yes, n_known = (labels == 1).sum(axis=0), (labels != -1).sum(axis=0)
        np.testing.assert_allclose(fit.comparable, alone.scores_ - (n_yes + 0.5) / (n_known + 1), atol=1e-12)
    assert not hasattr(annotator, "n_tags_")


def test_hidden_examples_of_rare_tags_are_not_ranked_low_because_their_fit_has_fewer():
    rng = np.random.default_rng(1)
    kind = np.repeat(np.arange(60), 8)
    X = rng.normal(size=(60, 8))[kind] + 0.6 * rng.normal(size=(480, 8))
    truth = (kind[:, None] == np.arange(60)).astype(np.int8)
    labelled = rng.permutation(480)[:120]
    Y = np.full_like(truth, -1)
    Y[labelled] = truth[labelled]
    fits = SharedFits(auto.AutoAnnotator(random_state=0), X)
    ranked, log_odds = np.zeros(Y.shape), np.zeros(Y.shape)
    for test in stable_folds(X, Y):
        hidden = Y.copy()
        hidden[test] = -1
        found = fits.fit(hidden)
        ranked[test] = found.comparable[test]
        log_odds[test] = (found.scores - known_means(found.scores, hidden))[test]
    tags = (Y == 1).sum(axis=0) >= 2
    figures = [average_precision(Y[labelled], one[labelled])[tags].mean() for one in (ranked, log_odds)]
    assert figures[0] > figures[1] + 0.05
    # Within one fit both rank alike.
    photos = np.setdiff1d(np.arange(480), labelled)
    np.testing.assert_array_equal(
        np.argsort(found.comparable[photos, 0], kind="stable"), np.argsort(found.scores[photos, 0], kind="stable")
    )
