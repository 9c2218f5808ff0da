"""Writing EfficientNet-Lite0 as an ONNX graph that takes 8-bit pixels and gives features and class probabilities."""

from typing import Any

import numpy as np

from tagloom.features.network.efficientnet import (
    INPUT_MEAN,
    INPUT_SCALE,
    N_CLASSES,
    N_FEATURES,
    Convolution,
    EfficientNetLite0,
)

__all__ = ["BUILDER_VERSION", "build_onnx"]

BUILDER_VERSION = 2
_OPSET = 17
_IR_VERSION = 9


class _Graph:
    """Nodes and initializers in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []

    def constant(self, name: str, array: Any) -> str:
        """Add an initializer and return its name."""
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(np.asarray(array, dtype=np.float32), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        from onnx import helper

        output = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def convolution(self, layer: Convolution, source: str, name: str) -> str:
        """Add a convolution (and its ReLU6) and return its output."""
        result = self.node(
            "Conv",
            [source, self.constant(f"{name}.weight", layer.weight), self.constant(f"{name}.bias", layer.bias)],
            # The padding depends on the size of the input, which is free; this is TensorFlow's "same" rule.
            auto_pad="SAME_UPPER",
            group=layer.groups,
            kernel_shape=list(layer.weight.shape[2:]),
            strides=[layer.stride, layer.stride],
        )
        return self.node("Clip", [result, "zero", "six"]) if layer.activation else result


def build_onnx(network: EfficientNetLite0) -> bytes:
    """Return the network as a serialised ONNX model.

    Parameters
    ----------
    network : EfficientNetLite0
        The folded network.

    Returns
    -------
    bytes
        A model with one input ``pixels`` (uint8, batch × height × width × 3, RGB, any size) and two outputs, ``deep``
        (batch × 1280, non-negative, the last feature map averaged over the whole picture) and ``semantic``
        (batch × 1000, rows sum to one).
    """
    from onnx import TensorProto, helper

    graph = _Graph()
    pooled = _add_trunk(graph, network)
    flat = graph.node("Flatten", [pooled], "deep", axis=1)
    weight = graph.constant("classifier.weight", network.classifier_weight)
    bias = graph.constant("classifier.bias", network.classifier_bias)
    logits = graph.node("Gemm", [flat, weight, bias], transB=1)
    graph.node("Softmax", [logits], "semantic", axis=1)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "efficientnet-lite0",
            [helper.make_tensor_value_info("pixels", TensorProto.UINT8, ["batch", "height", "width", 3])],
            [
                helper.make_tensor_value_info("deep", TensorProto.FLOAT, ["batch", N_FEATURES]),
                helper.make_tensor_value_info("semantic", TensorProto.FLOAT, ["batch", N_CLASSES]),
            ],
            graph.initializers,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="tagloom",
    )
    return bytes(model.SerializeToString())


def _add_trunk(graph: _Graph, network: EfficientNetLite0) -> str:
    """Add everything up to the average pooling."""
    from onnx import TensorProto

    graph.constant("zero", 0.0)
    graph.constant("six", 6.0)
    real = graph.node("Cast", ["pixels"], to=TensorProto.FLOAT)
    planes = graph.node("Transpose", [real], perm=[0, 3, 1, 2])
    centred = graph.node("Sub", [planes, graph.constant("mean", INPUT_MEAN)])
    scaled = graph.node("Div", [centred, graph.constant("scale", INPUT_SCALE)])
    current = graph.convolution(network.stem, scaled, "stem")
    for index, block in enumerate(network.blocks):
        entry = current
        for position, layer in enumerate(block.convolutions):
            current = graph.convolution(layer, current, f"block{index}.{position}")
        if block.skip:
            current = graph.node("Add", [current, entry])
    return graph.node("GlobalAveragePool", [graph.convolution(network.head, current, "head")])
