import random
import threading

import apsw
import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.store.project import ProjectStore

ORIGINS = ("human", "imported", "suggested")


class Model:
    """The same log in plain Python: what stands is a replay of the batches that are not undone."""

    def __init__(self):
        self.batches = []  # (kind, rows, merge, target)
        self.off = set()

    def replay(self, off=None):
        off = self.off if off is None else off
        states, merged = {}, {}
        for number, (_, rows, merge, _) in enumerate(self.batches, 1):
            if number in off:
                continue
            for photo, tag, state, origin in rows:
                states[photo, tag] = (state, origin)
            if merge:
                merged[merge[0]] = merge[1]
        return {pair: value for pair, value in states.items() if value[0] != -1}, merged

    def final(self, tag):
        _, merged = self.replay()
        while tag in merged:
            tag = merged[tag]
        return tag

    def add(self, kind, rows=(), merge=None, target=None):
        self.batches.append((kind, list(rows), merge, target))

    def merge(self, tag, into):
        states, _ = self.replay()
        rows = []
        for (photo, label), (state, origin) in states.items():
            if label != tag:
                continue
            other, other_origin = states.get((photo, into), (-1, "imported"))
            person, other_person = origin != "imported", other_origin != "imported"
            if (state, person) > (other, other_person) and person >= other_person:
                rows.append((photo, into, state, origin))
            rows.append((photo, tag, -1, origin))
        self.add("tags", rows, (tag, into))

    def turned(self, number, kind):
        """Return the set of undone batches after an undo or redo, or None if that must be refused."""
        what, rows, merge, _ = self.batches[number - 1]
        if what in ("undo", "redo") or (number in self.off) != (kind == "redo"):
            return None
        _, merged = self.replay()
        if merge and kind == "redo" and (merge[0] in merged or merge[1] in merged):
            return None
        off = self.off ^ {number}
        states, merged = self.replay(off)
        if kind == "undo" and any(tag in merged for _, tag, _, _ in rows):
            return None
        return None if any(tag in merged for _, tag in states) else off

    def last(self, kind):
        actions = [n for n, item in enumerate(self.batches, 1) if item[0] in ("decide", "tags")]
        if kind == "undo":
            return max((n for n in actions if n not in self.off), default=None)
        undos = [(n, item[3]) for n, item in enumerate(self.batches, 1) if item[0] == "undo" and item[3] in self.off]
        if not undos or max(actions) > undos[-1][0]:
            return None
        return undos[-1][1]


def _compare(store, model):
    states, _ = model.replay()
    said = store.decisions.current()
    found = {
        (int(photo), int(tag)): (int(state), ORIGINS[origin])
        for photo, tag, state, origin in zip(said.photo_ids, said.tag_ids, said.states, said.origins, strict=True)
    }
    assert found == states
    history = store.decisions.history(1000)
    assert [batch.kind for batch in reversed(history)] == [item[0] for item in model.batches]
    assert {batch.id for batch in history if batch.undone} == model.off


def _step(store, model, rng):
    action = rng.choice(["decide"] * 4 + ["undo", "undo", "redo", "undo any", "redo any", "merge"])
    if action == "decide":
        rows = [(rng.randint(1, 5), rng.randint(1, 4), rng.choice((1, 1, 0, -1))) for _ in range(rng.randint(1, 6))]
        origin = rng.choice(ORIGINS)
        store.decisions.decide(*zip(*rows, strict=True), origin=origin)
        model.add("decide", [(photo, model.final(tag), state, origin) for photo, tag, state in rows])
    elif action == "merge":
        tag, into = rng.sample(range(1, 5), 2)
        _, merged = model.replay()
        if tag in merged or into in merged:
            with pytest.raises(InvalidInputError, match="merged"):
                store.tags.merge(tag, into)
        else:
            store.tags.merge(tag, into)
            model.merge(tag, into)
    else:
        kind = action.split()[0]
        number = rng.randint(1, len(model.batches)) if "any" in action and model.batches else model.last(kind)
        if number is None:
            assert getattr(store.decisions, kind)() is None
            return
        off = model.turned(number, kind)
        target = number if "any" in action else None
        if off is None:
            with pytest.raises(InvalidInputError):
                getattr(store.decisions, kind)(target)
        else:
            assert getattr(store.decisions, kind)(target).id == number
            model.add(kind, target=number)
            model.off = off


@pytest.mark.parametrize(("seed", "journal"), [(0, "wal"), (1, "wal"), (2, "delete")], indirect=["journal"])
def test_random_sequences_agree_with_a_plain_replay(store, seed):
    _play(store, seed, 60)


