import numpy as np
import pytest
from onnx import TensorProto, helper

from tagloom.exceptions import ModelError
from tagloom.features.network.runner import OnnxRunner


def doubling_model():
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        "doubling",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def test_runs_bytes_and_files(tmp_path):
    (tmp_path / "doubling.onnx").write_bytes(doubling_model())
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for model in (doubling_model(), tmp_path / "doubling.onnx"):
        runner = OnnxRunner(model, n_threads=1)
        np.testing.assert_array_equal(runner.run("x", x, ["y"])[0], 2 * x)
        assert runner.inputs == {"x": ("tensor(float)", ("n", 2))}
        assert list(runner.outputs) == ["y"]


def test_errors_name_the_model(tmp_path):
    with pytest.raises(ModelError, match="my net cannot be opened"):
        OnnxRunner(b"no model", label="my net")
    with pytest.raises(ModelError, match="my net cannot be opened"):
        OnnxRunner(tmp_path / "missing.onnx", label="my net")
    runner = OnnxRunner(doubling_model(), n_threads=1, label="my net")
    with pytest.raises(ModelError, match=r"my net failed on a batch of shape \(1, 3\)"):
        runner.run("x", np.zeros((1, 3), dtype=np.float32), ["y"])
