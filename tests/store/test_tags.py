import numpy as np
import pytest

from tagloom.exceptions import DamagedStoreError, InvalidInputError
from tagloom.store.log import ORIGINS


def _texts(store):
    return {tag.text: tag.aliases for tag in store.tags.all()}


def _said(store):
    said = store.decisions.current()
    columns = (said.photo_ids.tolist(), said.tag_ids.tolist(), said.states.tolist(), said.origins.tolist())
    return {(photo, tag): (state, ORIGINS[origin]) for photo, tag, state, origin in zip(*columns, strict=True)}


def test_names_are_one_spelling(store):
    ids = store.tags.add(["a", " a ", "Animals|Birds", "caf\u0065\u0301", "caf\u00e9", "x" * 1000, "p\\|q", "q\"',"])
    assert ids[0] == ids[1] == 1
    assert ids[3] == ids[4]
    assert store.tags.texts(ids[[2, 3, 5, 6, 7]]) == ["Animals|Birds", "caf\u00e9", "x" * 1000, "p\\|q", "q\"',"]
    np.testing.assert_array_equal(store.tags.find(["a", "never", "Animals|Birds"]), [1, 0, ids[2]])
    for bad in ("", "a\x00b", "a||b"):
        with pytest.raises(InvalidInputError):
            store.tags.add([bad])
    with pytest.raises(InvalidInputError, match="no tag has the id 99"):
        store.tags.texts([99])


def test_rename_keeps_the_old_name_as_an_alias(store):
    store.decisions.decide(1, 2, 0)
    store.tags.rename(1, "cat")
    assert _texts(store) == {"b": (), "c": (), "cat": ("a",), "d": ()}
    assert store.tags.add(["a", "cat"]).tolist() == [1, 1]
    store.tags.rename(1, "a")
    assert _texts(store)["a"] == ("cat",)
    for taken in ("b", "a"):
        with pytest.raises(InvalidInputError, match="already"):
            store.tags.rename(1, taken)
    store.decisions.undo()
    store.decisions.undo()
    assert _texts(store) == {"a": (), "b": (), "c": (), "d": ()}
    store.decisions.redo()
    assert _texts(store)["cat"] == ("a",)
    assert store.check() == []


def test_a_name_of_which_nothing_stands_can_be_taken(store):
    mistyped = store.decisions.decide(1, 2, 1)
    store.decisions.decide(3, 1, 1)
    with pytest.raises(InvalidInputError, match="merge the two instead"):
        store.tags.rename(1, "b")
    store.decisions.undo(mistyped)
    store.tags.rename(1, "b")
    assert _texts(store) == {"b": ("a",), "c": (), "d": ()}
    said = store.decisions.current()
    assert (said.photo_ids.tolist(), said.tag_ids.tolist(), said.states.tolist()) == ([3], [2], [1])
    store.decisions.undo()
    assert _texts(store) == {"a": (), "b": (), "c": (), "d": ()}
    assert store.decisions.current().tag_ids.tolist() == [1]
    assert store.check() == []


def test_merge_says_of_the_other_what_was_said_of_one(store):
    store.decisions.decide([1, 2, 3, 4], 1, [1, 0, 1, 0])
    store.decisions.decide([1, 2, 5], 2, [0, 1, 1])
    store.decisions.decide([3, 4], 2, [0, 1], origin="imported")
    store.tags.merge(1, 2)
    said = store.decisions.current()
    assert dict(zip(said.photo_ids.tolist(), said.states.tolist(), strict=True)) == {1: 1, 2: 1, 3: 1, 4: 1, 5: 1}
    assert set(said.tag_ids.tolist()) == {2}
    assert said.origins.tolist() == [0, 0, 0, 1, 0]
    assert _texts(store) == {"b": ("a",), "c": (), "d": ()}
    assert store.tags.find(["a"]).tolist() == [2]
    store.decisions.decide(9, 1, 1)
    assert store.decisions.current(tag_ids=[2]).photo_ids.tolist() == [1, 2, 3, 4, 5, 9]
    store.tags.merge(2, 3)
    assert _texts(store) == {"c": ("a", "b"), "d": ()}
    for _ in range(3):
        store.decisions.undo()
    said = store.decisions.current(tag_ids=[1])
    assert dict(zip(said.photo_ids.tolist(), said.states.tolist(), strict=True)) == {1: 1, 2: 0, 3: 1, 4: 0}
    assert _texts(store) == {"a": (), "b": (), "c": (), "d": ()}
    assert store.check() == []


