"""What several fits on the same photos share changes nothing."""

import numpy as np

from tagloom.core.groups import FeatureGroups
from tagloom.tuning import auto
from tagloom.tuning._shared_fits import SharedFits


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
    for labels, (scores, thresholds) in zip((Y, fewer), found, strict=True):
        alone = auto.AutoAnnotator(FeatureGroups(["deep", "color"], [5, 4]), random_state=0, n_threads=1).fit(X, labels)
        np.testing.assert_array_equal(scores, alone.transduction_)
        np.testing.assert_array_equal(thresholds, alone.thresholds_)
    assert not hasattr(annotator, "n_tags_")


def test_other_methods_are_raced_once_and_again_with_many_more_labels(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6))
    Y = (X[:, :2] > 0.7).astype(np.int8)
    entered, refine = [], auto.refine
    monkeypatch.setattr(
        auto, "refine", lambda on, names, **options: entered.append(names) or refine(on, names, **options)
    )
    fits = SharedFits(auto.AutoAnnotator(also=("harmonic", "svm"), random_state=0), X)
    for n_labelled in (40, 44, 30, 80):
        labels = Y.copy()
        labels[n_labelled:] = -1
        fits.fit(labels)
    assert entered == [("harmonic", "svm"), (), (), ("harmonic", "svm")]
