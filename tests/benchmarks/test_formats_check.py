import json

from benchmarks.formats.check import TARGETS, example_photos, without_twins, write_exports
from tagloom.metadata.formats import ReadOptions, available_exporters, read_statements


def test_what_other_programs_have_to_find_is_what_our_readers_find(tmp_path):
    photos = example_photos()
    write_exports(tmp_path, photos)
    expected = json.loads((tmp_path / "expected.json").read_text("utf-8"))
    assert set(TARGETS) == set(available_exporters())
    for name in set(TARGETS) - {"parquet"}:
        options = ReadOptions(include_suggested=True)
        reading = read_statements(tmp_path / TARGETS[name], [p.photo for p in photos], format=name, options=options)
        found = {said.photo.decode(): sorted(keyword.text for keyword in said.yes) for said in reading.statements}
        assert {photo: found.get(photo, []) for photo in expected} == expected


def test_twins_differ_in_the_extension_alone():
    names = {photo.photo for photo in example_photos()}
    assert names - {photo.photo for photo in without_twins(example_photos())} == {b"a.png"}
