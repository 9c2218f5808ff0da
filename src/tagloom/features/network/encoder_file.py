"""Any other image encoder as a descriptor: an ONNX file, and a small TOML file that says how to feed it."""

import functools
import json
import math
import os
import re
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import config_folder
from tagloom.exceptions import InvalidInputError, ModelError
from tagloom.features.descriptor import BaseDescriptor
from tagloom.features.network.onnx_file import OnnxFile
from tagloom.features.network.runner import OnnxRunner
from tagloom.features.network.text_tower import TEMPLATES, TextSettings, TextTower
from tagloom.images import DecodedPhoto, Rendition

__all__ = ["EncoderSettings", "OnnxEncoder", "added_encoders"]


# The TOML file that describes an ONNX image encoder, checked key by key.

_VIEWS = ("centre", "squash", "whole")
_CHANNELS = ("RGB", "BGR")
_LAYOUTS = ("NCHW", "NHWC")
_POOLINGS = ("none", "cls", "mean")
_FILTERS = ("bicubic", "bilinear", "lanczos", "box", "hamming", "nearest")
LARGEST_SIDE = 4096
LONGEST_TEXT = 4096
MOST_TEMPLATES = 100
LARGEST_TOML = 1_000_000
_KEYS = {
    "": ("name", "model", "input", "output", "text"),
    "input": ("name", "size", "resize", "view", "filter", "scale", "mean", "std", "channels", "layout"),
    "output": ("name", "pooling"),
    "text": ("model", "tokenizer", "input", "output", "length", "pad", "lower", "templates", "scale"),
}
#: What the models of common libraries come with: how their pixels are prepared.
PREPROCESSOR = "preprocessor_config.json"
_PILLOW_FILTERS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


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
        Length the shorter side is resized to before the centre square of ``size`` is cut out; only for "centre".
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
        Of the ONNX model; empty takes the only one. The output may be any value inside the model: it is cut off there.
    view : {"centre", "squash", "whole"}
        "centre" cuts the centre square out, "squash" presses the whole photo into the square, and "whole" keeps its
        proportions, for networks that take pictures of any size.
    filter : {"bicubic", "bilinear", "lanczos", "box", "hamming", "nearest"}
        How pixels are weighted when a photo is resized.
    text : TextSettings or None
        The text tower, where there is one.
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
    view: str = "centre"
    filter: str = "bicubic"
    text: TextSettings | None = None

    @property
    def keeps_bytes(self) -> bool:
        """Whether scale, mean and std are the defaults, so that a model that takes bytes may be fed."""
        return (self.scale, self.mean, self.std) == (1.0 / 255.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "EncoderSettings":
        """Read and check a TOML file; the paths in it are relative to the file.

        Keys of ``[input]`` that are not there are taken from ``preprocessor_config.json`` beside the model.

        Parameters
        ----------
        path : path
            The file, or the name of an encoder that was added (``tagloom encoder add``).

        Raises
        ------
        ModelError
            If the file cannot be read, lacks a key, has an unknown one, or a value is not what is expected.
        """
        path = _known_file(Path(path))
        _refuse_special(path)
        try:
            if path.stat().st_size > LARGEST_TOML:
                raise ModelError(f"{path.name!r} has more than {LARGEST_TOML} bytes; name the TOML file, not the model")
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ModelError(f"cannot read {path.name!r}: {error.strerror or error}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ModelError(f"{path.name!r} is not valid TOML: {error}") from error
        reader = _Reader(path.name, table)
        model = path.parent / reader.text("model")
        _refuse_special(model)
        source, result = reader.table("input", _preprocessor(model.parent / PREPROCESSOR)), reader.table("output")
        size = source.integer("size", most=LARGEST_SIDE)
        view = source.choice("view", _VIEWS)
        return cls(
            name=reader.text("name", pattern=r"[a-z][a-z0-9_-]*"),
            model=model,
            size=size,
            resize=source.integer("resize", default=size, least=size, most=LARGEST_SIDE) if view == "centre" else size,
            scale=source.numbers("scale", 1, default=(1.0 / 255.0,))[0],
            mean=source.triple("mean", default=(0.0, 0.0, 0.0)),
            std=source.triple("std", default=(1.0, 1.0, 1.0), positive=True),
            channels=source.choice("channels", _CHANNELS),
            layout=source.choice("layout", _LAYOUTS),
            pooling=result.choice("pooling", _POOLINGS),
            input_name=source.text("name", default=""),
            output_name=result.text("name", default=""),
            view=view,
            filter=source.choice("filter", _FILTERS),
            text=_text_settings(reader.table("text"), path.parent) if "text" in table else None,
        )


def _text_settings(reader: "_Reader", folder: Path) -> TextSettings:
    model, tokenizer = folder / reader.text("model"), folder / reader.text("tokenizer")
    _refuse_special(model)
    _refuse_special(tokenizer)
    return TextSettings(
        model=model,
        tokenizer=tokenizer,
        input_name=reader.text("input", default=""),
        output_name=reader.text("output", default=""),
        length=reader.integer("length", default=0, least=0, most=LONGEST_TEXT),
        pad=reader.integer("pad", default=0, least=0, most=2**31 - 1),
        lower=reader.flag("lower"),
        templates=reader.texts("templates", default=TEMPLATES, most=MOST_TEMPLATES, holds="{}"),
        scale=reader.numbers("scale", 1, default=(100.0,), positive=True)[0],
    )


def added_encoders() -> dict[str, Path]:
    """Return the TOML files of the encoders that this user added, by name."""
    folder = config_folder() / "encoders"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))} if folder.is_dir() else {}


