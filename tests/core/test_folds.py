import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import cross_val_predict, cross_val_score

from tagloom import LabeledKFold, label_budget
from tagloom.core.labels import labeled_rows
from tagloom.exceptions import InvalidInputError, NothingToScoreError


def _labels(seed, n, c, share):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, c)) < 0.2).astype(np.int8)
    Y[rng.random(n) > share] = -1
    return Y


@given(st.integers(0, 1000), st.integers(4, 40), st.integers(1, 5), st.integers(2, 6))
def test_folds_partition_the_labelled_rows(seed, n, c, n_splits):
    Y = _labels(seed, n, c, 0.6)
    labelled = np.flatnonzero(labeled_rows(Y))
    folds = LabeledKFold(n_splits, random_state=seed)
    if len(labelled) < 2:
        with pytest.raises(NothingToScoreError):
            list(folds.split(None, Y))
        return
    splits = list(folds.split(None, Y))
    assert len(splits) == min(n_splits, len(labelled)) == folds.get_n_splits(None, Y)
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), labelled)
    sizes = [len(test) for _, test in splits]
    assert max(sizes) - min(sizes) <= 1
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))


def test_hidden_labels_keep_every_photo():
    Y = _labels(0, 30, 3, 0.7)
    for hidden, held_out in LabeledKFold(3, random_state=0).split_labels(Y):
        assert (hidden[held_out] == -1).all()
        rest = np.setdiff1d(np.arange(30), held_out)
        np.testing.assert_array_equal(hidden[rest], Y[rest])


def test_rare_tags_are_spread():
    rng = np.random.default_rng(0)
    Y = np.zeros((200, 8), dtype=np.int8)
    for tag in range(8):
        Y[rng.choice(200, 5, replace=False), tag] = 1
    counts = np.array([(Y[test] == 1).sum(axis=0) for _, test in LabeledKFold(5, random_state=0).split(None, Y)])
    assert counts.max() <= 2
    assert (counts == 0).mean() < 0.1


def test_same_seed_same_folds_and_other_seed_other_folds():
    Y = _labels(0, 50, 3, 1.0)
    first, again, other = (
        [test.tolist() for _, test in LabeledKFold(5, random_state=seed).split(None, Y)] for seed in (1, 1, 2)
    )
    assert first == again != other


def test_scikit_learn_takes_it_as_a_splitter():
    Y = _labels(0, 40, 2, 0.8).astype(float)
    scores = cross_val_score(DummyRegressor(), np.zeros((40, 1)), Y, cv=LabeledKFold(4, random_state=0))
    assert len(scores) == 4
    with pytest.raises(ValueError, match="partitions"):
        cross_val_predict(DummyRegressor(), np.zeros((40, 1)), Y, cv=LabeledKFold(4))


@given(st.integers(0, 100), st.integers(1, 30))
def test_budget_keeps_exactly_that_many_rows(seed, n_keep):
    Y = _labels(seed, 40, 4, 1.0)
    for cover in (True, False):
        partial = label_budget(Y, n_keep, random_state=seed, cover_tags=cover)
        kept = labeled_rows(partial)
        assert kept.sum() == n_keep
        np.testing.assert_array_equal(partial[kept], Y[kept])
        assert (partial[~kept] == -1).all()


def test_budget_covers_every_tag_when_it_can():
    Y = np.zeros((100, 10), dtype=np.int8)
    Y[np.arange(10), np.arange(10)] = 1
    assert ((label_budget(Y, 10, random_state=0) == 1).sum(axis=0) == 1).all()
    assert ((label_budget(Y, 0.1, random_state=0, cover_tags=False) == 1).sum(axis=0) == 0).any()


@pytest.mark.parametrize("budget", [0, 0.0, 41, 1.5, -1, True, "2"])
def test_bad_budgets(budget):
    with pytest.raises(InvalidInputError, match="budget"):
        label_budget(np.zeros((40, 1), dtype=int), budget)


def test_share_and_count_are_told_apart():
    Y = np.zeros((40, 1), dtype=int)
    assert labeled_rows(label_budget(Y, 1)).sum() == 1
    assert labeled_rows(label_budget(Y, 1.0)).sum() == 40


def test_bad_number_of_folds():
    with pytest.raises(InvalidInputError, match="n_splits"):
        LabeledKFold(1)
