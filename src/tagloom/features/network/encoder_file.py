"""Any other image encoder as a descriptor: an ONNX file, and a small TOML file that says how to feed it."""

import functools
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import InvalidInputError, ModelError
from tagloom.features.descriptor import BaseDescriptor
from tagloom.features.network.encoder_settings import EncoderSettings
from tagloom.features.network.model_cache import file_digest
from tagloom.features.network.runner import OnnxRunner
from tagloom.images import DecodedPhoto, Rendition

__all__ = ["OnnxEncoder"]

_INPUT_TYPES: dict[str, type[np.generic]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
}


class OnnxEncoder(BaseDescriptor):
    """An image encoder of the user's choice (DINOv2, CLIP, SigLIP …) exported to ONNX.

    Parameters
    ----------
    settings : EncoderSettings
        Where the model is and how to feed it; usually read by `from_toml`.
    batch_size : int, default=8
        Photos per run; a model with a fixed batch size keeps its own.
    n_threads : int or None, default=None
        Threads of the network; None takes every core of this process.
    """

    version = 1

    def __init__(self, settings: EncoderSettings, *, batch_size: int = 8, n_threads: int | None = None) -> None:
        if batch_size < 1:
            raise InvalidInputError(f"batch_size must be at least 1, got {batch_size}")
        self.settings = settings
        self.name = settings.name
        self.batch_size = batch_size
        self.n_threads = n_threads

    @classmethod
    def from_toml(
        cls, path: str | os.PathLike[str], *, batch_size: int = 8, n_threads: int | None = None
    ) -> "OnnxEncoder":
        """Read the description of an encoder; see `EncoderSettings` for what it says.

        Parameters
        ----------
        path : path
            The TOML file; the model's path in it is relative to it.
        batch_size, n_threads : int
            As in the constructor.

        Raises
        ------
        ModelError
            If the description is not complete or not right.
        """
        return cls(EncoderSettings.from_toml(path), batch_size=batch_size, n_threads=n_threads)

    @functools.cached_property
    def parameters(self) -> Mapping[str, Any]:
        """All settings, with the SHA-256 of the model's files in place of its path."""
        settings = {item.name: getattr(self.settings, item.name) for item in fields(self.settings)}
        return settings | {"model": _model_digest(self.settings.model)}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """The centre square at ``resize`` pixels."""
        return (Rendition(f"square-{self.settings.resize}", "square", self.settings.resize),)

    @functools.cached_property
    def outputs(self) -> Mapping[str, int]:
        """One group of the encoder's name, as wide as one run of the model shows."""
        size = self.settings.resize
        return {self.name: self._encode(np.zeros((1, size, size, 3), dtype=np.uint8)).shape[1]}

    def compute(self, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        """Return one row per photo."""
        (rendition,) = self.renditions
        rows = np.empty((len(photos), self.n_columns), dtype=np.float32)
        n_batch = self._fixed_batch or self.batch_size
        for start in range(0, len(photos), n_batch):
            chunk = photos[start : start + n_batch]
            pixels = np.stack([photo.pixels[rendition.name] for photo in chunk])
            rows[start : start + len(chunk)] = self._encode(pixels)
        return rows

    @functools.cached_property
    def _runner(self) -> OnnxRunner:
        _ = self.parameters  # looks at the names of other files before any is opened
        return OnnxRunner(self.settings.model, n_threads=self.n_threads, label=f"{self.settings.model.name!r}")

    @functools.cached_property
    def _input(self) -> tuple[str, type[np.generic]]:
        """Name and type of the input, checked against the settings."""
        name = _choose("input", self.settings.input_name, self._runner.inputs, self._runner.label)
        kind, shape = self._runner.inputs[name]
        size = self.settings.size
        expected = ["n", 3, size, size] if self.settings.layout == "NCHW" else ["n", size, size, 3]
        fits = len(shape) == 4 and all(
            not isinstance(is_, int) or is_ == should for is_, should in zip(shape[1:], expected[1:], strict=True)
        )
        if kind not in _INPUT_TYPES or not fits:
            raise ModelError(
                f"input {name!r} of {self._runner.label} takes {kind} of shape {list(shape)}, but the settings give "
                f"shape {expected} of {', '.join(_INPUT_TYPES)}; correct size or layout"
            )
        if kind == "tensor(uint8)" and not self.settings.keeps_bytes:
            raise ModelError(
                f"input {name!r} of {self._runner.label} takes bytes, so that scale, mean and std cannot be applied; "
                f"leave them out"
            )
        return name, _INPUT_TYPES[kind]

    @property
    def _fixed_batch(self) -> int | None:
        first = self._runner.inputs[self._input[0]][1][0]
        return first if isinstance(first, int) else None

    def _encode(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Run one batch of ``resize`` pixels square; returns one row per picture."""
        n, (name, dtype) = len(pixels), self._input
        if self._fixed_batch is not None and n < self._fixed_batch:
            filler = np.zeros((self._fixed_batch - n, *pixels.shape[1:]), dtype=np.uint8)
            pixels = np.concatenate([pixels, filler])
        output_name = _choose("output", self.settings.output_name, self._runner.outputs, self._runner.label)
        (values,) = self._runner.run(name, self._prepare(pixels, dtype), [output_name])
        return np.asarray(self._pool(values[:n], output_name), dtype=np.float32)

    def _prepare(self, pixels: NDArray[np.uint8], dtype: type[np.generic]) -> NDArray[Any]:
        settings = self.settings
        start = (settings.resize - settings.size) // 2
        batch: NDArray[Any] = pixels[:, start : start + settings.size, start : start + settings.size]
        if settings.channels == "BGR":
            batch = batch[..., ::-1]
        if dtype is not np.uint8:
            mean, std = np.array(settings.mean, dtype=np.float32), np.array(settings.std, dtype=np.float32)
            batch = (batch * np.float32(settings.scale) - mean) / std
        if settings.layout == "NCHW":
            batch = batch.transpose(0, 3, 1, 2)
        return np.ascontiguousarray(batch, dtype=dtype)

    def _pool(self, values: NDArray[Any], output_name: str) -> NDArray[Any]:
        pooling = self.settings.pooling
        if pooling == "none" and values.ndim == 2:
            return values
        if pooling == "cls" and values.ndim == 3:
            return values[:, 0]
        if pooling == "mean" and values.ndim == 3:
            return values.mean(axis=1, dtype=np.float32)
        if pooling == "mean" and values.ndim == 4:
            return values.mean(axis=(2, 3), dtype=np.float32)
        raise ModelError(
            f"output {output_name!r} of {self._runner.label} has shape {list(values.shape)}, which pooling {pooling!r} "
            f'cannot take: "none" needs (n, d), "cls" (n, tokens, d), "mean" (n, tokens, d) or (n, d, height, width)'
        )


def _choose(what: str, wanted: str, present: Mapping[str, Any], label: str) -> str:
    """Return the wanted name if the model has it, or the only one where none is named."""
    if wanted in present:
        return wanted
    if not wanted and len(present) == 1:
        return next(iter(present))
    problem = f"has no {what} {wanted!r}" if wanted else f"has {len(present)} {what}s, so the settings must name one"
    raise ModelError(f"{label} {problem}; it has {', '.join(map(repr, present))}")


def _model_digest(path: Path) -> str:
    """Return the SHA-256 of the model file and of the files that hold its weights, where it has any."""
    import onnx

    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise ModelError(f"cannot read the model {path.name!r}: {error.strerror or error}") from error
    except Exception as error:  # protobuf's own exception types
        raise ModelError(f"{path.name!r} is not an ONNX model: {error}") from error
    digest = hashlib.sha256(file_digest(path).encode())
    for location in sorted({name for part in (model.graph, *model.functions) for name in _other_files(part)}):
        file = path.parent / location
        if Path(location).is_absolute() or not file.resolve().is_relative_to(path.parent.resolve()):
            raise ModelError(f"{path.name!r} keeps weights in {location!r}, outside its folder, where none are read")
        try:
            digest.update(file_digest(file).encode())
        except OSError as error:
            raise ModelError(f"{path.name!r} keeps weights in {location!r}, which cannot be read: {error}") from error
    return digest.hexdigest()


def _other_files(graph: Any) -> Iterator[str]:
    """Yield the names of files that hold values of a graph or function: weights, constants, those of inner graphs."""
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data

    attributes = [attribute for node in graph.node for attribute in node.attribute]
    tensors = list(getattr(graph, "initializer", ()))  # functions have nodes only
    for sparse in getattr(graph, "sparse_initializer", ()):
        tensors += [sparse.values, sparse.indices]
    for attribute in attributes:
        tensors += [attribute.t, *attribute.tensors]
        for inner in (attribute.g, *attribute.graphs):
            yield from _other_files(inner)
    yield from (ExternalDataInfo(tensor).location for tensor in tensors if uses_external_data(tensor))
