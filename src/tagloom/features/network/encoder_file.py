"""Any other image encoder as a descriptor: an ONNX file, and a small TOML file that says how to feed it."""

import functools
import hashlib
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import InvalidInputError, ModelError
from tagloom.features.descriptor import BaseDescriptor
from tagloom.features.network.runner import OnnxRunner, file_digest
from tagloom.images import DecodedPhoto, Rendition

__all__ = ["EncoderSettings", "OnnxEncoder"]


# The TOML file that describes an ONNX image encoder, checked key by key.

_CHANNELS = ("RGB", "BGR")
_LAYOUTS = ("NCHW", "NHWC")
_POOLINGS = ("none", "cls", "mean")
LARGEST_SIDE = 4096
_KEYS = {
    "": ("name", "model", "input", "output"),
    "input": ("name", "size", "resize", "scale", "mean", "std", "channels", "layout"),
    "output": ("name", "pooling"),
}


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """How an ONNX encoder takes pixels and returns a row.

    Parameters
    ----------
    name : str
        Name of the descriptor and of its one feature group.
    model : Path
        The ONNX file.
    size : int
        Side of the square that the network takes.
    resize : int
        Length the shorter side is resized to before the centre square of ``size`` is cut out.
    scale : float
        Bytes are multiplied by this first.
    mean, std : tuple of three floats
        Subtracted from and divided out of the scaled channels, in the order of ``channels``.
    channels : {"RGB", "BGR"}
        Order of the channels.
    layout : {"NCHW", "NHWC"}
        Order of the axes.
    pooling : {"none", "cls", "mean"}
        "none" takes an output (n, d) as it is, "cls" the first token of (n, tokens, d), "mean" the average over the
        tokens or over the pixels of (n, d, height, width).
    input_name, output_name : str
        Of the ONNX model; empty takes the only one.
    """

    name: str
    model: Path
    size: int
    resize: int
    scale: float = 1.0 / 255.0
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    channels: str = "RGB"
    layout: str = "NCHW"
    pooling: str = "none"
    input_name: str = ""
    output_name: str = ""

    @property
    def keeps_bytes(self) -> bool:
        """Whether scale, mean and std are the defaults, so that a model that takes bytes may be fed."""
        return (self.scale, self.mean, self.std) == (1.0 / 255.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "EncoderSettings":
        """Read and check a TOML file; the model's path is relative to the file.

        Raises
        ------
        ModelError
            If the file cannot be read, lacks a key, has an unknown one, or a value is not what is expected.
        """
        path = Path(path)
        _refuse_special(path)
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ModelError(f"cannot read {path.name!r}: {error.strerror or error}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ModelError(f"{path.name!r} is not valid TOML: {error}") from error
        reader = _Reader(path.name, table)
        source, result = reader.table("input"), reader.table("output")
        size = source.integer("size", most=LARGEST_SIDE)
        model = path.parent / reader.text("model")
        _refuse_special(model)
        return cls(
            name=reader.text("name", pattern=r"[a-z][a-z0-9_-]*"),
            model=model,
            size=size,
            resize=source.integer("resize", default=size, least=size, most=LARGEST_SIDE),
            scale=source.numbers("scale", 1, default=(1.0 / 255.0,))[0],
            mean=source.triple("mean", default=(0.0, 0.0, 0.0)),
            std=source.triple("std", default=(1.0, 1.0, 1.0), positive=True),
            channels=source.choice("channels", _CHANNELS),
            layout=source.choice("layout", _LAYOUTS),
            pooling=result.choice("pooling", _POOLINGS),
            input_name=source.text("name", default=""),
            output_name=result.text("name", default=""),
        )


def _refuse_special(path: Path) -> None:
    """Refuse a named pipe or a device, which would be waited for; that there is no such file comes to light later."""
    if path.exists() and not path.is_file():
        raise ModelError(f"expected a file, got {path.name!r}, which is none; name another")


class _Reader:
    """Takes values out of a TOML table; every complaint names file, key, expectation and what came."""

    def __init__(self, file: str, table: Mapping[str, Any], section: str = "") -> None:
        self.file, self.values, self.section = file, table, section
        unknown = sorted(set(table) - set(_KEYS[section]))
        if unknown:
            where = f"[{section}]" if section else "the top level"
            raise ModelError(f"{file!r} has unknown keys {unknown} in {where}; known: {', '.join(_KEYS[section])}")

    def table(self, key: str) -> "_Reader":
        """Return the reader of a sub-table, empty where it is missing."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self._error(key, "a table", value)
        return _Reader(self.file, value, key)

    def text(self, key: str, *, default: str | None = None, pattern: str = r".+") -> str:
        """Return a text that matches a pattern."""
        value = self._get(key, default)
        if not isinstance(value, str) or (value != default and not re.fullmatch(pattern, value)):
            raise self._error(key, f"text of the form {pattern}", value)
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """Return one of the choices; the first is the default."""
        value = self._get(key, choices[0])
        if value not in choices:
            raise self._error(key, f"one of {', '.join(choices)}", value)
        return str(value)

    def integer(self, key: str, *, default: int | None = None, least: int = 1, most: int) -> int:
        """Return an integer from ``least`` to ``most``."""
        value = self._get(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self._error(key, f"a whole number from {least} to {most}", value)
        return value

    def numbers(self, key: str, n: int, *, default: tuple[float, ...], positive: bool = False) -> tuple[float, ...]:
        """Return n finite numbers; a single number stands for n equal ones."""
        value = self._get(key, list(default))
        items = value if isinstance(value, list) else [value] * n
        good = len(items) == n and all(type(item) in (int, float) and math.isfinite(item) for item in items)
        if not good or (positive and min(items) <= 0):
            raise self._error(key, f"{n} {'positive ' if positive else ''}numbers", value)
        return tuple(float(item) for item in items)

    def triple(
        self, key: str, *, default: tuple[float, float, float], positive: bool = False
    ) -> tuple[float, float, float]:
        """Return three finite numbers."""
        first, second, third = self.numbers(key, 3, default=default, positive=positive)
        return first, second, third

    def _get(self, key: str, default: Any) -> Any:
        value = self.values.get(key, default)
        if value is None:
            raise ModelError(f"{self.file!r} lacks {self._label(key)}")
        return value

    def _label(self, key: str) -> str:
        return f"the key {key!r} in [{self.section}]" if self.section else f"the key {key!r}"

    def _error(self, key: str, expected: str, value: Any) -> ModelError:
        return ModelError(f"{self.file!r}: {self._label(key)} should be {expected}, got {value!r}")


_INPUT_TYPES: dict[str, type[np.generic]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
}


class OnnxEncoder(BaseDescriptor):
    """Descriptor that runs your own ONNX image encoder (DINOv2, CLIP, SigLIP …).

    Parameters
    ----------
    settings : EncoderSettings
        Where the model is and how to feed it; usually read by `from_toml`.
    batch_size : int, default=8
        Photos per run; a model with a fixed batch size keeps its own.
    n_threads : int or None, default=None
        Threads of the network; None takes every core of this process.
    device : {"cpu", "auto", "cuda", "coreml", "directml"}, default="cpu"
        What the network runs on. Rows of devices differ by rounding, and have the same key.
    """

    version = 1
    is_embedding = True

    def __init__(
        self, settings: EncoderSettings, *, batch_size: int = 8, n_threads: int | None = None, device: str = "cpu"
    ) -> None:
        if batch_size < 1:
            raise InvalidInputError(f"batch_size must be at least 1, got {batch_size}")
        self.settings = settings
        self.name = settings.name
        self.batch_size = batch_size
        self.n_threads = n_threads
        self.device = device

    @classmethod
    def from_toml(
        cls,
        path: str | os.PathLike[str],
        *,
        batch_size: int = 8,
        n_threads: int | None = None,
        device: str = "cpu",
    ) -> "OnnxEncoder":
        """Read the description of an encoder; see `EncoderSettings` for what it says.

        Parameters
        ----------
        path : path
            The TOML file; the model's path in it is relative to it.
        batch_size, n_threads, device
            As in the constructor.

        Raises
        ------
        ModelError
            If the description is not complete or not right.
        """
        return cls(EncoderSettings.from_toml(path), batch_size=batch_size, n_threads=n_threads, device=device)

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
        model = self.settings.model
        return OnnxRunner(model, n_threads=self.n_threads, label=f"{model.name!r}", device=self.device)

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
                f"input {name!r} of {self._runner.label} takes bytes, which have no scale, mean and std; leave them out"
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