def _known_file(path: Path) -> Path:
    """Return the TOML file that a name stands for, where it is that of an encoder that was added."""
    return path if path.suffix or path.exists() else added_encoders().get(path.name, path)


def _preprocessor(path: Path) -> dict[str, Any]:
    """Return the input in ``preprocessor_config.json``, as keys of ``[input]``; empty where there is none."""
    if not path.exists():
        return {}
    _refuse_special(path)
    try:
        given = json.loads(path.read_text(encoding="utf-8")) if path.stat().st_size <= LARGEST_TOML else None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"cannot read {path.name!r} beside the model: {error}; remove or repair it") from error
    if not isinstance(given, dict):
        raise ModelError(f"{path.name!r} beside the model is no table of settings; remove or repair it")
    found: dict[str, Any] = {}
    resized, cropped = _sides(given.get("size")), _sides(given.get("crop_size"))
    if given.get("do_center_crop", bool(cropped)) and (cropped or resized):
        found["view"], found["size"] = "centre", (cropped or resized)[-1]
        found["resize"] = max(resized[:1] + cropped[-1:])
    elif len(resized) == 2:
        found["view"], found["size"] = "squash", resized[0]
        if resized[0] != resized[1]:
            raise ModelError(
                f"{path.name!r} beside the model asks for {resized[0]} × {resized[1]} pixels, not a square"
            )
    elif resized:
        found["size"] = resized[0]
    found["scale"] = given.get("rescale_factor", 1.0 / 255.0) if given.get("do_rescale", True) else 1.0
    if given.get("do_normalize", True) and "image_mean" in given and "image_std" in given:
        found |= {"mean": given["image_mean"], "std": given["image_std"]}
    if isinstance(given.get("resample"), int):
        found["filter"] = _PILLOW_FILTERS.get(given["resample"], _FILTERS[0])
    return found


def _sides(value: Any) -> list[int]:
    """Return the sides that a size names: one for the shorter side, two for height and width."""
    if isinstance(value, dict):
        value = [value[name] for name in ("shortest_edge", "height", "width") if name in value]
    sides = value if isinstance(value, list) else [value]
    return [side for side in sides if type(side) is int and side > 0]


def _refuse_special(path: Path) -> None:
    """Refuse a named pipe or a device, which would be waited for; that there is no such file comes to light later."""
    if path.exists() and not path.is_file():
        raise ModelError(f"expected a file, got {path.name!r}, which is none; name another")


