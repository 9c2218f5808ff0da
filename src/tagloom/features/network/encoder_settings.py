"""The TOML file that describes an ONNX image encoder, checked key by key."""

import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tagloom.exceptions import ModelError

__all__ = ["EncoderSettings"]

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
    """How pixels become a network's input, and its output a row.

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
