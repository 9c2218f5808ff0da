"""The published description: a sample is the files of a tar with one name up to its first dot, next to each other."""

import io
import json
import re
import tarfile

from hypothesis import given
from hypothesis import strategies as st

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords, Statement
from tagloom.metadata.formats import export_keywords, read_statements
from tagloom.metadata.formats.exporting import sample_key

SEA = Keyword.flat("sea")
LONG = b"x" * 240 + b".jpg"


@given(st.sets(st.binary(min_size=1, max_size=300), max_size=5))
def test_keys_are_safe_and_tell_photos_apart(names):
    keys = {sample_key(name) for name in names}
    assert len(keys) == len(names)
    for key in keys:
        assert re.fullmatch(r"[A-Za-z0-9_%/-]+", key)
        assert all(len(part) <= 255 - len(".json") for part in key.split("/"))


def test_long_names_that_begin_alike():
    assert sample_key(LONG) != sample_key(LONG.replace(b".jpg", b".png"))


def test_members(tmp_path):
    photos = [PhotoKeywords(name, 4, 3, (SEA,), ()) for name in (b"p/a.b.jpg", b"p/a.b.png", LONG, b"caf\xe9.jpg")]
    export_keywords(photos, tmp_path / "k.tar", format="webdataset")
    with tarfile.open(tmp_path / "k.tar") as archive:
        members = archive.getmembers()
        records = [json.load(archive.extractfile(member)) for member in members]
    keys = [re.fullmatch(r"((?:.*/|)[^.]+)[.]([^/]*)", member.name).groups() for member in members]
    assert len(set(keys)) == 4
    assert {extension for _, extension in keys} == {"json"}
    assert records[0]["file"] == "p/a.b.jpg"
    assert records[3]["file"] == "bytes://caf%E9.jpg"


def test_shards_of_others(tmp_path):
    with tarfile.open(tmp_path / "k.tar", "w") as archive:
        for name, data in {
            "a.jpg": b"\xff\xd8",
            "a.json": b'{"tags": ["sea"]}',
            "b.json": b"[" * 100_000,
            "c.json": b"\xff",
            "d.json": b'{"caption": "a dog"}',
        }.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    reading = read_statements(tmp_path / "k.tar", [b"a.jpg", b"b.jpg", b"c.jpg", b"d.jpg"])
    assert reading.statements == (Statement(b"a.jpg", (SEA,)),)
    assert [line.split(":")[0] for line in reading.problems] == [f"k.tar, member '{name}.json'" for name in "bcd"]


def test_what_is_no_archive(tmp_path):
    (tmp_path / "k.tar").write_bytes(b"no archive" * 100)
    reading = read_statements(tmp_path / "k.tar", [b"a.jpg"])
    assert "expected a tar file" in reading.problems[0]
