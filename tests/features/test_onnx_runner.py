import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from tagloom.exceptions import InvalidInputError, ModelError
from tagloom.features import get_descriptor
from tagloom.features.network.runner import OnnxRunner, find_device


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


@pytest.fixture
def pretend(monkeypatch):
    """Return a function that lets onnxruntime claim providers, which start or not; the processor does their work."""
    real, batches = onnxruntime.InferenceSession, []

    class Session:
        def __init__(self, model, *, sess_options, providers):
            self.providers = providers
            self.session = real(model, sess_options=sess_options, providers=["CPUExecutionProvider"])

        def get_providers(self):
            return [one for one in self.providers if one not in dead]

        def run(self, names, feeds):
            batches.append(next(iter(feeds.values())).shape)
            return self.session.run(names, feeds)

        def __getattr__(self, name):
            return getattr(self.session, name)

    dead = set()

    def make(*providers, starts=True):
        dead.clear()
        dead.update(() if starts else providers)
        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [*providers, "CPUExecutionProvider"])
        monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
        batches.clear()
        return batches

    return make


def test_the_device_is_what_the_installed_onnxruntime_has(pretend):
    pretend("CUDAExecutionProvider", "CoreMLExecutionProvider")
    assert [find_device(name) for name in ("auto", "cuda", "coreml", "cpu")] == ["cuda", "cuda", "coreml", "cpu"]
    with pytest.raises(ModelError, match=r"no DmlExecutionProvider.*device = cpu"):
        find_device("directml")
    with pytest.raises(InvalidInputError, match="one of auto, cuda"):
        find_device("tpu")
    assert OnnxRunner(doubling_model(), device="auto").device == "cuda"
    pretend("CoreMLExecutionProvider")
    assert find_device("auto") == "cpu"


def test_a_device_that_does_not_start_is_an_error_if_it_was_named(pretend):
    pretend("CUDAExecutionProvider", starts=False)
    assert OnnxRunner(doubling_model(), device="auto").device == "cpu"
    with pytest.raises(ModelError, match="my net cannot run on cuda"):
        OnnxRunner(doubling_model(), device="cuda", label="my net")


def test_another_device_gets_photos_of_one_shape_at_once(pretend, make_photo):
    generator = np.random.default_rng(0)
    shapes = [(224, 288, 3), (224, 224, 3), (224, 288, 3)]
    photos = [make_photo(shorter_224=generator.integers(0, 256, shape, dtype=np.uint8)) for shape in shapes]
    expected = get_descriptor("deep").compute(photos)
    batches = pretend("CUDAExecutionProvider")
    rows = get_descriptor("deep", device="auto").compute(photos)
    assert sorted(batches) == [(1, 224, 224, 3), (2, 224, 288, 3)]
    np.testing.assert_allclose(rows, expected, atol=1e-4)
    assert get_descriptor("deep", device="auto").key == get_descriptor("deep").key
