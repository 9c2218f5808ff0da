"""The deep embedding: EfficientNet-Lite0's pooled features and its class probabilities, in one pass."""

import functools
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import InvalidInputError, ModelError
from tagloom.features.descriptor import PixelDescriptor
from tagloom.features.network.efficientnet import (
    BUILDER_VERSION,
    INPUT_SIZE,
    N_CLASSES,
    N_FEATURES,
    EfficientNetLite0,
    build_onnx,
    read_state_dict,
    weights_path,
)
from tagloom.features.network.runner import OnnxRunner, cached_model, file_digest, kept_digest
from tagloom.images import DecodedPhoto, Rendition

__all__ = ["DeepDescriptor"]

VIEWS: Mapping[str, Rendition] = {
    "whole": Rendition(f"shorter-{INPUT_SIZE}", "shorter", INPUT_SIZE),
    "centre": Rendition(f"square-{INPUT_SIZE}", "square", INPUT_SIZE),
}

_OPENING = threading.Lock()


class DeepDescriptor(PixelDescriptor):
    """Features of EfficientNet-Lite0, a network trained on ImageNet.

    Two groups: ``deep`` (1,280 non-negative columns: the averaged last feature map) and ``semantic`` (1,000 columns:
    probabilities of the ImageNet classes). The weights come with an installed package; nothing is downloaded.

    Parameters
    ----------
    view : {"whole", "centre"}, default="whole"
        What of the photo the network sees: the whole photo with a shorter side of 224 pixels (of a panorama, the centre
        448 pixels of the longer side), or its centre square of 224 × 224 pixels, which costs less.

    device : {"cpu", "auto", "cuda", "coreml", "directml"}, default="cpu"
        What the network runs on. Rows of devices differ by rounding, and have the same key.

    Notes
    -----
    On the processor the network runs on one photo at a time, in one thread. A row is therefore the same to the last bit
    whatever photos are computed with it and in however many threads; and photos side by side in threads take no longer
    than batches. Another device gets all photos of one shape at once.
    """

    name = "deep"
    version = 2

    def __init__(self, *, view: Literal["whole", "centre"] = "whole", device: str = "cpu") -> None:
        if view not in VIEWS:
            raise InvalidInputError(f"view must be one of {', '.join(VIEWS)}, got {view!r}")
        self.view = view
        self.device = device

    @property
    def outputs(self) -> Mapping[str, int]:
        """Two groups: ``deep`` and ``semantic``."""
        return {"deep": N_FEATURES, "semantic": N_CLASSES}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """One, by the view."""
        return (VIEWS[self.view],)

    @functools.cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The view, the weights' SHA-256 and the version of the graph made of them."""
        return {"view": self.view, "weights": kept_digest(weights_path()), "builder": BUILDER_VERSION}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return 1,280 features, then 1,000 probabilities.

        Parameters
        ----------
        pixels : uint8 array of shape (height, width, 3)
            RGB.
        """
        row: NDArray[np.float32] = self._run(pixels[None])[0]
        return row

    def compute(self, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        """Return one float32 row per photo."""
        if self._open().device == "cpu":
            return super().compute(photos)
        (rendition,) = self.renditions
        pictures = [photo.pixels[rendition.name] for photo in photos]
        places: dict[tuple[int, ...], list[int]] = {}
        for place, picture in enumerate(pictures):
            places.setdefault(picture.shape, []).append(place)
        rows = np.empty((len(photos), self.n_columns), dtype=np.float32)
        for alike in places.values():
            rows[alike] = self._run(np.stack([pictures[place] for place in alike]))
        return rows

    def _run(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        return np.concatenate(self._open().run("pixels", batch, ["deep", "semantic"]), axis=1)

    def _open(self) -> OnnxRunner:
        with _OPENING:  # the first rows may be asked for by several threads at once
            return self._runner

    @functools.cached_property
    def _runner(self) -> OnnxRunner:
        weights = self.parameters["weights"]
        model = cached_model(f"efficientnet-lite0-{weights}-b{BUILDER_VERSION}", functools.partial(_build, weights))
        return OnnxRunner(model, n_threads=1, label="EfficientNet-Lite0", device=self.device)


def _build(weights: str) -> bytes:
    """Return the network of the weights with this SHA-256, under which it will be kept."""
    path = weights_path()
    tensors = read_state_dict(path)
    if file_digest(path) != weights:
        raise ModelError(f"the weights file {path.name!r} was replaced while it was in use; start again")
    return build_onnx(EfficientNetLite0.from_state_dict(tensors))
