"""The deep embedding: EfficientNet-Lite0's pooled features and its class probabilities, in one pass."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import InvalidInputError
from tagloom.features.descriptor import BaseDescriptor
from tagloom.features.efficientnet import INPUT_SIZE, N_CLASSES, N_FEATURES, EfficientNetLite0, weights_path
from tagloom.features.model_cache import cached_model, file_digest
from tagloom.features.onnx_graph import BUILDER_VERSION, build_onnx
from tagloom.features.onnx_runner import OnnxRunner
from tagloom.features.torch_weights import read_state_dict
from tagloom.images import DecodedPhoto, Rendition

__all__ = ["DeepDescriptor"]


class DeepDescriptor(BaseDescriptor):
    """What the photo shows, as a network trained on ImageNet sees it.

    Two groups: ``deep`` (1,280 non-negative columns: the averaged last feature map) and ``semantic`` (1,000 columns:
    probabilities of the ImageNet classes). The weights come with an installed package; nothing is downloaded.

    Parameters
    ----------
    batch_size : int, default=8
        Photos per run of the network; the rows do not depend on it.
    n_threads : int or None, default=None
        Threads of the network; None takes every core of this process. The rows do not depend on it.
    """

    name = "deep"
    version = 1

    def __init__(self, *, batch_size: int = 8, n_threads: int | None = None) -> None:
        if batch_size < 1:
            raise InvalidInputError(f"batch_size must be at least 1, got {batch_size}")
        self.batch_size = batch_size
        self.n_threads = n_threads

    @property
    def outputs(self) -> Mapping[str, int]:
        """Two groups: ``deep`` and ``semantic``."""
        return {"deep": N_FEATURES, "semantic": N_CLASSES}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """The centre square at 224 pixels."""
        return (Rendition(f"square-{INPUT_SIZE}", "square", INPUT_SIZE),)

    @functools.cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The weights' SHA-256 and the version of the graph made of them."""
        return {"weights": file_digest(weights_path()), "builder": BUILDER_VERSION}

    @functools.cached_property
    def _runner(self) -> OnnxRunner:
        model = cached_model(f"efficientnet-lite0-{self.parameters['weights']}-b{BUILDER_VERSION}", _build)
        return OnnxRunner(model, n_threads=self.n_threads, label="EfficientNet-Lite0")

    def compute(self, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        """Return one row per photo: 1,280 features, then 1,000 probabilities."""
        (rendition,) = self.renditions
        rows = np.empty((len(photos), self.n_columns), dtype=np.float32)
        for start in range(0, len(photos), self.batch_size):
            chunk = photos[start : start + self.batch_size]
            pixels = np.stack([photo.pixels[rendition.name] for photo in chunk])
            deep, semantic = self._runner.run("pixels", pixels, ["deep", "semantic"])
            rows[start : start + len(chunk), :N_FEATURES] = deep
            rows[start : start + len(chunk), N_FEATURES:] = semantic
        return rows


def _build() -> bytes:
    return build_onnx(EfficientNetLite0.from_state_dict(read_state_dict(weights_path())))