@pytest.mark.medium
@pytest.mark.parametrize("seed", range(10, 22))
def test_more_random_sequences_agree_with_a_plain_replay(store, seed):
    _play(store, seed, 150)


def _play(store, seed, n_steps):
    rng = random.Random(seed)
    model = Model()
    for _ in range(n_steps):
        _step(store, model, rng)
        _compare(store, model)
    assert store.check() == []
    assert model.off


def test_the_log_is_only_added_to(store):
    store.decisions.decide(1, 1, 1)
    connection = store.database.connection
    for sql in (
        "UPDATE decisions SET state = 0",
        "DELETE FROM decisions",
        "UPDATE batches SET n = 0",
        "DELETE FROM batches",
    ):
        with pytest.raises(apsw.ConstraintError, match="only added"):
            connection.execute(sql)


def test_broadcasting_order_and_history(store):
    batch = store.decisions.decide([3, 1, 2], 2, [1, 0, 1], who="Ada", label="three")
    assert store.decisions.decide([], 2, 1) is None
    said = store.decisions.current()
    np.testing.assert_array_equal(said.photo_ids, [1, 2, 3])
    np.testing.assert_array_equal(said.states, [0, 1, 1])
    (entry,) = store.decisions.history()
    assert (entry.id, entry.label, entry.who, entry.n, entry.undone) == (batch, "three", "Ada", 3, False)
    assert store.decisions.history(photo=5) == []
    assert [item.id for item in store.decisions.history(photo=3)] == [batch]
    assert len(store.decisions.current(tag_ids=[1]).states) == 0
    np.testing.assert_array_equal(store.decisions.current(tag_ids=[2], photo_ids=[3, 9]).photo_ids, [3])
    assert store.decisions.undoable().id == batch
    assert store.decisions.count() == 3


def test_the_last_state_of_a_pair_stands(store):
    store.decisions.decide([1, 1, 1, 2, 2], 1, [1, 0, 1, 1, -1])
    said = store.decisions.current()
    assert (said.photo_ids.tolist(), said.states.tolist()) == ([1], [1])
    assert store.check() == []


