"""A user's encoder, as tiny generated ONNX files whose result is known in closed form."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from tagloom.exceptions import InvalidInputError, ModelError
from tagloom.features import Descriptor, OnnxEncoder, extract, resolve_descriptors
from tagloom.features.network.runner import OnnxRunner
from tagloom.images import Rendition
from tests.made_towers import write_export

SIZE = 4


def save_model(
    path, nodes, output_shape, *, batch="n", kind=TensorProto.FLOAT, layout="NCHW", constants=(), outputs=("y",)
):
    shape = [batch, 3, SIZE, SIZE] if layout == "NCHW" else [batch, SIZE, SIZE, 3]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(name, kind, output_shape) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)


def flatten_model(path, **options):
    """All prepared pixels in a row: what the network got."""
    save_model(path, [helper.make_node("Flatten", ["x"], ["y"])], ["n", None], **options)


def write_settings(tmp_path, inputs="", output=""):
    (tmp_path / "encoder.toml").write_text(
        f'name = "tiny"\nmodel = "tiny.onnx"\n[input]\nsize = {SIZE}\n{inputs}\n[output]\n{output}\n'
    )
    return tmp_path / "encoder.toml"


@pytest.fixture
def photos(make_photo):
    pixels = np.random.default_rng(5).integers(0, 256, (5, 6, 6, 3), dtype=np.uint8)
    return [make_photo(square_4=picture[:4, :4], square_6=picture) for picture in pixels]


@pytest.mark.parametrize("channels", ["RGB", "BGR"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_what_the_network_gets(tmp_path, photos, channels, layout):
    flatten_model(tmp_path / "tiny.onnx", layout=layout)
    settings = f'resize = 6\nmean = [0.1, 0.2, 0.3]\nstd = [1, 2, 4]\nchannels = "{channels}"\nlayout = "{layout}"'
    encoder = OnnxEncoder.from_toml(write_settings(tmp_path, settings), batch_size=2, n_threads=1)
    assert encoder.renditions == (Rendition("square-6", "square", 6),)
    rows = encoder.compute(photos)
    for row, photo in zip(rows, photos, strict=True):
        expected = photo.pixels["square-6"][1:5, 1:5].astype(float) / 255
        if channels == "BGR":
            expected = expected[..., ::-1]
        expected = (expected - [0.1, 0.2, 0.3]) / [1, 2, 4]
        expected = expected.transpose(2, 0, 1) if layout == "NCHW" else expected
        np.testing.assert_allclose(row, expected.ravel(), atol=1e-6)


def test_contract(tmp_path, photos):
    flatten_model(tmp_path / "tiny.onnx")
    encoder = OnnxEncoder.from_toml(write_settings(tmp_path), n_threads=1)
    assert isinstance(encoder, Descriptor)
    assert encoder.outputs == {"tiny": 3 * SIZE * SIZE}
    assert encoder.compute([]).shape == (0, 48)
    assert encoder.compute(photos).dtype == np.float32
    assert resolve_descriptors([encoder])[1] == ["tiny"]
    assert extract([], groups=[encoder, "color"], n_workers=1).groups.embeddings == ("tiny",)


def test_the_key_follows_the_model_and_the_settings_but_not_the_path(tmp_path):
    def key(folder, inputs="", **options):
        folder.mkdir(exist_ok=True)
        flatten_model(folder / "tiny.onnx", **options)
        return OnnxEncoder.from_toml(write_settings(folder, inputs)).key

    first = key(tmp_path / "a")
    assert first.startswith("tiny-v1-")
    assert key(tmp_path / "b") == first
    assert key(tmp_path / "c", "mean = 0.5") != first
    assert key(tmp_path / "d", batch=2) != first


def test_the_key_follows_weights_kept_outside(tmp_path):
    def key(value):
        model = helper.make_model(
            helper.make_graph(
                [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["y"])],
                "outside",
                [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, SIZE, SIZE])],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
                [numpy_helper.from_array(np.full((48, 2), value, dtype=np.float32), "w")],
            ),
            opset_imports=[helper.make_opsetid("", 17)],
            ir_version=9,
        )
        (tmp_path / "weights.bin").unlink(missing_ok=True)
        onnx.save(model, tmp_path / "tiny.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
        return OnnxEncoder.from_toml(write_settings(tmp_path)).key

    assert key(1.0) != key(2.0)
    assert key(1.0) == key(1.0)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(ModelError, match=r"weights\.bin"):
        _ = OnnxEncoder.from_toml(write_settings(tmp_path)).key


def model_with_weights_in(location, *, in_a_node):
    """Return a model that adds four numbers, which another file holds, to four pixels."""
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1, 1, 1, SIZE])
    weights.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        weights.external_data.add(key=key, value=value)
    nodes = [helper.make_node("Constant", [], ["w"], value=weights)] if in_a_node else []
    nodes += [helper.make_node("Add", ["x", "w"], ["s"]), helper.make_node("Flatten", ["s"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "outside",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, SIZE, SIZE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 48])],
        [] if in_a_node else [weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("in_a_node", [False, True])
@pytest.mark.parametrize("way", ["../secret.bin", "sub/../../secret.bin", "{outside}/secret.bin", "link.bin"])
def test_no_weights_are_read_from_outside_the_folder_of_the_model(tmp_path, photos, way, in_a_node):
    """By two guards: our own, which is first, and onnxruntime's, which the lowest version allowed has."""
    folder = tmp_path / "models"
    (folder / "sub").mkdir(parents=True)
    for place in (tmp_path, folder):
        (place / "secret.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    path = folder / "tiny.onnx"

    def save(location):
        path.write_bytes(model_with_weights_in(location, in_a_node=in_a_node).SerializeToString())
        return OnnxEncoder.from_toml(write_settings(folder), n_threads=1)

    save(way.format(outside=tmp_path))
    with pytest.raises(ModelError):
        OnnxRunner(path, n_threads=1)
    with pytest.raises(ModelError, match="outside its folder"):
        _ = save(way.format(outside=tmp_path)).key
    with pytest.raises(ModelError, match="outside its folder"):
        save(way.format(outside=tmp_path)).compute(photos)
    if not in_a_node:  # onnxruntime does not take constants from files, wherever they are
        assert save("secret.bin").compute(photos).shape == (5, 48)
        assert save("secret.bin").key


def tokens_model(path):
    """(n, 3, 4, 4) → (n, 16 tokens, 3)."""
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["flat"]),
        helper.make_node("Transpose", ["flat"], ["y"], perm=[0, 2, 1]),
    ]
    save_model(path, nodes, ["n", 16, 3], constants=[("shape", np.array([0, 3, 16], dtype=np.int64))])


