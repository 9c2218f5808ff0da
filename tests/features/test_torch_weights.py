"""The restricted reader against hand-written pickles, good and bad, and the installed weights."""

import hashlib
import io
import pickle
import struct
import zipfile

import numpy as np
import pytest

from tagloom.exceptions import ModelError
from tagloom.features.network.efficientnet import read_state_dict, weights_path

MAGIC = 0x1950A86A20F9469CFC6C


def text(value):
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value):
    return b"J" + struct.pack("<i", value)


def numbers(values):
    return b"(" + b"".join(number(value) for value in values) + b"t"


def tensor(key, n_items, shape, strides, *, offset=0, storage="FloatStorage"):
    """Pickle code of one tensor as torch.save writes it."""
    pid = b"(" + text("storage") + f"ctorch\n{storage}\n".encode() + text(key) + text("cpu") + number(n_items) + b"Nt"
    arguments = pid + b"Q" + number(offset) + numbers(shape) + numbers(strides) + b"\x89ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + arguments + b"tR"


def state_dict(items):
    body = b"".join(text(name) + code for name, code in items.items())
    return b"\x80\x02ccollections\nOrderedDict\n)R(" + body + b"u."


def stream(body, storages, *, magic=MAGIC, version=1001):
    out = io.BytesIO()
    for value in (magic, version, {"protocol_version": 1001, "little_endian": True}):
        pickle.dump(value, out, protocol=2)
    out.write(body)
    pickle.dump(list(storages), out, protocol=2)
    for array in storages.values():
        out.write(struct.pack("<q", array.size) + array.tobytes())
    return out.getvalue()


@pytest.fixture
def write(tmp_path):
    def write_file(data):
        path = tmp_path / "weights.pth"
        path.write_bytes(data)
        return path

    return write_file


def test_tensors_come_back(write):
    values = np.arange(12, dtype="<f4")
    counts = np.array([7], dtype="<i8")
    body = state_dict(
        {
            "plain": tensor("a", 12, (3, 4), (4, 1)),
            "transposed": tensor("a", 12, (4, 3), (1, 4)),
            "tail": tensor("a", 12, (2,), (1,), offset=10),
            "count": tensor("b", 1, (), (), storage="LongStorage"),
        }
    )
    read = read_state_dict(write(stream(body, {"a": values, "b": counts})))
    np.testing.assert_array_equal(read["plain"], values.reshape(3, 4))
    np.testing.assert_array_equal(read["transposed"], values.reshape(3, 4).T)
    np.testing.assert_array_equal(read["tail"], [10, 11])
    assert read["count"] == 7
    assert read["plain"].dtype == np.float32
    assert read["transposed"].flags.c_contiguous
    assert read["plain"].flags.writeable


@pytest.mark.parametrize(
    "code",
    [
        b"cos\nsystem\n(X\x01\x00\x00\x00:tR",
        b"cbuiltins\neval\n(X\x01\x00\x00\x001tR",
        b"ctorch._utils\n_rebuild_parameter\n)R",
        b"ctorch.serialization\nload\n)R",
        b"cnumpy.lib.stride_tricks\nas_strided\n)R",
        b"ccollections\nnamedtuple\n)R",
    ],
)
def test_any_other_name_is_refused(write, code):
    with pytest.raises(ModelError, match="does not need"):
        read_state_dict(write(stream(state_dict({"x": code}), {})))


def test_a_hostile_pickle_runs_nothing(write, tmp_path):
    class Hostile:
        def __reduce__(self):
            return (open, (str(tmp_path / "made"), "w"))

    with pytest.raises(ModelError):
        read_state_dict(write(pickle.dumps(Hostile(), protocol=2)))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((5,), (1,), 0),
        ((2, 2), (1, 3), 0),
        ((2,), (1,), 3),
        ((2,), (-1,), 1),
        ((2,), (1,), -1),
        ((1000, 1000), (0, 0), 0),
        ((2, 2), (1,), 0),
    ],
)
def test_a_tensor_outside_its_storage_is_refused(write, shape, strides, offset):
    body = state_dict({"x": tensor("a", 4, shape, strides, offset=offset)})
    with pytest.raises(ModelError, match=r"does not lie inside|impossible"):
        read_state_dict(write(stream(body, {"a": np.zeros(4, dtype="<f4")})))


def test_not_a_state_dict(write):
    with pytest.raises(ModelError, match="dictionary of tensors"):
        read_state_dict(write(stream(b"\x80\x02K\x01.", {})))
    with pytest.raises(ModelError, match="dictionary of tensors"):
        read_state_dict(write(stream(state_dict({"x": number(1)}), {})))


def test_other_layouts_and_versions(write, tmp_path):
    with zipfile.ZipFile(tmp_path / "new.pth", "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    with pytest.raises(ModelError, match="zip layout"):
        read_state_dict(tmp_path / "new.pth")
    with pytest.raises(ModelError, match="protocol 1001"):
        read_state_dict(write(stream(state_dict({}), {}, version=1002)))
    with pytest.raises(ModelError, match="protocol 1001"):
        read_state_dict(write(stream(state_dict({}), {}, magic=5)))
    with pytest.raises(ModelError, match="cannot read"):
        read_state_dict(tmp_path / "missing.pth")


def test_every_cut_of_a_file_is_a_model_error(write):
    data = stream(state_dict({"x": tensor("a", 4, (2, 2), (2, 1))}), {"a": np.ones(4, dtype="<f4")})
    assert read_state_dict(write(data))["x"].sum() == 4
    for length in range(len(data)):
        with pytest.raises(ModelError):
            read_state_dict(write(data[:length]))


def test_the_installed_weights():
    path = weights_path()
    assert hashlib.sha256(path.read_bytes()).hexdigest().startswith(path.stem.rpartition("-")[2])
    tensors = read_state_dict(path)
    assert tensors["_conv_stem.weight"].shape == (32, 3, 3, 3)
    assert tensors["_fc.weight"].shape == (1000, 1280)
    # 49 convolutions with a batch norm of five tensors each, and the classifier's two.
    assert len(tensors) == 49 * 6 + 2
    assert all(np.isfinite(values).all() for values in tensors.values())
    assert all((values >= 0).all() for name, values in tensors.items() if name.endswith("running_var"))