def test_an_import_keeps_what_a_person_said(store):
    store.decisions.decide([1, 2], 1, 1)
    store.decisions.decide([3], 1, 1, origin="imported")
    store.decisions.decide([1, 2, 3, 4], 1, 0, origin="imported", keep=("human", "suggested"))
    said = store.decisions.current()
    np.testing.assert_array_equal(said.states, [1, 1, 0, 0])
    np.testing.assert_array_equal(said.origins, [0, 0, 1, 1])
    assert store.decisions.decide([1, 3], 1, [1, 0], origin="imported", keep=("human",), skip_same=True) is None
    assert store.decisions.decide([1, 12], 1, [1, -1], skip_same=True) is None
    assert store.decisions.decide([3], 1, 0, skip_same=True) is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 99], 1, 1), "1 of 2 photos do not exist; the first has id 99"),
        ((1, 99, 1), "tags do not exist"),
        ((1, 1, 2), "states must be 1, 0 or -1"),
        (([1, 2], [1, 2, 3], 1), "equally long"),
        (("x", 1, 1), "whole numbers"),
        ((1.5, 1, 1), "whole numbers"),
    ],
)
def test_nonsense_is_refused_and_leaves_nothing(store, arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        store.decisions.decide(*arguments)
    with pytest.raises(InvalidInputError, match="origin"):
        store.decisions.decide(1, 1, 1, origin="dog")
    assert store.decisions.count() == 0
    assert store.decisions.history() == []


def test_undo_of_what_cannot_be_undone(store):
    first = store.decisions.decide(1, 1, 1)
    store.decisions.undo()
    with pytest.raises(InvalidInputError, match="undone already"):
        store.decisions.undo(first)
    with pytest.raises(InvalidInputError, match="'undo'"):
        store.decisions.undo(first + 1)
    with pytest.raises(InvalidInputError, match="no action has the number"):
        store.decisions.undo(77)
    assert store.decisions.undo() is None
    store.decisions.decide(2, 1, 1)
    assert store.decisions.redo() is None
    assert store.decisions.redo(first).id == first
    np.testing.assert_array_equal(store.decisions.current().photo_ids, [1, 2])


def test_hostile_words_in_labels(store):
    store.decisions.decide(1, 1, 1, who="\udcff", label="a'; DROP TABLE decisions; --\x00\n")
    assert store.decisions.history()[0].label.startswith("a'; DROP")
    assert store.decisions.current().states.tolist() == [1]


def _literal_labels(said, photos, tags, implications):
    ancestors = {}
    for tag in tags:
        above, todo = set(), [tag]
        while todo:
            here = todo.pop()
            for child, parent in implications:
                if child == here and parent not in above:
                    above.add(parent)
                    todo.append(parent)
        ancestors[tag] = above
    Y = []
    for photo in photos:
        row = []
        for tag in tags:
            state = said.get((photo, tag), -1)
            if state == -1 and any(said.get((photo, child)) == 1 and tag in ancestors[child] for child in tags):
                state = 1
            if state == -1 and any(said.get((photo, parent)) == 0 for parent in ancestors[tag]):
                state = 0
            row.append(state)
        Y.append(row)
    return Y


@pytest.mark.parametrize("seed", range(2))
def test_labels_with_what_they_imply(store, seed):
    rng = np.random.default_rng(seed)
    store.tags.imply(1, 2)
    store.tags.imply(2, 3)
    store.tags.imply(4, 3)
    photos, tags = rng.integers(1, 9, 15), rng.integers(1, 5, 15)
    states = rng.integers(0, 2, 15)
    store.decisions.decide(photos, tags, states)
    said = dict(zip(zip(photos.tolist(), tags.tolist(), strict=True), states.tolist(), strict=True))
    rows, columns, Y = store.decisions.labels([5, 2, 1, 12], [3, 1, 2, 4])
    expected = _literal_labels(said, [5, 2, 1, 12], [3, 1, 2, 4], [(1, 2), (2, 3), (4, 3)])
    np.testing.assert_array_equal(Y, expected)
    assert Y.dtype == np.int8
    np.testing.assert_array_equal(rows, [5, 2, 1, 12])
    np.testing.assert_array_equal(store.decisions.labels([2, 5, 2], [3, 3])[2], Y[[1, 0, 1]][:, [0, 0]])
    _, columns, Y = store.decisions.labels(implied=False)
    assert (Y != -1).sum() == len(said)
    np.testing.assert_array_equal(columns, np.unique(tags))


def test_labels_of_nothing(store):
    rows, columns, Y = store.decisions.labels()
    assert (len(rows), len(columns), Y.shape) == (0, 0, (0, 0))
    store.tags.imply(1, 2)
    store.decisions.decide(7, 1, 1)
    rows, columns, Y = store.decisions.labels()
    assert (rows.tolist(), columns.tolist(), Y.tolist()) == ([7], [1, 2], [[1, 1]])


def test_the_digest_follows_the_labels(store):
    before = store.decisions.labels_digest()
    store.decisions.decide(1, 1, 1)
    after = store.decisions.labels_digest()
    assert after != before
    store.decisions.undo()
    assert store.decisions.labels_digest() == before
    store.decisions.redo()
    assert store.decisions.labels_digest() == after


def test_several_calls_in_one_transaction(store):
    def half():
        with store.transaction():
            store.decisions.decide(1, 1, 1)
            store.runs.record_import("x", "maybe", "00")

    with pytest.raises(InvalidInputError, match="absent_means"):
        half()
    assert store.decisions.count() == 0
    with store.transaction():
        store.decisions.decide(1, 1, 1)
        with pytest.raises(InvalidInputError):
            store.tags.merge(1, 1)
    assert store.decisions.count() == 1


def test_threads_share_a_store(store):
    def work(photo):
        for state in (1, 0) * 5:
            store.decisions.decide(photo, [1, 2], state)

    threads = [threading.Thread(target=work, args=(photo,)) for photo in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.decisions.count() == 4 * 10 * 2
    assert store.check() == []


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
def test_another_store_sees_decisions_at_once(store, tmp_path):
    with ProjectStore(store.folder) as other:
        store.decisions.decide(3, 1, 1)
        assert other.decisions.current().photo_ids.tolist() == [3]
        other.decisions.undo()
        assert len(store.decisions.current().states) == 0


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_lists_and_arrays_are_the_same(store, kind):
    number = store.decisions.decide(kind([3, 1, 1]), kind([2, 2, 1]), 1)
    store.decisions.decide(kind([1]), 2, kind([0]))
    said = store.decisions.current()
    assert (said.photo_ids.tolist(), said.tag_ids.tolist(), said.states.tolist()) == ([1, 1, 3], [1, 2, 2], [1, 0, 1])
    assert store.decisions.batch(number).n == 3
    assert store.decisions.decide(kind([]), 1, 1) is None
    with pytest.raises(InvalidInputError, match=r"equally long .*\[2, 3, 1\]"):
        store.decisions.decide(kind([1, 2]), kind([1, 2, 3]), 1)
    for wrong in (kind([1.5]), kind([True]), kind([[1]])):
        with pytest.raises(InvalidInputError, match="photo_ids must be a row of whole numbers"):
            store.decisions.decide(wrong, 1, 1)