def test_pooling_of_tokens(tmp_path, photos):
    tokens_model(tmp_path / "tiny.onnx")
    pixels = np.stack([photo.pixels["square-4"] for photo in photos]) / 255
    for pooling, expected in (("cls", pixels[:, 0, 0]), ("mean", pixels.mean(axis=(1, 2)))):
        encoder = OnnxEncoder.from_toml(write_settings(tmp_path, output=f'pooling = "{pooling}"'), n_threads=1)
        assert encoder.outputs == {"tiny": 3}
        np.testing.assert_allclose(encoder.compute(photos), expected, atol=1e-6)
    with pytest.raises(ModelError, match=r"shape \[1, 16, 3\], which pooling 'none' cannot take"):
        _ = OnnxEncoder.from_toml(write_settings(tmp_path)).outputs


def test_pooling_of_a_feature_map(tmp_path, photos):
    save_model(tmp_path / "tiny.onnx", [helper.make_node("Identity", ["x"], ["y"])], ["n", 3, SIZE, SIZE])
    encoder = OnnxEncoder.from_toml(write_settings(tmp_path, output='pooling = "mean"'), n_threads=1)
    expected = np.stack([photo.pixels["square-4"].mean(axis=(0, 1)) / 255 for photo in photos])
    np.testing.assert_allclose(encoder.compute(photos), expected, atol=1e-6)


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_a_fixed_batch_size_is_kept(tmp_path, photos, batch):
    flatten_model(tmp_path / "tiny.onnx", batch=batch)
    encoder = OnnxEncoder.from_toml(write_settings(tmp_path), batch_size=3, n_threads=1)
    expected = np.stack([(photo.pixels["square-4"] / 255).transpose(2, 0, 1).ravel() for photo in photos])
    np.testing.assert_allclose(encoder.compute(photos), expected, atol=1e-6)