SAID = [(state, origin) for state in (1, 0) for origin in ("human", "imported", "suggested")]


def _expected(first, second):
    """Return what the merged tag is to be where the tag that goes is ``first`` and the one that stays ``second``."""
    if second is None:
        return first
    persons = [item for item in (second, first) if item[1] != "imported"]
    if second[0] != first[0]:
        overturned = first[0] == 1 and (first in persons or second not in persons)
        return first if overturned else second
    return persons[0] if persons else second


@pytest.mark.parametrize("second", [None, *SAID])
@pytest.mark.parametrize("first", SAID)
def test_a_no_to_a_merged_tag_is_no_no_to_the_other(store, first, second):
    store.decisions.decide(1, 1, first[0], origin=first[1])
    if second is not None:
        store.decisions.decide(1, 2, second[0], origin=second[1])
    before = _said(store)
    store.tags.merge(1, 2)
    found = _said(store)
    assert found == {(1, 2): _expected(first, second)}
    store.decisions.undo()
    assert _said(store) == before
    store.decisions.redo()
    assert _said(store) == found
    store.decisions.decide(1, 1, 0)  # a statement about the merged tag, by either name
    assert _said(store) == {(1, 2): (0, "human")}
    assert store.check() == []


def test_a_no_to_a_merged_tag_is_no_no_to_what_the_photo_has_by_an_implication(store):
    store.tags.imply(3, 2)
    store.decisions.decide([1, 2], 1, 0)
    store.decisions.decide(1, 3, 1)
    before = _said(store)
    store.tags.merge(1, 2)
    _, _, Y = store.decisions.labels([1, 2], [2])
    assert Y.ravel().tolist() == [1, 0]
    store.decisions.undo()
    assert _said(store) == before


def test_what_a_merge_stands_in_the_way_of(store):
    first = store.decisions.decide(1, 1, 1)
    merge = store.tags.merge(1, 2)
    with pytest.raises(InvalidInputError, match="merged into another one since"):
        store.decisions.undo(first)
    with pytest.raises(InvalidInputError, match="was merged"):
        store.tags.rename(1, "x")
    with pytest.raises(InvalidInputError, match="undo the merge first"):
        store.tags.rename(2, "a")
    store.decisions.undo(merge)
    store.decisions.decide(2, 1, 1)
    with pytest.raises(InvalidInputError, match="undo the merge first"):
        store.decisions.redo(merge)
    assert _texts(store) == {"a": (), "b": (), "c": (), "d": ()}
    assert store.check() == []


def test_aliases(store):
    assert store.tags.alias("kitty", 1) is not None
    assert store.tags.alias("kitty", 1) is None
    assert store.tags.add(["kitty"]).tolist() == [1]
    for name in ("kitty", "a"):
        with pytest.raises(InvalidInputError, match="merge the two tags"):
            store.tags.alias(name, 2)
    store.decisions.undo()
    (new,) = store.tags.add(["kitty"])
    assert new == 5
    with pytest.raises(InvalidInputError, match="changed since"):
        store.decisions.redo()


def test_implications_have_no_rings(store):
    store.tags.imply(1, 2)
    assert store.tags.imply(1, 2) is None
    store.tags.imply(2, 3)
    np.testing.assert_array_equal(store.tags.closure(), [[1, 2], [1, 3], [2, 3]])
    np.testing.assert_array_equal(store.tags.implications(), [[1, 2], [2, 3]])
    for child, parent in ((3, 1), (2, 1), (1, 1)):
        with pytest.raises(InvalidInputError, match="cannot imply"):
            store.tags.imply(child, parent)
    with pytest.raises(InvalidInputError, match="cannot become one tag"):
        store.tags.merge(1, 3)
    assert store.tags.closure().shape == (3, 2)
    store.tags.merge(1, 2)
    np.testing.assert_array_equal(store.tags.closure(), [[2, 3]])
    store.decisions.undo()
    np.testing.assert_array_equal(store.tags.implications(), [[1, 2], [2, 3]])
    store.tags.forget_implication(1, 2)
    np.testing.assert_array_equal(store.tags.closure(), [[2, 3]])
    with pytest.raises(InvalidInputError, match="no implication says"):
        store.tags.forget_implication(1, 2)


def test_an_undone_implication_cannot_close_a_ring(store):
    batch = store.tags.imply(1, 2)
    store.decisions.undo()
    store.tags.imply(2, 1)
    with pytest.raises(InvalidInputError, match="changed since"):
        store.decisions.redo(batch)
    np.testing.assert_array_equal(store.tags.closure(), [[2, 1]])


