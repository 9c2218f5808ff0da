"""Import files that are attacks: one line, little memory, and an end."""

import io
import json
import os
import tarfile

import pytest

from tagloom.exceptions import LabelsFileError
from tagloom.images.limited import CallLimits
from tagloom.metadata.formats import limited_reading, read_statements

pytestmark = [pytest.mark.limited, pytest.mark.medium]
PHOTOS = [b"a.jpg", b"b.jpg"]


def header(name: bytes = b"a.json", size: bytes = b"00000000000\0", kind: bytes = b"0") -> bytes:
    """Return a header of a tar member with the size as it is written."""
    block = bytearray(name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + size + b"00000000000\0")
    block += b"        " + kind + b"\0" * 100 + b"ustar\x0000"
    block = block.ljust(512, b"\0")
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    return bytes(block)


def negative(n_bytes: int) -> bytes:
    return b"\xff" * 4 + (2**64 - n_bytes).to_bytes(8, "big")


def huge(n_bytes: int) -> bytes:
    return b"\x80" + n_bytes.to_bytes(11, "big")


TARS = {
    "a member that ends before it begins": header(b"a.json") + header(b"b.json", negative(1024)) + b"\0" * 1024,
    "a member that leads to itself": header(b"a.json", negative(512)) + b"\0" * 1024,
    "a name of many bytes": header(b"././@LongLink", huge(2**80), b"L") + b"x" * 512,
    "a name of fewer bytes than none": header(b"././@LongLink", negative(2**40), b"L") + b"x" * 512,
    "a header of many bytes": header(b"x", huge(2**80), b"x") + b"11 path=x\n".ljust(512, b"\0"),
    "a sparse map without end": header(b"x", kind=b"S")[:482] + b"\1" * 30,
    "names that name names": header(b"././@LongLink", b"00000000001\0", b"L") * 3000,
    "a long name": header(b"././@LongLink", b"00001000000\0", b"L") + b"n" * 0o1000000 + header() + b"\0" * 1024,
}


@pytest.mark.parametrize("case", TARS)
def test_a_hostile_archive_is_one_problem(tmp_path, case):
    (tmp_path / "shard.tar").write_bytes(TARS[case])
    reading = read_statements(tmp_path / "shard.tar", PHOTOS)
    assert not reading.statements
    assert reading.problems
    assert "\n" not in reading.problems[-1]
    assert len(reading.problems[-1]) < 1000


def test_a_small_table_of_many_rows_is_refused(tmp_path, pyarrow):
    from pyarrow import parquet

    names = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 5_000_000, pyarrow.int32()), ["a.jpg"])
    parquet.write_table(pyarrow.table({"file": names, "tags": names}), tmp_path / "many.parquet")
    assert (tmp_path / "many.parquet").stat().st_size < 100_000
    with pytest.raises(LabelsFileError, match="claims 5,000,000 rows"):
        read_statements(tmp_path / "many.parquet", PHOTOS)


def test_a_small_table_of_many_values_in_a_row_is_refused(tmp_path, pyarrow):
    from pyarrow import parquet

    table = pyarrow.table({"file": ["a.jpg"], "tags": [["cat"] * 20_000_000]})
    parquet.write_table(table, tmp_path / "long.parquet", compression="zstd")
    assert (tmp_path / "long.parquet").stat().st_size < 100_000
    with pytest.raises(LabelsFileError, match="claims 20,000,000 values"):
        read_statements(tmp_path / "long.parquet", PHOTOS)


def test_a_small_table_that_takes_much_memory_is_refused(tmp_path, monkeypatch, pyarrow):
    from pyarrow import parquet

    text = pyarrow.array(["x" * (64 << 20)])
    wide = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 20_000, pyarrow.int32()), text)
    table = pyarrow.table({"file": ["a.jpg"] * 20_000, "tags": wide})
    parquet.write_table(table, tmp_path / "wide.parquet", compression="zstd")
    monkeypatch.setattr(limited_reading, "MEMORY", 1 << 30)
    with pytest.raises(LabelsFileError, match=r"wide\.parquet could not be read: "):
        read_statements(tmp_path / "wide.parquet", PHOTOS)


def test_what_takes_too_long_is_one_error(tmp_path, monkeypatch):
    (tmp_path / "labels.csv").write_text("file,tags\na.jpg,cat\n")
    monkeypatch.setattr(limited_reading, "SECONDS", 0.001)
    with pytest.raises(LabelsFileError, match=r"labels\.csv could not be read: it takes more than"):
        read_statements(tmp_path / "labels.csv", PHOTOS)


def test_limits_grow_with_what_is_read(tmp_path, monkeypatch):
    (tmp_path / "Annotations").mkdir()
    text = "<annotation><filename>a.jpg</filename><object><name>cat</name></object></annotation>"
    for number in range(20):
        (tmp_path / "Annotations" / f"{number}.xml").write_text(text)
    (tmp_path / "huge.jpg").write_bytes(b"x" * 100_000)
    given = []
    monkeypatch.setattr(limited_reading, "CallLimits", lambda **limits: given.append(limits) or CallLimits(**limits))
    assert read_statements(tmp_path, PHOTOS).statements
    assert given[-1]["memory"] == limited_reading.MEMORY + 8 * 20 * len(text)
    monkeypatch.setattr(limited_reading, "LARGEST", 10)
    assert read_statements(tmp_path, PHOTOS).statements
    assert given[-1]["memory"] == limited_reading.MEMORY + 80


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
@pytest.mark.parametrize(
    "name", ["labels.csv", "labels.json", "shard.tar", "annotations.xml", "table.parquet", "other"]
)
@pytest.mark.parametrize("format", [None, "csv", "webdataset"])
def test_a_pipe_is_no_file(tmp_path, name, format):
    os.mkfifo(tmp_path / name)
    with pytest.raises(LabelsFileError, match="is a named pipe; expected a file"):
        read_statements(tmp_path / name, PHOTOS, format=format)


def test_a_device_is_no_file():
    if not os.path.exists("/dev/zero"):
        pytest.skip("no devices on this system")
    with pytest.raises(LabelsFileError, match="is a device; expected a file"):
        read_statements("/dev/zero", PHOTOS, format="csv")


@pytest.mark.parametrize("n_characters", [10_001, 100 << 20])
def test_a_tag_without_end_is_one_line(tmp_path, n_characters):
    with open(tmp_path / "tags.jsonl", "w") as handle:
        json.dump({"file": "a.jpg", "tags": ["x" * n_characters]}, handle)
    reading = read_statements(tmp_path / "tags.jsonl", PHOTOS)
    (problem,) = reading.problems
    assert "at most 10,000 characters" in problem
    assert len(problem) < 300


def test_what_is_said_comes_whole_through_the_process(tmp_path):
    with tarfile.open(tmp_path / "shard.tar", "w") as archive:
        for key, value in (
            ("a", {"tags": ["cat", "A|B"], "not_tags": ["dog"]}),
            ("b", {"tags": []}),
            ("c", "no object"),
        ):
            data = json.dumps(value).encode()
            member = tarfile.TarInfo(f"{key}.json")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    reading = read_statements(tmp_path / "shard.tar", PHOTOS)
    assert reading.format == "webdataset"
    assert [(item.photo, [k.text for k in item.yes], [k.text for k in item.no]) for item in reading.statements] == [
        (b"a.jpg", ["cat", "A|B"], ["dog"]),
        (b"b.jpg", [], []),
    ]
    (problem,) = reading.problems
    assert problem.startswith("shard.tar, member 'c.json': expected an object")
