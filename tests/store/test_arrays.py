import json

import numpy as np
import pytest
from safetensors.numpy import save

from tagloom.exceptions import DamagedStoreError, InvalidInputError, NewerFormatError
from tagloom.store.arrays import load_arrays, read_arrays, save_arrays, write_arrays
from tagloom.store.folder import ProjectFolder


def test_round_trip(tmp_path):
    arrays = {
        "flags": np.array([True, False]),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "strided": np.arange(10, dtype=np.int16)[::3],
        "swapped": np.arange(4, dtype=">f4"),
        "scalar": np.float64(1.5),
        "empty": np.empty((0, 3), dtype=np.float32),
        "half": np.ones(3, dtype=np.float16),
    }
    info = {"names": ["a", "ü", "\n"], "nested": {"x": 1.25, "none": None}}
    written = save_arrays(tmp_path / "m.safetensors", arrays, info)
    found, found_info = load_arrays(tmp_path / "m.safetensors", written)
    assert found_info == info
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == np.asarray(array).dtype.newbyteorder("=")
        assert found[name].shape == np.asarray(array).shape


@pytest.mark.parametrize(
    "bad", [np.array(["text"]), np.array([{}], dtype=object), np.array([1j]), np.datetime64("2020")]
)
def test_only_numbers(tmp_path, bad):
    with pytest.raises(InvalidInputError, match="booleans, integers or floats"):
        save_arrays(tmp_path / "m", {"x": bad})
    with pytest.raises(InvalidInputError, match="finite"):
        save_arrays(tmp_path / "m", {}, {"x": float("nan")})
    with pytest.raises(InvalidInputError, match="expected text"):
        save_arrays(tmp_path / "m", {}, {"x": object()})
    assert list(tmp_path.iterdir()) == []


def test_damage_is_noticed(tmp_path):
    path = tmp_path / "m.safetensors"
    written = save_arrays(path, {"x": np.arange(100)}, {"a": 1})
    good = path.read_bytes()
    for position in range(0, len(good), 37):
        data = bytearray(good)
        data[position] ^= 4
        path.write_bytes(data)
        with pytest.raises(DamagedStoreError):
            load_arrays(path, written)
    for data in (b"", good[:-1], good[:20], b"\xff" * 50, save({"x": np.arange(3)})):
        path.write_bytes(data)
        with pytest.raises(DamagedStoreError):
            load_arrays(path)
    path.unlink()
    with pytest.raises(DamagedStoreError, match="cannot be read"):
        load_arrays(path)


def test_a_newer_file_is_refused(tmp_path):
    data = save({"x": np.arange(3)}, metadata={"format": "2", "info": json.dumps({})})
    (tmp_path / "m").write_bytes(data)
    with pytest.raises(NewerFormatError, match="format 2"):
        load_arrays(tmp_path / "m")


def test_arrays_of_a_large_file_are_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr("tagloom.store.arrays.MAPPED_BYTES", 100)
    monkeypatch.setattr("tagloom.store.arrays.WRITTEN_BYTES", 64)
    arrays = {
        "half": np.arange(21, dtype=np.float16).reshape(7, 3),
        "turned": np.asfortranarray(np.arange(60.0).reshape(20, 3)),
        "flags": np.arange(9) % 2 == 0,
        "none": np.empty((0, 4), dtype=np.float32),
    }
    folder = ProjectFolder(tmp_path / "project")
    written = write_arrays(folder, "models", arrays, {"name": "ü"})
    path = tmp_path / "project" / "models" / written.file
    for found, info in (read_arrays(folder, "models", written), load_arrays(path, written)):
        assert info == {"name": "ü"}
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype
    with pytest.raises(ValueError, match="read-only"):
        read_arrays(folder, "models", written)[0]["half"][0] = 0
    path.write_bytes(path.read_bytes()[:-1] + b"\x07")
    with pytest.raises(DamagedStoreError, match="does not have the content"):
        read_arrays(folder, "models", written)
    path.write_bytes(b"")
    with pytest.raises(DamagedStoreError, match="cannot be read"):
        read_arrays(folder, "models", written)
