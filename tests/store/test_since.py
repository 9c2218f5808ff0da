import random

import pytest


def _states(store):
    now = store.decisions.current()
    return dict(zip(zip(now.photo_ids.tolist(), now.tag_ids.tolist(), strict=True), now.states.tolist(), strict=True))


def _n_different(before, after):
    return sum(before.get(pair, -1) != after.get(pair, -1) for pair in before.keys() | after.keys())


@pytest.mark.parametrize("seed", range(3))
def test_changed_states_are_counted_and_not_records(store, seed):
    rng = random.Random(seed)
    moments = []
    for _ in range(40):
        moments.append((store.decisions.count(), _states(store)))
        action = rng.choice(["decide"] * 3 + ["undo", "redo"])
        if action == "decide":
            photos = [rng.randint(1, 4) for _ in range(3)]
            store.decisions.decide(photos, [rng.randint(1, 3) for _ in photos], [rng.randint(-1, 1) for _ in photos])
        else:
            getattr(store.decisions, action)()
    now = _states(store)
    for number, before in moments:
        assert store.decisions.changed_since(number) == _n_different(before, now)


def test_an_action_taken_back_is_none(store):
    assert (store.decisions.latest(), store.decisions.actions_since(0)) == (0, 0)
    first = store.decisions.decide([1], [1], [1])
    second = store.decisions.decide([2], [1], [1])
    assert store.decisions.actions_since(0) == 2
    assert store.decisions.actions_since(first) == 1
    store.decisions.undo(second)
    assert (store.decisions.actions_since(0), store.decisions.actions_since(first)) == (1, 0)
    moment = store.decisions.latest()
    store.decisions.redo(second)
    assert (store.decisions.actions_since(moment), store.decisions.actions_since(first)) == (1, 1)
    store.decisions.undo(second)
    assert store.decisions.actions_since(moment) == 0


def test_an_undo_counts_if_something_stands_again(store):
    store.decisions.decide([1], [1], [1])
    second = store.decisions.decide([1], [1], [0])
    moment = store.decisions.latest()
    store.decisions.undo(second)
    assert store.decisions.actions_since(moment) == 1
    moment = store.decisions.latest()
    store.decisions.undo(1)
    assert store.decisions.actions_since(moment) == 0


def test_photos_decided_since(store):
    first = store.decisions.decide([1, 2], [1, 1], [1, 1])
    store.decisions.decide([3], [1], [1])
    assert store.decisions.photos_since(0) == {1, 2, 3}
    assert store.decisions.photos_since(first) == {3}
    assert store.decisions.photos_since(store.decisions.latest()) == set()
    store.decisions.undo(first)
    assert store.decisions.photos_since(2) == {1, 2}
    store.tags.rename(1, "other")
    assert store.decisions.photos_since(2) is None