def test_a_merge_takes_implications_along(store):
    store.tags.imply(1, 3)
    store.tags.imply(4, 1)
    store.tags.merge(1, 2)
    np.testing.assert_array_equal(store.tags.closure(), [[2, 3], [4, 2], [4, 3]])
    store.decisions.undo()
    np.testing.assert_array_equal(store.tags.implications(), [[1, 3], [4, 1]])


def test_counts(store):
    store.decisions.decide([1, 2, 3], 1, [1, 1, 0])
    assert [(tag.text, tag.n_yes, tag.n_no) for tag in store.tags.all()][:2] == [("a", 2, 1), ("b", 0, 0)]


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_the_labels_that_are_learnt_from_and_exported(store, seed):
    rng = np.random.default_rng(seed)
    for child, parent in ((1, 2), (2, 3), (4, 3))[: seed + 1]:
        store.tags.imply(child, parent)
    photos, tags = (axis.ravel() for axis in np.meshgrid(np.arange(1, 13), np.arange(1, 5)))
    store.decisions.decide(photos, tags, rng.choice([1, 0, -1], len(photos), p=[0.2, 0.2, 0.6]))
    _, ids, Y = store.decisions.labels()
    counts = {tag.id: (tag.n_yes, tag.n_no) for tag in store.tags.all()}
    assert counts == {tag: (int((Y[:, k] == 1).sum()), int((Y[:, k] == 0).sum())) for k, tag in enumerate(ids.tolist())}


def test_a_photo_counts_for_what_its_tag_implies(store):
    store.decisions.decide([1, 2], 1, 1)
    store.tags.imply(1, 3)
    assert {tag.text: tag.n_yes for tag in store.tags.in_use()} == {"a": 2, "c": 2}


def test_case_and_unicode_form_make_no_difference_and_the_first_spelling_wins(store):
    dog, cafe = store.tags.add(["Dog", "caf\u00e9"]).tolist()
    assert store.tags.add(["DOG", "dog", "CAFE\u0301", "Zebra", "zebra"]).tolist()[:3] == [dog, dog, cafe]
    zebra = store.tags.find(["ZEBRA"]).tolist()
    assert store.tags.texts(zebra) == ["Zebra"]
    store.tags.alias("Hund", dog)
    assert store.tags.find(["hund"]).tolist() == [dog]
    store.tags.rename(dog, "dog")
    assert store.tags.texts([dog]) == ["dog"]
    assert store.tags.find(["Dog", "DOG"]).tolist() == [dog, dog]


def test_a_spelling_that_was_taken_back_does_not_stick(store):
    (door,) = store.tags.add(["DOOR"]).tolist()
    assert store.tags.add(["Door"]).tolist() == [door]
    assert store.tags.texts([door]) == ["DOOR"]  # nothing is decided yet, as in the middle of an import
    batch = store.decisions.decide([1], door, 1)
    assert store.tags.add(["Door"]).tolist() == [door]
    assert store.tags.texts([door]) == ["DOOR"]
    store.decisions.undo(batch)
    assert store.tags.find(["door"]).tolist() == [door]
    assert store.tags.add(["Door"]).tolist() == [door]
    assert store.tags.texts([door]) == ["Door"]


def test_a_list_is_split_into_its_tags_and_undo_brings_it_back(store):
    (listed,) = store.tags.add(["plane, sky"]).tolist()
    store.decisions.decide([1, 2], listed, 1)
    store.decisions.decide(3, listed, 0, origin="imported")
    store.decisions.decide(4, listed, 0)
    (sky,) = store.tags.add(["sky"]).tolist()
    store.decisions.decide(2, sky, 0)
    before = _said(store)
    store.tags.split(listed, ["plane", "Sky"])
    (plane,) = store.tags.find(["plane"]).tolist()
    assert _said(store) == {
        (1, plane): (1, "human"),
        (1, sky): (1, "human"),
        (2, plane): (1, "human"),
        (2, sky): (0, "human"),
        (3, plane): (0, "imported"),
        (3, sky): (0, "imported"),
    }
    store.decisions.undo()
    assert _said(store) == before
    assert store.check() == []
    with pytest.raises(InvalidInputError, match="cannot split"):
        store.tags.split(listed, ["plane, sky"])


def test_tags_merged_in_a_circle_are_damage(store):
    with store.database.write() as connection:
        connection.execute("UPDATE tags SET merged = 3 - id WHERE id IN (1, 2)")
    with pytest.raises(DamagedStoreError, match="in a circle"):
        store.tags.find(["a"])
