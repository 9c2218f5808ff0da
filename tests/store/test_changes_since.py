import random

import pytest

from tagloom.store.writes import Intent


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
    assert (store.decisions.latest(), len(store.decisions.actions_since(0))) == (0, 0)
    first = store.decisions.decide([1], [1], [1])
    second = store.decisions.decide([2], [1], [1])
    assert len(store.decisions.actions_since(0)) == 2
    assert len(store.decisions.actions_since(first)) == 1
    store.decisions.undo(second)
    assert (len(store.decisions.actions_since(0)), len(store.decisions.actions_since(first))) == (1, 0)
    moment = store.decisions.latest()
    store.decisions.redo(second)
    assert (len(store.decisions.actions_since(moment)), len(store.decisions.actions_since(first))) == (1, 1)
    store.decisions.undo(second)
    assert len(store.decisions.actions_since(moment)) == 0


def test_an_undo_counts_if_something_stands_again(store):
    store.decisions.decide([1], [1], [1])
    second = store.decisions.decide([1], [1], [0])
    moment = store.decisions.latest()
    store.decisions.undo(second)
    assert len(store.decisions.actions_since(moment)) == 1
    moment = store.decisions.latest()
    store.decisions.undo(1)
    assert len(store.decisions.actions_since(moment)) == 0


def test_what_is_taken_back_counts_if_it_was_written(store):
    """Only what tagloom wrote itself is taken out of a file when nothing is said of it any more."""
    store.decisions.decide([1, 2], [1, 1], [1, 1])
    (number,) = store.writes.intend(store.writes.begin(), [Intent(b"/1.xmp", None, "0" * 64, 1, '{"paths": ["a"]}')])
    moment = store.decisions.latest()
    store.decisions.undo(1)
    assert len(store.decisions.actions_since(moment)) == 0
    store.writes.done([number])
    assert len(store.decisions.actions_since(moment)) == 1
    store.decisions.redo(1)
    assert len(store.decisions.actions_since(moment)) == 0


def test_noes_and_other_names_change_no_keyword(store):
    moment = store.decisions.latest()
    store.decisions.decide([1, 2], [1, 1], [0, 0])
    store.decisions.decide([3], [2], [1])
    store.decisions.decide([3], [2], [0])
    store.tags.alias("another name", 1)
    assert len(store.decisions.actions_since(moment)) == 0
    store.decisions.decide([1], [1], [1])
    assert len(store.decisions.actions_since(moment)) == 2  # the no and the yes of one pair
    moment = store.decisions.latest()
    store.decisions.decide([1], [1], [0])
    assert len(store.decisions.actions_since(moment)) == 1


def test_a_rename_counts_if_a_photo_has_the_tag_and_it_is_not_renamed_back(store):
    store.tags.rename(2, "nobody's")
    assert len(store.decisions.actions_since(0)) == 0
    store.decisions.decide([1], [1], [1])
    moment = store.decisions.latest()
    (old,) = store.tags.texts([1])
    first = store.tags.rename(1, "new")
    assert len(store.decisions.actions_since(moment)) == 1
    second = store.tags.rename(1, old)
    assert len(store.decisions.actions_since(moment)) == 0
    store.decisions.undo(second)
    assert len(store.decisions.actions_since(moment)) == 1
    moment = store.decisions.latest()
    store.decisions.undo(first)
    assert len(store.decisions.actions_since(moment)) == 1
    store.decisions.redo(first)
    assert len(store.decisions.actions_since(moment)) == 0


def test_actions_that_concern_some_photos(store):
    first = store.decisions.decide([1, 2], [1, 1], [1, 1])
    second = store.decisions.decide([3], [2], [1])
    renamed = store.tags.rename(2, "new")
    above = store.tags.imply(1, 3)
    idle = store.tags.imply(4, 3)
    named = store.tags.rename(3, "wide")
    since = store.decisions.actions_since
    assert idle not in since(0)
    assert since(0) == {first, second, renamed, above, named}
    assert since(0, [3]) == since(0, without=[1, 2]) == {second, renamed}
    assert since(0, [1]) == since(0, [1, 2], without=[2]) == {first, above, named}
    assert since(second, [1, 3]) == {renamed, above, named}
    assert since(0, [4]) == since(0, []) == set()


@pytest.mark.parametrize("seed", range(2))
def test_photos_that_had_a_label_at_a_moment(store, seed):
    rng = random.Random(seed)
    moments = []
    for _ in range(30):
        moments.append((store.decisions.count(), {photo for photo, _ in _states(store)}))
        action = rng.choice(["decide"] * 3 + ["undo", "redo"])
        if action == "decide":
            photos = [rng.randint(1, 6) for _ in range(2)]
            store.decisions.decide(photos, [rng.randint(1, 3) for _ in photos], [rng.randint(-1, 1) for _ in photos])
        else:
            getattr(store.decisions, action)()
    for number, before in moments:
        assert store.decisions.labeled_at(number) == before


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
