"""Sidecars that tagloom and other programs change in turn: nothing comes back, and nothing is lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.core.keywords import Keyword
from tagloom.metadata.sidecar_plan import describe, plan_sidecar
from tagloom.metadata.xmp_read import FieldRecord, fields_of, read_fields, read_xmp
from tagloom.metadata.xmp_tree import parse_xmp
from tests.metadata.programs import (
    EMPTY,
    darktable_reads,
    darktable_writes,
    digikam_reads,
    digikam_writes,
    flat_program_writes,
    items,
)

pytestmark = pytest.mark.medium

SEA, LAKE, HERON, EGRET = ("sea",), ("lake",), ("Animals", "heron"), ("Animals", "egret")
ROME, ROOT = ("Places", "Italy", "Rome"), ("Rome",)
BAND = ("AC/DC",)
PROGRAMS = {"darktable": (darktable_reads, darktable_writes), "digikam": (digikam_reads, digikam_writes)}


def keywords(paths):
    return [Keyword(path) for path in paths]


def paths(some):
    return {keyword.path for keyword in some}


def reading(packet, known):
    return read_fields(fields_of(parse_xmp(packet)), known)


def imported(packet, known):
    """Return what is remembered once the project has taken over what a file says."""
    found = reading(packet, known)
    return FieldRecord(found.items, frozenset(found.keywords))


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_another_program_changed_stands(program):
    reads, writes = PROGRAMS[program]
    theirs = writes(None, {LAKE, HERON})
    ours = plan_sidecar(theirs, add=keywords([SEA, ROME]))
    assert reads(ours.after) == {LAKE, HERON, SEA, ROME}
    # Deleted, renamed, added, and one branch of a hierarchy taken out.
    changed = writes(ours.after, reads(ours.after) - {SEA, HERON, ROME} | {EGRET, ("Places", "France")})
    found = reading(changed, ours.record)
    expected = {LAKE, EGRET, ("Places", "France")}
    assert paths(found.keywords) == expected
    assert (paths(found.added), paths(found.removed)) == (expected - {LAKE}, {SEA, HERON, ROME})
    # A write that still asks for them brings none of them back, and takes them out of the field that was left behind.
    again = plan_sidecar(changed, add=keywords([SEA, ROME]), known=ours.record)
    assert reads(again.after) == expected
    assert paths(read_xmp(again.after)) == expected
    assert sum("is not written again" in note for note in again.notes) == 2
    assert (again.added, again.removed) == ((), ())
    # Unless a person asked for it after that.
    assert paths(plan_sidecar(changed, add=keywords([SEA]), known=ours.record, again=keywords([SEA])).added) == {SEA}


def test_the_dry_run_lists_every_item_of_every_field():
    ours = plan_sidecar(None, add=keywords([SEA, HERON]))
    changed = darktable_writes(ours.after, {SEA, EGRET})
    plan = plan_sidecar(changed, add=keywords([SEA]), known=ours.record)
    assert describe(plan, "x.xmp").splitlines() == [
        "x.xmp: changed, 2 kept",
        "  digiKam:TagsList: + Animals/egret  - Animals/heron",
    ]


def test_the_last_keyword_goes_for_digikam_too():
    theirs = digikam_writes(None, {HERON})
    gone = plan_sidecar(theirs, remove=keywords([HERON]))
    assert digikam_reads(gone.after) == set()
    assert not any(items(gone.after).values())
    # The same if darktable took it out, which leaves the fields of digiKam as they were.
    known = reading(theirs, None).record
    left = darktable_writes(theirs, set())
    assert digikam_reads(left) == {HERON}
    assert reading(left, known).keywords == ()
    assert digikam_reads(plan_sidecar(left, known=known).after) == set()


def test_digikam_empties_a_sidecar():
    ours = plan_sidecar(None, add=keywords([SEA, HERON]))
    found = reading(EMPTY, ours.record)
    assert (found.keywords, paths(found.removed)) == ((), {SEA, HERON})
    plan = plan_sidecar(EMPTY, add=keywords([SEA, HERON]), known=ours.record)
    assert (plan.changes, len(plan.notes)) == (False, 2)
    plan = plan_sidecar(EMPTY, add=keywords([SEA, HERON, LAKE]), known=ours.record, again=keywords([LAKE]))
    assert paths(read_xmp(plan.after)) == {LAKE}
    for whole in (EMPTY + b'<?xpacket end="w"?>', EMPTY + b" " * 2000 + b'<?xpacket end="r"?>\n\0\0'):
        assert paths(reading(whole, ours.record).removed) == {SEA, HERON}


def test_a_keyword_that_digikam_cannot_spell_is_the_same_one_after_digikam():
    ours = plan_sidecar(None, add=keywords([BAND, ("<b>x</b>",), ("Music", "AC/DC", "live"), SEA]))
    shown = digikam_reads(ours.after)
    assert shown == {("AC\\DC",), ("<b>x<\\b>",), ("Music", "AC\\DC", "live"), SEA}
    saved = digikam_writes(ours.after, shown - {SEA} | {LAKE})
    found = reading(saved, ours.record)
    assert paths(found.keywords) == {BAND, ("<b>x</b>",), ("Music", "AC/DC", "live"), LAKE}
    assert (paths(found.added), paths(found.removed)) == ({LAKE}, {SEA})
    assert not plan_sidecar(saved, add=found.keywords, known=ours.record).changes
    assert digikam_reads(plan_sidecar(saved, remove=keywords([BAND]), known=ours.record).after) == {
        ("<b>x<\\b>",),
        ("Music", "AC\\DC", "live"),
        LAKE,
    }


def test_a_bar_in_a_name_is_no_level_where_digikam_says_so():
    packet = digikam_writes(None, {("a|b",), HERON})
    assert paths(read_xmp(packet)) == {("a|b",), HERON}
    after = plan_sidecar(packet, add=keywords([SEA])).after
    assert paths(read_xmp(after)) == {("a|b",), HERON, SEA}
    assert digikam_reads(after) == {("a|b",), HERON, SEA}


def test_a_root_tag_beside_a_level_of_its_name():
    ours = plan_sidecar(darktable_writes(None, {ROME, ROOT}), add=keywords([SEA]))
    assert darktable_reads(ours.after) == {ROME, ROOT, SEA}
    without_root = darktable_writes(ours.after, {ROME, SEA})
    assert paths(reading(without_root, ours.record).keywords) == {ROME, SEA}
    without_branch = darktable_writes(ours.after, {ROOT, SEA})
    assert paths(reading(without_branch, ours.record).keywords) == {ROOT, SEA}
    assert darktable_reads(plan_sidecar(without_branch, add=keywords([SEA]), known=ours.record).after) == {ROOT, SEA}


def test_a_program_that_knows_names_alone():
    ours = plan_sidecar(None, add=keywords([SEA, ROME, HERON]))
    names = {"sea", "Places", "Italy", "Rome", "Animals", "heron"}
    changed = flat_program_writes(ours.after, names - {"Rome", "sea"} | {"new"})
    found = reading(changed, ours.record)
    assert paths(found.keywords) == {HERON, ("new",)}
    after = plan_sidecar(changed, add=keywords([SEA, ROME, HERON]), known=ours.record).after
    assert paths(read_xmp(after)) == {HERON, ("new",)}
    # digiKam has last levels in that field, and no other: they are no names that anyone took out.
    saved = digikam_writes(ours.after, digikam_reads(ours.after))
    assert reading(saved, ours.record).removed == frozenset()
    # A program that drops the fields it does not know has not taken their keywords out.
    stripped = flat_program_writes(None, names - {"sea"})
    assert paths(reading(stripped, ours.record).keywords) == {ROME, HERON}


def test_what_was_gone_stays_gone_though_a_field_still_has_it():
    ours = plan_sidecar(None, add=keywords([SEA, HERON]))
    left = darktable_writes(ours.after, {SEA})
    seen = imported(left, ours.record)
    assert paths(reading(left, seen).keywords) == {SEA}
    later = reading(darktable_writes(left, {SEA, LAKE}), seen)
    assert (paths(later.keywords), paths(later.added), later.removed) == ({SEA, LAKE}, {LAKE}, frozenset())
    back = reading(darktable_writes(left, {SEA, HERON}), seen)
    assert paths(back.added) == {HERON}


def test_what_others_did_is_remembered_until_an_import():
    """A write that changes the file for another reason forgets neither what others took out nor what they added."""
    ours = plan_sidecar(None, add=keywords([SEA, HERON]))
    changed = darktable_writes(ours.after, {SEA, LAKE})
    asked = {"add": keywords([SEA, HERON, EGRET]), "remove": keywords([LAKE])}
    second = plan_sidecar(changed, **asked, known=ours.record, again=keywords([EGRET]))
    assert paths(read_xmp(second.after)) == {SEA, LAKE, EGRET}
    third = plan_sidecar(second.after, **asked, known=FieldRecord.from_dict(second.record.as_dict()))
    assert not third.changes
    assert len(third.notes) == 2
    found = reading(second.after, second.record)
    assert (paths(found.added), paths(found.removed)) == ({LAKE}, {HERON})
    known = imported(second.after, second.record)
    assert paths(plan_sidecar(second.after, **asked, known=known).kept) == {SEA, EGRET}


def test_without_a_record_what_the_last_writer_left_behind_does_not_count():
    # digiKam keeps all fields in step: the two that agree were written later, by a program that leaves the others.
    left = darktable_writes(digikam_writes(None, {SEA, HERON, ROME}), {SEA, LAKE, ROME})
    assert paths(reading(left, None).keywords) == {SEA, LAKE, ROME}
    plan = plan_sidecar(left, add=keywords([EGRET]))
    assert digikam_reads(plan.after) == darktable_reads(plan.after) == {SEA, LAKE, ROME, EGRET}
    assert {each.label: each.removed for each in plan.fields}["digiKam:TagsList"] == ("Animals/heron",)


def test_without_a_record_every_field_counts_that_may_be_the_last_one():
    packet = digikam_writes(None, {SEA, HERON})
    assert paths(reading(flat_program_writes(packet, {"sea", "new"}), None).keywords) == {SEA, HERON, ("new",)}
    assert paths(reading(packet.replace(b"TagsList", b"Other"), None).keywords) == {SEA, HERON}
    assert paths(reading(packet.replace(b"hierarchicalSubject", b"other"), None).keywords) == {SEA, HERON}


def test_a_record_is_kept_as_json():
    record = plan_sidecar(None, add=keywords([SEA, BAND, HERON])).record
    again = FieldRecord.from_dict(record.as_dict())
    assert again.as_dict() == record.as_dict()
    assert FieldRecord.from_dict({"flat": []}) is None


few = st.sets(st.lists(st.sampled_from("ABC"), min_size=1, max_size=3).map(tuple), max_size=4)
edits = st.lists(st.tuples(st.sampled_from(["tagloom", "darktable", "digikam"]), few), max_size=5)


@settings(deadline=None, max_examples=150)
@given(few, edits)
def test_whoever_saves_last_all_agree(start, steps):
    first = plan_sidecar(None, add=keywords(start))
    packet, known = first.after, first.record
    for who, wanted in steps:
        now = reading(packet, known) if packet is not None else None
        there = paths(now.keywords) if now else set()
        if who == "tagloom":
            plan = plan_sidecar(
                packet, keywords(wanted - there), keywords(there - wanted), known=known, again=keywords(wanted | there)
            )
            packet, known = plan.after, plan.record
        else:
            # It shows what its own fields say, and a person changes that to what is wanted.
            packet = PROGRAMS[who][1](packet, wanted)
            known = imported(packet, known)
        if packet is not None:
            assert paths(reading(packet, known).keywords) == wanted
