"""The deep embedding: pooled features of EfficientNet-Lite networks and their class probabilities, in one pass."""

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
    LITE0,
    LITE2,
    N_CLASSES,
    N_FEATURES,
    Architecture,
    EfficientNetLite,
    build_onnx,
    read_state_dict,
    weights_path,
)
from tagloom.features.network.runner import OnnxRunner, cached_model, file_digest, kept_digest
from tagloom.images import DecodedPhoto, Rendition

__all__ = ["NETWORKS", "SIZES", "DeepDescriptor"]

#: The networks of each size (docs/benchmarks/words.md), and the side of the picture that all of them see.
NETWORKS: Mapping[str, tuple[Architecture, ...]] = {"small": (LITE0,), "medium": (LITE2,), "large": (LITE0, LITE2)}
SIZES: Mapping[str, int] = {"small": 224, "medium": 256, "large": 256}

_OPENING = threading.Lock()


class DeepDescriptor(PixelDescriptor):
    """Features of EfficientNet-Lite, networks trained on ImageNet.

    Two groups: ``deep`` (1,280 non-negative columns of each network: the averaged last feature map) and ``semantic``
    (1,000 columns: probabilities of the ImageNet classes, the mean over the networks). The weights come with installed
    packages; nothing is downloaded.

    Parameters
    ----------
    view : {"whole", "centre"}, default="whole"
        What of the photo the network sees: the whole photo with a shorter side of 224 pixels (of a panorama, the centre
        448 pixels of the longer side), or its centre square of 224 × 224 pixels, which costs less. 256 for the networks
        that are not small.
    network : {"small", "medium", "large"}, default="small"
        EfficientNet-Lite0, EfficientNet-Lite2 (extra "network"), or both.
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

    def __init__(
        self,
        *,
        view: Literal["whole", "centre"] = "whole",
        network: Literal["small", "medium", "large"] = "small",
        device: str = "cpu",
    ) -> None:
        if view not in ("whole", "centre"):
            raise InvalidInputError(f"view must be one of whole, centre, got {view!r}")
        if network not in NETWORKS:
            raise InvalidInputError(f"network must be one of {', '.join(NETWORKS)}, got {network!r}")
        self.view = view
        self.network = network
        self.device = device

    @property
    def outputs(self) -> Mapping[str, int]:
        """Two groups: ``deep`` and ``semantic``."""
        return {"deep": N_FEATURES * len(NETWORKS[self.network]), "semantic": N_CLASSES}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """One, by the view."""
        size = SIZES[self.network]
        if self.view == "whole":
            return (Rendition(f"shorter-{size}", "shorter", size),)
        return (Rendition(f"square-{size}", "square", size),)

    @functools.cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The view, the weights' SHA-256 and the version of the graph made of them."""
        digests = self._digests
        weights = digests[0] if len(digests) == 1 else digests
        return {"view": self.view, "weights": weights, "builder": BUILDER_VERSION}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return 1,280 features of each network, then 1,000 probabilities.

        Parameters
        ----------
        pixels : uint8 array of shape (height, width, 3)
            RGB.
        """
        row: NDArray[np.float32] = self._run(pixels[None])[0]
        return row

    def compute(self, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        """Return one float32 row per photo."""
        if self._open()[0].device == "cpu":
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
        found = [runner.run("pixels", batch, ["deep", "semantic"]) for runner in self._open()]
        semantic = np.mean([probabilities for _, probabilities in found], axis=0, dtype=np.float32)
        return np.concatenate([*(deep for deep, _ in found), semantic], axis=1)

    def _open(self) -> Sequence[OnnxRunner]:
        with _OPENING:  # the first rows may be asked for by several threads at once
            return self._runners

    @functools.cached_property
    def _digests(self) -> list[str]:
        return [kept_digest(weights_path(one)) for one in NETWORKS[self.network]]

    @functools.cached_property
    def _runners(self) -> Sequence[OnnxRunner]:
        return [
            _runner(one, weights, self.device)
            for one, weights in zip(NETWORKS[self.network], self._digests, strict=True)
        ]


def _runner(architecture: Architecture, weights: str, device: str) -> OnnxRunner:
    name = f"{architecture.name.lower()}-{weights}-b{BUILDER_VERSION}"
    model = cached_model(name, functools.partial(_build, architecture, weights))
    return OnnxRunner(model, n_threads=1, label=architecture.name, device=device)


def _build(architecture: Architecture, weights: str) -> bytes:
    """Return the network of the weights with this SHA-256, under which it will be kept."""
    path = weights_path(architecture)
    tensors = read_state_dict(path)
    if file_digest(path) != weights:
        raise ModelError(f"the weights file {path.name!r} was replaced while it was in use; start again")
    return build_onnx(EfficientNetLite.from_state_dict(tensors, architecture))