def test_half_precision(tmp_path, photos):
    flatten_model(tmp_path / "tiny.onnx", kind=TensorProto.FLOAT16)
    rows = OnnxEncoder.from_toml(write_settings(tmp_path), n_threads=1).compute(photos)
    expected = np.stack([(photo.pixels["square-4"] / 255).transpose(2, 0, 1).ravel() for photo in photos])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected, atol=1e-3)


def test_a_model_that_takes_bytes(tmp_path, photos):
    flatten_model(tmp_path / "tiny.onnx", kind=TensorProto.UINT8)
    rows = OnnxEncoder.from_toml(write_settings(tmp_path), n_threads=1).compute(photos)
    expected = np.stack([photo.pixels["square-4"].transpose(2, 0, 1).ravel() for photo in photos])
    np.testing.assert_array_equal(rows, expected)
    with pytest.raises(ModelError, match="takes bytes"):
        OnnxEncoder.from_toml(write_settings(tmp_path, "mean = 0.5")).compute(photos)


def test_names_of_inputs_and_outputs(tmp_path, photos):
    nodes = [helper.make_node("Flatten", ["x"], ["y"]), helper.make_node("Neg", ["y"], ["z"])]
    save_model(tmp_path / "tiny.onnx", nodes, ["n", 48], outputs=("y", "z"))
    with pytest.raises(ModelError, match="has 2 outputs, so the settings must name one; it has 'y', 'z'"):
        OnnxEncoder.from_toml(write_settings(tmp_path)).compute(photos)
    with pytest.raises(ModelError, match="has no output 'w'; it has 'y', 'z'"):
        OnnxEncoder.from_toml(write_settings(tmp_path, output='name = "w"')).compute(photos)
    with pytest.raises(ModelError, match="has no input 'pixels'; it has 'x'"):
        OnnxEncoder.from_toml(write_settings(tmp_path, 'name = "pixels"', 'name = "y"')).compute(photos)
    chosen = OnnxEncoder.from_toml(write_settings(tmp_path, 'name = "x"', 'name = "z"'), n_threads=1)
    assert chosen.compute(photos).max() <= 0


def test_a_model_of_another_shape(tmp_path):
    flatten_model(tmp_path / "tiny.onnx", layout="NHWC")
    with pytest.raises(ModelError, match=r"takes tensor\(float\) of shape .*4, 4, 3\], but the settings give"):
        _ = OnnxEncoder.from_toml(write_settings(tmp_path)).outputs


def test_missing_and_damaged_models(tmp_path):
    encoder = OnnxEncoder.from_toml(write_settings(tmp_path))
    with pytest.raises(ModelError, match=r"cannot read the model 'tiny\.onnx'"):
        _ = encoder.key
    with pytest.raises(ModelError, match=r"cannot read the model 'tiny\.onnx'"):
        _ = encoder.outputs
    (tmp_path / "tiny.onnx").write_bytes(b"\xff\xff nonsense")
    with pytest.raises(ModelError, match="not an ONNX model"):
        _ = OnnxEncoder.from_toml(write_settings(tmp_path)).key


def test_batch_size_is_checked(tmp_path):
    with pytest.raises(InvalidInputError, match="at least 1"):
        OnnxEncoder.from_toml(write_settings(tmp_path), batch_size=0)


