"""What all metrics have in common: ties, unknown entries, blocks, order, named errors."""

import numpy as np
import pytest

from tagloom import metrics
from tagloom.exceptions import InvalidInputError, InvalidLabelsError, NothingToScoreError
from tagloom.metrics import inputs


def test_blocks_do_not_change_anything(monkeypatch):
    rng = np.random.default_rng(0)
    Y, scores = rng.integers(-1, 2, size=(30, 11)).astype(np.int8), rng.integers(0, 6, size=(30, 11))
    whole = metrics.evaluate(Y, scores)
    monkeypatch.setattr(inputs, "BLOCK_ENTRIES", 40)
    assert metrics.evaluate(Y, scores) == whole


def test_order_of_photos_and_tags_does_not_matter_without_ties():
    rng = np.random.default_rng(1)
    Y, scores = rng.integers(-1, 2, size=(25, 9)).astype(np.int8), rng.normal(size=(25, 9))
    photos, tags = rng.permutation(25), rng.permutation(9)
    first = metrics.evaluate(Y, scores).as_dict()
    second = metrics.evaluate(Y[photos][:, tags], scores[photos][:, tags]).as_dict()
    numbers = [name for name, value in first.items() if not isinstance(value, tuple)]
    assert len(numbers) == 14
    assert [first[name] for name in numbers] == pytest.approx([second[name] for name in numbers], abs=1e-12)


def test_equal_scores_earn_nothing():
    Y = np.array([[1, 0, 0], [0, 1, 0]])
    flat = np.zeros(Y.shape)
    assert metrics.macro_auc(Y, flat) == 0.5
    assert metrics.complete_length(Y, flat) == 3.0
    assert metrics.annotation_accuracy(Y, flat) == 0.0
    assert metrics.break_even_point(Y, flat) == 0.0
    assert metrics.n_recalled_keywords(Y, flat, 1) == 0
    assert metrics.mean_average_precision(Y, flat) == 0.5


def test_scores_at_unknown_entries_are_not_looked_at():
    Y = np.array([[1, 0, -1], [0, 1, 1], [-1, -1, -1]])
    scores = np.array([[0.9, 0.1, np.nan], [0.2, 0.8, 0.7], [np.inf, -np.inf, np.nan]])
    filled = np.where(Y == -1, 0.5, scores)
    assert metrics.evaluate(Y, scores) == metrics.evaluate(Y, filled)


def test_evaluate_gives_each_metric_and_names_what_is_left_out():
    rng = np.random.default_rng(2)
    Y, scores = rng.integers(-1, 2, size=(20, 6)).astype(np.int8), rng.random((20, 6))
    Y[:, 1] = np.where(Y[:, 1] == 1, 0, Y[:, 1])
    Y[:, 3] = 1
    Y[4] = [0, 0, 0, -1, 0, 0]
    Y[5] = -1
    found = metrics.evaluate(Y, scores, 2, thresholds=0.7)
    assert found.mean_average_precision == metrics.mean_average_precision(Y, scores)
    assert found.break_even_point == metrics.break_even_point(Y, scores)
    assert found.keyword_precision == metrics.keyword_precision(Y, scores, 2)
    assert found.keyword_recall == metrics.keyword_recall(Y, scores, 2)
    assert found.n_recalled_keywords == metrics.n_recalled_keywords(Y, scores, 2)
    assert found.complete_length == metrics.complete_length(Y, scores)
    assert found.annotation_accuracy == metrics.annotation_accuracy(Y, scores)
    assert found.macro_auc == metrics.macro_auc(Y, scores)
    assert found.micro_auc == metrics.micro_auc(Y, scores)
    assert found.precision == metrics.precision(Y, scores, 0.7)
    assert found.tags_without_positive == (1,)
    assert found.tags_without_negative == (3,)
    assert (found.n_photos, found.n_tags, found.n_keywords) == (19, 6, 2)
    assert found.n_photos_without_positive == 1 + int(
        ((Y != -1).any(axis=1) & ~(Y == 1).any(axis=1))[np.arange(20) != 4].sum()
    )


def test_areas_are_nan_in_an_evaluation_without_negatives():
    found = metrics.evaluate([[1, -1], [1, 1]], [[0.1, 0.2], [0.3, 0.4]])
    assert np.isnan(found.macro_auc)
    assert np.isnan(found.micro_auc)
    assert found.mean_average_precision == 1.0


EVERY_METRIC = [
    metrics.evaluate,
    metrics.mean_average_precision,
    metrics.macro_auc,
    metrics.micro_auc,
    metrics.break_even_point,
    metrics.complete_length,
    metrics.annotation_accuracy,
    metrics.keyword_precision,
    metrics.keyword_recall,
    metrics.n_recalled_keywords,
    metrics.precision,
]


@pytest.mark.parametrize("metric", EVERY_METRIC)
@pytest.mark.parametrize("entry", [-1, 0])
def test_nothing_to_score_is_a_named_error(metric, entry):
    with pytest.raises(NothingToScoreError, match="nothing can be scored"):
        metric(np.full((3, 2), entry), np.zeros((3, 2)))


@pytest.mark.parametrize("metric", EVERY_METRIC)
def test_wrong_input_is_a_named_error(metric):
    Y = np.array([[1, 0], [0, 1]])
    with pytest.raises(InvalidInputError, match="shape of Y"):
        metric(Y, np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="finite scores"):
        metric(Y, [[np.nan, 0.0], [0.0, 0.0]])
    with pytest.raises(InvalidInputError, match="numeric scores"):
        metric(Y, [["a", "b"], ["c", "d"]])
    with pytest.raises(InvalidLabelsError):
        metric([[2, 0], [0, 1]], np.zeros((2, 2)))