class _Reader:
    """Takes values out of a TOML table; every complaint names file, key, expectation and what came."""

    def __init__(
        self, file: str, table: Mapping[str, Any], section: str = "", usual: Mapping[str, Any] | None = None
    ) -> None:
        self.file, self.values, self.section = file, {**(usual or {}), **table}, section
        unknown = sorted(set(table) - set(_KEYS[section]))
        if unknown:
            where = f"[{section}]" if section else "the top level"
            raise ModelError(f"{file!r} has unknown keys {unknown} in {where}; known: {', '.join(_KEYS[section])}")

    def table(self, key: str, usual: Mapping[str, Any] | None = None) -> "_Reader":
        """Return the reader of a sub-table, empty where it is missing; what it lacks may be in ``usual``."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self._error(key, "a table", value)
        return _Reader(self.file, value, key, usual)

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

    def flag(self, key: str) -> bool:
        """Return true or false, which is the default."""
        value = self._get(key, False)
        if not isinstance(value, bool):
            raise self._error(key, "true or false", value)
        return value

    def texts(self, key: str, *, default: tuple[str, ...], most: int, holds: str) -> tuple[str, ...]:
        """Return a list of texts, each with a part that is to be filled in."""
        value = self._get(key, list(default))
        if not isinstance(value, list) or not 1 <= len(value) <= most or not all(holds in str(one) for one in value):
            raise self._error(key, f"1 to {most} texts with {holds} in them", value)
        return tuple(map(str, value))

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
        """All settings of the image tower, with the SHA-256 of the model's files in place of its path."""
        apart = ("text", "view", "filter")  # the last two are in the rendition
        settings = {item.name: getattr(self.settings, item.name) for item in fields(self.settings)}
        return {name: value for name, value in settings.items() if name not in apart} | {"model": self._file.digest()}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """One, by the view."""
        settings = self.settings
        if settings.view == "centre":
            return (Rendition(f"square-{settings.resize}", "square", settings.resize, settings.filter),)
        if settings.view == "squash":
            return (Rendition(f"squash-{settings.size}", "squash", settings.size, settings.filter),)
        return (Rendition(f"shorter-{settings.size}", "shorter", settings.size, settings.filter),)

    @functools.cached_property
    def text(self) -> TextTower | None:
        """The text tower; None where the settings have none."""
        return None if self.settings.text is None else TextTower(self.settings.text, n_threads=self.n_threads)

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
        start = 0
        for _, same in groupby(photo.pixels[rendition.name].shape for photo in photos):
            end = start + len(list(same))
            for first in range(start, end, n_batch):
                chunk = photos[first : min(first + n_batch, end)]
                pixels = np.stack([photo.pixels[rendition.name] for photo in chunk])
                rows[first : first + len(chunk)] = self._encode(pixels)
            start = end
        return rows

    def seconds_of_one(self) -> float:
        """Return how long one picture takes, a first one not counted."""
        grey = np.full((1, self.settings.resize, self.settings.resize, 3), 127, dtype=np.uint8)
        self._encode(grey)
        begin = time.perf_counter()
        self._encode(grey)
        return time.perf_counter() - begin

    @functools.cached_property
    def _file(self) -> OnnxFile:
        return OnnxFile(self.settings.model)

    @functools.cached_property
    def _output(self) -> str:
        """Name of the output, which needs one input and no other."""
        file, settings = self._file, self.settings
        if settings.input_name:
            file.choose("input", settings.input_name, file.inputs)
        output = file.choose("output", settings.output_name, file.outputs)
        needs = file.inputs_of(output)
        if len(needs) > 1:
            alone = [name for one in needs for name in file.outputs_of(one) if one in (settings.input_name or one)]
            advice = (
                f"name one that needs the pixels alone under name in [output], such as {alone[0]!r}"
                if alone
                else "export the image tower by itself"
            )
            raise ModelError(
                f"output {output!r} of {file.label} needs {len(needs)} inputs ({', '.join(needs)}), and tagloom feeds "
                f"one; {advice}"
            )
        return output

    @functools.cached_property
    def _runner(self) -> OnnxRunner:
        self._file.digest()  # looks at the names of other files before any is opened
        return self._file.open(self._output, n_threads=self.n_threads, device=self.device)

    @functools.cached_property
    def _input(self) -> tuple[str, type[np.generic]]:
        """Name and type of the input, checked against the settings."""
        name = self._file.choose("input", self.settings.input_name, tuple(self._runner.inputs))
        kind, shape = self._runner.inputs[name]
        size = "any" if self.settings.view == "whole" else self.settings.size
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
        (values,) = self._runner.run(name, self._prepare(pixels, dtype), [self._output])
        return np.asarray(self._pool(values[:n], self._output), dtype=np.float32)

    def _prepare(self, pixels: NDArray[np.uint8], dtype: type[np.generic]) -> NDArray[Any]:
        settings = self.settings
        batch: NDArray[Any] = pixels
        if settings.view == "centre":
            start = (settings.resize - settings.size) // 2
            batch = pixels[:, start : start + settings.size, start : start + settings.size]
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