@pytest.mark.parametrize("output", ["inner", "top", "z"])
def test_any_value_inside_a_model_can_be_the_output(tmp_path, photos, output):
    nodes = [
        helper.make_node("Flatten", ["x"], ["inner"]),
        helper.make_node("Neg", ["inner"], ["top"]),
        helper.make_node("MatMul", ["top", "w"], ["z"]),
    ]
    constants = [("w", np.ones((48, 2), dtype=np.float32))]
    save_model(tmp_path / "tiny.onnx", nodes, ["n", 2], constants=constants, outputs=("z",))
    encoder = OnnxEncoder.from_toml(write_settings(tmp_path, output=f'name = "{output}"'), n_threads=1)
    pixels = np.stack([(photo.pixels["square-4"] / 255).transpose(2, 0, 1).ravel() for photo in photos])
    expected = {"inner": pixels, "top": -pixels, "z": -pixels @ np.ones((48, 2))}[output]
    np.testing.assert_allclose(encoder.compute(photos), expected, atol=1e-5)
    with pytest.raises(ModelError, match="has no output 'innr'; it has 'z'; inside it are 'inner'"):
        OnnxEncoder.from_toml(write_settings(tmp_path, output='name = "innr"')).compute(photos)


def test_an_inner_value_of_a_model_with_weights_outside(tmp_path, photos):
    path = tmp_path / "tiny.onnx"
    nodes = [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["m"])]
    weights = np.random.default_rng(0).normal(size=(48, 2)).astype(np.float32)
    save_model(path, [*nodes, helper.make_node("Neg", ["m"], ["y"])], ["n", 2], constants=[("w", weights)])
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    found = [
        OnnxEncoder.from_toml(write_settings(tmp_path, output=f'name = "{name}"'), n_threads=1).compute(photos)
        for name in ("m", "y")
    ]
    np.testing.assert_allclose(found[0], -found[1], atol=1e-6)


def test_a_model_with_two_inputs_is_refused_with_what_to_do(tmp_path, photos):
    write_export(tmp_path, one_file=True)
    text = f'name = "two"\nmodel = "model.onnx"\n[input]\nsize = {SIZE}\n[output]\nname = '
    (tmp_path / "two.toml").write_text(f'{text}"logits_per_image"')
    message = r"needs 3 inputs \(pixel_values, input_ids, attention_mask\).*in \[output\], such as 'image_embeds'"
    with pytest.raises(ModelError, match=message):
        OnnxEncoder.from_toml(tmp_path / "two.toml").compute(photos)
    (tmp_path / "two.toml").write_text(f'{text}"image_embeds"')
    assert OnnxEncoder.from_toml(tmp_path / "two.toml").compute(photos).shape == (5, 3)


@pytest.mark.parametrize("view", ["centre", "squash", "whole"])
def test_views(tmp_path, view, make_photo):
    """A photo of 64 × 32 pixels, left half white: what of it the network sees."""
    size = 32
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["y"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["y", "one"], ["z"]),
    ]
    graph = helper.make_graph(
        nodes,
        "free",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "height", "width"])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 1])],
        [numpy_helper.from_array(np.array([1], dtype=np.int64), "one")],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "tiny.onnx"
    )
    (tmp_path / "encoder.toml").write_text(
        f'name = "tiny"\nmodel = "tiny.onnx"\n[input]\nsize = {size}\nview = "{view}"\n'
    )
    encoder = OnnxEncoder.from_toml(tmp_path / "encoder.toml", n_threads=1)
    picture = np.zeros((32, 96, 3), dtype=np.uint8)
    picture[:, :40] = 255
    path = tmp_path / "photo.png"
    Image.fromarray(picture).save(path)
    row = extract([path], groups=[encoder], n_workers=1).X[0, 0]
    expected = {"centre": 8 / 32, "squash": 40 / 96, "whole": 24 / 64}[view]
    assert row == pytest.approx(expected, abs=0.02)


def test_whole_photos_need_a_network_that_takes_any_size(tmp_path, photos):
    flatten_model(tmp_path / "tiny.onnx")
    with pytest.raises(ModelError, match=r"settings give shape \['n', 3, 'any', 'any'\]"):
        _ = OnnxEncoder.from_toml(write_settings(tmp_path, 'view = "whole"')).outputs
