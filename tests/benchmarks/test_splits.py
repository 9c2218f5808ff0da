import numpy as np
import pytest

from benchmarks.datasets import Dataset, toy
from benchmarks.errors import BenchmarkError
from benchmarks.splits import conditions, draw_split


def test_lists_are_swept_in_the_order_of_the_file_and_named_for_people():
    found = conditions({"labeled": [0.02, 0.25], "n_train": 10})
    assert found == [("2 %", {"labeled": 0.02, "n_train": 10}), ("25 %", {"labeled": 0.25, "n_train": 10})]
    assert conditions({"see_test": True}) == [("all", {"see_test": True})]
    assert [name for name, _ in conditions({"labeled": [5], "k": [1, 2]})] == ["labeled 5, k 1", "labeled 5, k 2"]


def test_transductive_scores_exactly_the_rows_without_labels():
    split = draw_split(toy(n_rows=50), "transductive", {"labeled": 0.2}, seed=1)
    assert len(split.labeled_rows) == 10
    assert np.array_equal(np.union1d(split.labeled_rows, split.evaluate["unlabeled"]), np.arange(50))
    assert not np.intersect1d(split.labeled_rows, split.evaluate["unlabeled"]).size


def test_train_test_never_shows_the_novel_rows():
    split = draw_split(toy(n_rows=60), "train_test", {"n_train": 40, "labeled": 0.25}, seed=1)
    assert (len(split.fit_rows), len(split.labeled_rows)) == (40, 10)
    assert len(split.evaluate["novel"]) == 20
    assert not np.intersect1d(split.fit_rows, split.evaluate["novel"]).size
    assert np.isin(split.evaluate["unlabeled"], split.fit_rows).all()


def test_a_sample_is_all_that_is_seen_and_its_rows_without_labels_are_scored():
    split = draw_split(toy(n_rows=60), "sampled", {"n_rows": 40, "labeled": 10}, seed=1)
    assert (len(split.fit_rows), len(split.labeled_rows)) == (40, 10)
    assert list(split.evaluate) == ["unlabeled"]
    assert np.array_equal(np.union1d(split.labeled_rows, split.evaluate["unlabeled"]), split.fit_rows)
    assert len(split.evaluate["unlabeled"]) == 30


def test_cover_gives_every_tag_a_labelled_positive():
    dataset = Dataset(np.zeros((200, 1)), np.eye(20, dtype=np.int8)[np.arange(200) % 20])
    covered = draw_split(dataset, "transductive", {"labeled": 20, "cover": True}, seed=0)
    assert dataset.Y[covered.labeled_rows].any(axis=0).all()


def test_given_uses_the_datasets_own_test_part():
    dataset = toy(n_rows=40)
    seen = draw_split(dataset, "given", {"see_test": True}, seed=0)
    unseen = draw_split(dataset, "given", {"see_test": False}, seed=0)
    assert np.array_equal(seen.evaluate["unlabeled"], unseen.evaluate["novel"])
    assert (len(seen.fit_rows), len(unseen.fit_rows)) == (40, 30)


def test_per_class_takes_so_many_of_each():
    Y = np.eye(3, dtype=np.int8)[np.repeat([0, 1, 2], [10, 10, 6])]
    split = draw_split(Dataset(np.zeros((26, 1)), Y), "per_class", {"labeled": 2, "unlabeled": 3, "novel": 4}, seed=0)
    assert Y[split.labeled_rows].sum(axis=0).tolist() == [2, 2, 2]
    assert Y[split.evaluate["unlabeled"]].sum(axis=0).tolist() == [3, 3, 3]
    assert Y[split.evaluate["novel"]].sum(axis=0).tolist() == [4, 4, 1]


@pytest.mark.parametrize(("labeled", "per_tag"), [(0.1, {1}), (0.25, {2, 3}), (1.0, {10})])
def test_balanced_labels_every_class_alike_and_scores_all_others(labeled, per_tag):
    Y = np.eye(4, dtype=np.int8)[np.repeat([0, 1, 2, 3], [15, 14, 15, 15])]
    split = draw_split(Dataset(np.zeros((59, 1)), Y), "balanced", {"per_class": 10, "labeled": labeled}, seed=3)
    assert Y[split.fit_rows].sum(axis=0).tolist() == [10] * 4
    assert set(Y[split.labeled_rows].sum(axis=0).tolist()) == per_tag
    assert len(split.labeled_rows) == 40 * labeled
    assert np.isin(split.labeled_rows, split.fit_rows).all()
    assert Y[split.evaluate["novel"]].sum(axis=0).tolist() == [5, 4, 5, 5]
    unlabeled = split.evaluate.get("unlabeled", np.empty(0, int))
    assert np.array_equal(np.union1d(unlabeled, split.labeled_rows), split.fit_rows)


def test_balanced_refuses_a_class_without_a_label():
    with pytest.raises(BenchmarkError, match="each of 2 classes"):
        draw_split(
            Dataset(np.zeros((8, 1)), np.eye(2, dtype=np.int8)[np.arange(8) % 2]),
            "balanced",
            {"per_class": 4, "labeled": 0.1},
            seed=0,
        )


def test_draws_depend_on_the_seed_alone():
    dataset = toy()
    first, again, other = (draw_split(dataset, "transductive", {"labeled": 9}, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first.labeled_rows, again.labeled_rows)
    assert not np.array_equal(first.labeled_rows, other.labeled_rows)


def test_an_unknown_scheme_is_named():
    with pytest.raises(BenchmarkError, match="'sideways'"):
        draw_split(toy(), "sideways", {}, seed=0)


def test_covered_training_rows_have_every_tag_and_the_others_are_scored():
    Y = np.zeros((100, 6), np.int8)
    Y[np.arange(100), np.r_[np.arange(5), np.full(95, 5)]] = 1
    dataset = Dataset(np.zeros((100, 1)), Y)
    first, other = (draw_split(dataset, "covered", {"n_train": 20}, seed=seed) for seed in (0, 1))
    assert Y[first.fit_rows].any(axis=0).all()
    assert np.array_equal(first.fit_rows, first.labeled_rows)
    assert (len(first.fit_rows), len(first.evaluate["novel"])) == (20, 80)
    assert not np.intersect1d(first.fit_rows, first.evaluate["novel"]).size
    assert not np.array_equal(first.fit_rows, other.fit_rows)
