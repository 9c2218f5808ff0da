import random

import pytest

from tagloom.store.project import ProjectStore


@pytest.fixture
def empty(tmp_path):
    (tmp_path / "photos").mkdir()
    with ProjectStore(tmp_path / "photos" / ".tagloom", tmp_path / "photos") as opened:
        opened.tags.add(["sea", "sky"])
        yield opened


def _said(store):
    """Return {photo: {tag: (state, origin)}} of what stands."""
    now = store.decisions.current()
    found = {}
    for photo, tag, state, origin in zip(now.photo_ids, now.tag_ids, now.states, now.origins, strict=True):
        found.setdefault(int(photo), {})[int(tag)] = (int(state), int(origin))
    return found


def test_a_copy_takes_over_what_was_said_of_a_photo_that_is_gone(empty, scan):
    scan(empty, {b"c1": 1, b"other": 2})
    empty.decisions.decide([1], [1], [1])
    empty.decisions.decide([1], [2], [0], origin="imported")
    scan(empty, {b"c1": 1, b"other": 2, b"backup": 1})
    assert _said(empty) == {1: {1: (1, 0), 2: (0, 1)}}
    changes = scan(empty, {b"other": 2, b"backup": 1})
    assert (changes.missing.tolist(), changes.took_over, changes.batch) == ([1], {3: 1}, 3)
    assert _said(empty) == {1: {1: (1, 0), 2: (0, 1)}, 3: {1: (1, 0), 2: (0, 1)}}
    assert [batch.id for batch in empty.decisions.history(photo=3)] == [3]
    assert empty.check() == []
    # Once is enough, and the photo keeps its own.
    again = scan(empty, {b"other": 2, b"backup": 1})
    assert (again.took_over, again.batch, empty.decisions.count()) == ({}, None, 4)
    back = scan(empty, {b"c1": 1, b"other": 2, b"backup": 1})
    assert (back.back.tolist(), back.took_over) == ([1], {})


def test_what_was_taken_over_is_undone_and_stays_so(empty, scan):
    scan(empty, {b"1": 1, b"backup": 1})
    empty.decisions.decide([1], [1], [1])
    scan(empty, {b"backup": 1})
    empty.decisions.undo()
    assert _said(empty) == {1: {1: (1, 0)}}
    assert scan(empty, {b"backup": 1}).took_over == {}
    empty.decisions.redo()
    assert _said(empty) == {1: {1: (1, 0)}, 2: {1: (1, 0)}}


def test_what_was_said_or_taken_back_of_a_copy_stands(empty, scan):
    scan(empty, {b"1": 1, b"open": 1, b"refused": 1})
    empty.decisions.decide([1], [1], [1])
    empty.decisions.decide([3], [1], [0])
    empty.decisions.undo()
    # A person has looked at a copy that is there: neither that nor another one is given anything.
    assert scan(empty, {b"refused": 1, b"open": 1}).took_over == {}
    assert _said(empty) == {1: {1: (1, 0)}}


def test_of_several_copies_the_namesake_then_the_oldest_takes_over(empty, scan):
    scan(empty, {b"a/x": 1, b"b/y": 1, b"b/x": 1, b"b/z": 1})
    ids = empty.photos.find([b"a/x", b"b/x", b"b/y", b"b/z"])
    empty.decisions.decide([ids[b"a/x"]], [1], [1])
    assert scan(empty, {b"b/y": 1, b"b/x": 1, b"b/z": 1}).took_over == {ids[b"b/x"]: ids[b"a/x"]}
    # When that goes, too, it has one heir: what it had came from the first.
    assert scan(empty, {b"b/y": 1, b"b/z": 1}).took_over == {ids[b"b/y"]: ids[b"b/x"]}


def test_several_photos_give_to_one_copy_each(empty, scan):
    scan(empty, {b"1": 1, b"2": 1, b"3": 1, b"4": 1})
    empty.decisions.decide([1], [1], [1])
    empty.decisions.decide([2], [2], [1])
    assert scan(empty, {b"3": 1, b"4": 1}).took_over == {3: 1, 4: 2}
    assert _said(empty) == {1: {1: (1, 0)}, 2: {2: (1, 0)}, 3: {1: (1, 0)}, 4: {2: (1, 0)}}


def test_a_photo_that_went_missing_before_gives_to_a_copy_as_well(empty, scan):
    scan(empty, {b"unsaid": 1, b"said": 1})
    empty.decisions.decide([2], [1], [1])
    scan(empty, {})
    # The new file is the photo of which nothing was said: that has the lower number.
    changes = scan(empty, {b"new": 1})
    assert (changes.moved.tolist(), changes.took_over) == ([1], {1: 2})
    assert _said(empty)[1] == {1: (1, 0)}


@pytest.mark.parametrize("seed", range(4))
def test_no_label_is_out_of_reach_while_its_content_is_there(empty, scan, seed):
    rng = random.Random(seed)
    names = [f"{number}".encode() for number in range(12)]
    files = {name: rng.randrange(1, 4) for name in names}
    scan(empty, files)
    said = {}
    for content in set(files.values()):
        photo = rng.choice([number for path, number in empty.photos.find(names).items() if files[path] == content])
        said[content] = int(photo)
        empty.decisions.decide([photo], [1], [1])
    for _ in range(6):
        there = dict(rng.sample(sorted(files.items()), rng.randrange(12)))
        scan(empty, there)
        ids = empty.photos.find(names)
        labeled = {content for path, content in there.items() if ids[path] in _said(empty)}
        assert labeled == set(there.values())
