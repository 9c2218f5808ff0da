"""Settings: a flag wins over an environment variable, that over ``tagloom.toml``, that over the default.

Every setting is one field of `Settings`; its kind and range stand beside it, its meaning in the docstring.
"""

import difflib
import json
import math
import os
import stat
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Protocol, get_origin, get_type_hints

from tagloom.core import SidecarName, cpu_count
from tagloom.exceptions import SettingsError

__all__ = [
    "ENVIRONMENT_PREFIX",
    "PROJECT_FILE_NAME",
    "Settings",
    "load_settings",
    "raises_limits",
    "read_project_file",
    "setting_names",
]


# What a setting may be: each kind reads text and typed values, and says in words what it expects.

NOTHING = ("auto", "none")


class Kind(Protocol):
    """How one kind of setting is read."""

    @property
    def expected(self) -> str:
        """What a value must be, in words."""

    def parse(self, value: Any) -> Any:
        """Return the value in its final type; raise ValueError where it does not fit."""


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().casefold() in NOTHING)


@dataclass(frozen=True)
class Integer:
    """A whole number in a range, or (if ``optional``) None, in text "auto".

    Parameters
    ----------
    minimum, maximum : int
        The range, ends included.
    optional : bool, default=False
        Whether tagloom may choose itself.
    """

    minimum: int
    maximum: int
    optional: bool = False

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return f"a whole number from {self.minimum} to {self.maximum}" + (' or "auto"' if self.optional else "")

    def parse(self, value: Any) -> int | None:
        """Return the number."""
        if self.optional and _is_nothing(value):
            return None
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError(value)
        number = int(value)
        if not self.minimum <= number <= self.maximum:
            raise ValueError(value)
        return number


@dataclass(frozen=True)
class Number:
    """A finite number above ``above`` and at most ``maximum``.

    Parameters
    ----------
    above, maximum : float
        The range; the lower end is left out.
    """

    above: float
    maximum: float

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return f"a number above {self.above:g} and at most {self.maximum:g}"

    def parse(self, value: Any) -> float:
        """Return the number."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(value)
        number = float(value)
        if not math.isfinite(number) or not self.above < number <= self.maximum:
            raise ValueError(value)
        return number


@dataclass(frozen=True)
class Choice:
    """One of a few words, in any case.

    Parameters
    ----------
    words : tuple of str
        The words as tagloom writes them.
    """

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return "one of " + ", ".join(f'"{word}"' for word in self.words)

    def parse(self, value: Any) -> str:
        """Return the word."""
        if isinstance(value, str):
            for word in self.words:
                if word.casefold() == value.strip().casefold():
                    return word
        raise ValueError(value)


@dataclass(frozen=True)
class Word:
    """A name without blanks; whoever looks it up knows which names exist."""

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return "a name without blanks"

    def parse(self, value: Any) -> str:
        """Return the name."""
        if not isinstance(value, str) or len(value.split()) != 1 or not value.strip().isprintable():
            raise ValueError(value)
        return value.strip()


@dataclass(frozen=True)
class Names:
    """One or more distinct names; in text they are separated by commas."""

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return 'a list of distinct names such as ["color", "deep"] (in a variable or flag: color,deep)'

    def parse(self, value: Any) -> tuple[str, ...]:
        """Return the names."""
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, Sequence) or not parts:
            raise ValueError(value)
        names = tuple(Word().parse(part) for part in parts)
        if len(set(names)) != len(names):
            raise ValueError(value)
        return names


@dataclass(frozen=True)
class OptionalPath:
    """A path, or None (in text "none").

    A relative path stays relative: only the reader of the setting knows which folder it is relative to.
    """

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return 'a path or "none"'

    def parse(self, value: Any) -> Path | None:
        """Return the path."""
        if _is_nothing(value):
            return None
        if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
            raise ValueError(value)
        return Path(value)


@dataclass(frozen=True)
class Parameters:
    """Parameters by method: plain values by name, by method; "" stands for the method in use.

    Text is JSON, such as ``{"nova": {"penalty": "scad"}}``. A list holds lines ``name=value`` or ``method.name=value``,
    as a person types them. Which names and values a method takes is known to `tagloom.learning.methods`.
    """

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return "plain values by parameter and method, such as penalty=scad or nova.penalty=scad"

    def parse(self, value: Any) -> dict[str, dict[str, Any]]:
        """Return ``{method: {name: value}}``, without methods of which nothing is set."""
        if _is_nothing(value):
            return {}
        if isinstance(value, str):
            value = json.loads(value)
        if isinstance(value, Sequence):
            value = self._assigned(value)
        if not isinstance(value, Mapping):
            raise TypeError(value)
        found = {}
        for method, table in value.items():
            if not isinstance(method, str) or not isinstance(table, Mapping):
                raise TypeError(value)
            for name, one in table.items():
                if not isinstance(name, str) or not name or not all(map(_is_plain, _as_items(one))):
                    raise ValueError(value)
            found[method] = dict(table)
        return {method: table for method, table in found.items() if table}

    @staticmethod
    def _assigned(lines: Sequence[Any]) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for line in lines:
            name, separator, text = line.partition("=")
            if not separator or not name.strip() or not text.strip():
                raise ValueError(line)
            method, _, parameter = name.strip().rpartition(".")
            try:
                value = tomllib.loads(f"value = {text.strip()}")["value"]
            except tomllib.TOMLDecodeError:  # a word needs no quotation marks
                value = text.strip()
            found.setdefault(method, {})[parameter] = value
        return found


def _as_items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


PROJECT_FILE_NAME = "tagloom.toml"
ENVIRONMENT_PREFIX = "TAGLOOM_"
DEFAULT_ORIGIN = "default"
IN_USE = ""
"""Stands for the method in use where parameters are set by method."""
LONGEST_FILE = 1_000_000
#: What a photo, or all the work, may cost: a project that is not trusted cannot raise these.
LIMITS = frozenset(
    {
        "batch_size",
        "budget_seconds",
        "deadline_seconds",
        "max_megapixels",
        "memory_limit_mb",
        "n_threads",
        "n_workers",
        "vocabulary_photos",
        "vocabulary_words",
    }
)
#: Options of commands that set a value.
_FLAGS = {
    "method": "--method",
    "method_parameters": "--set",
    "n_keywords": "--keywords",
    "n_neighbors": "--neighbors",
    "descriptors": "--groups",
    "encoder": "--encoder",
    "absent_means": "--absent-means",
    "n_workers": "--workers",
    "n_threads": "--threads",
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that can be set, validated.

    Made by hand, ``Settings(n_keywords=7)`` validates too. `load_settings` makes one from flags, environment and
    project file, and records where each value came from.

    Parameters
    ----------
    method : str, default="auto"
        Learning method; "default" is the default one.
    method_parameters : mapping, default={}
        Parameters of methods; in ``tagloom.toml`` each method has a table, such as ``[method.nova]``.
    n_keywords : int, default=5
        Most suggestions per photo; 0 means all.
    n_neighbors : int, default=15
        Neighbours per photo in the graph.
    descriptors : tuple of str, default=("default",)
        Feature groups or descriptors to compute; "default" is the default set.
    encoder : Path or None, default=None
        TOML file of your own ONNX encoder, used instead of the bundled network.
    vocabulary_words : int, default=500
        Words of the visual vocabularies behind the groups ``words`` and ``blobs``.
    vocabulary_photos : int, default=500
        Photos that a vocabulary is learned from; ``blobs`` takes four times as many.
    absent_means : {"no", "unknown"}, default="no"
        Whether a tag missing on a labelled photo is rejected ("no") or undecided ("unknown").
    sidecar_names : {"photo.jpg.xmp", "photo.xmp"}, default="photo.jpg.xmp"
        File name of new sidecars.
    budget_seconds : float, default=300
        Seconds after which the method ``auto`` stops trying candidates.
    precision : float, default=0.9
        Precision that a project wants for suggestions above the threshold.
    n_workers : int or None, default=None
        Processes that decode photos; None (in text "auto") means one per core.
    n_threads : int or None, default=None
        Threads for computing; None (in text "auto") means one per core.
    batch_size : int, default=64
        Photos in memory at a time between decoding and features.
    deadline_seconds : float, default=30
        Seconds after which tagloom gives up decoding a photo.
    memory_limit_mb : int, default=2048
        Memory of one decoding process, in MiB.
    max_megapixels : int, default=500
        Size above which a photo is not decoded.
    report_photos : int, default=2000
        Photos shown in report.html.
    n_backups : int, default=5
        Automatic backups that a project keeps; 0 makes none.
    log_level : {"DEBUG", "INFO", "WARNING", "ERROR"}, default="INFO"
        How much is written to the log file.
    origins : mapping, default={}
        Where each setting was set that is not at its default.
    ignored : tuple of str, default=()
        Settings that are ignored because the project is not trusted.
    """

    method: Annotated[str, Word()] = "auto"
    method_parameters: Annotated[Mapping[str, Mapping[str, Any]], Parameters()] = field(
        default_factory=dict, hash=False
    )
    n_keywords: Annotated[int, Integer(0, 100000)] = 5
    n_neighbors: Annotated[int, Integer(1, 1000)] = 15
    descriptors: Annotated[tuple[str, ...], Names()] = ("default",)
    encoder: Annotated[Path | None, OptionalPath()] = None
    vocabulary_words: Annotated[int, Integer(2, 100000)] = 500
    vocabulary_photos: Annotated[int, Integer(1, 1000000)] = 500
    absent_means: Annotated[Literal["no", "unknown"], Choice(("no", "unknown"))] = "no"
    sidecar_names: Annotated[SidecarName, Choice(("photo.jpg.xmp", "photo.xmp"))] = "photo.jpg.xmp"
    budget_seconds: Annotated[float, Number(0, 86400)] = 300.0
    precision: Annotated[float, Number(0, 0.999)] = 0.9
    n_workers: Annotated[int | None, Integer(1, 1024, optional=True)] = None
    n_threads: Annotated[int | None, Integer(1, 1024, optional=True)] = None
    batch_size: Annotated[int, Integer(1, 65536)] = 64
    deadline_seconds: Annotated[float, Number(0, 86400)] = 30.0
    memory_limit_mb: Annotated[int, Integer(512, 2**20)] = 2048
    max_megapixels: Annotated[int, Integer(1, 100000)] = 500
    report_photos: Annotated[int, Integer(0, 100000)] = 2000
    n_backups: Annotated[int, Integer(0, 1000)] = 5
    log_level: Annotated[str, Choice(("DEBUG", "INFO", "WARNING", "ERROR"))] = "INFO"
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    ignored: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "origins", MappingProxyType(dict(self.origins)))
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            try:
                parsed = kind.parse(value)
            except (ValueError, TypeError, OverflowError) as error:
                place = f" ({self.origins[name]})" if name in self.origins else ""
                raise SettingsError(f"{name}{place} must be {kind.expected}, got {value!r}") from error
            object.__setattr__(self, name, parsed)

    def origin(self, name: str) -> str:
        """Return where a setting's value came from: "default", or the flag, variable or file in words.

        Parameters
        ----------
        name : str
            The setting.
        """
        _check_name(name, "settings")
        return self.origins.get(name, DEFAULT_ORIGIN)

    def parameters_of(self, method: str) -> dict[str, Any]:
        """Return the parameters that are set for a method, those of the method in use among them.

        Parameters
        ----------
        method : str
            The method.
        """
        return {**self.method_parameters.get(method, {}), **self.method_parameters.get(IN_USE, {})}

    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """Return (name, value as text, origin) of every setting, for a report."""
        return tuple((name, _value_text(getattr(self, name), kind), self.origin(name)) for name, kind in _KINDS.items())


_KINDS: dict[str, Kind] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Settings, include_extras=True).items()
    if get_origin(hint) is Annotated
}


def setting_names() -> tuple[str, ...]:
    """Return the names of all settings."""
    return tuple(_KINDS)


def raises_limits(name: str, value: Any) -> bool:
    """Tell whether a setting names a file to run, or may raise what tagloom uses above the default.

    Parameters of methods may: a million rounds, or a matrix that fills the memory.
    """
    if isinstance(_KINDS[name], Parameters):
        return bool(value)
    if name not in LIMITS and not isinstance(_KINDS[name], OptionalPath):
        return False
    try:
        found, usual = _KINDS[name].parse(value), getattr(Settings, name)
    except (ValueError, TypeError, OverflowError):
        return False  # is an error of its own
    if name not in LIMITS:
        return found is not None
    return found is not None and bool(found > (cpu_count() if usual is None else usual))


def load_settings(
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    project_file: str | Path | None = None,
    *,
    said: Mapping[str, Any] | None = None,
    ignored: Collection[str] = (),
) -> Settings:
    """Put settings together: flag > environment > project file > default.

    Parameters
    ----------
    flags : mapping, optional
        ``{setting: value}`` from the command line, typed or as text; None is a flag that was not given.
    environ : mapping, optional
        Environment variables, such as ``os.environ``. ``TAGLOOM_N_KEYWORDS`` sets ``n_keywords``; an empty value
        counts as not set. Other variables are left alone.
    project_file : path, optional
        ``tagloom.toml``; that it does not exist is no error. A relative path in it is relative to its folder.
    said : mapping, optional
        What `read_project_file` has returned of the file, which may be another one by now. Default: it is read.
    ignored : collection of str
        Settings in the file that do not count.

    Returns
    -------
    Settings
        Validated; ``.origin(name)`` tells where a value came from.

    Raises
    ------
    SettingsError
        If a value does not fit, a name is not known, or the file cannot be read. The message says where it was set.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    if project_file is not None:
        path = Path(project_file)
        place = f"in {_printable(str(path))}"
        for name, value in (read_project_file(path) if said is None else said).items():
            if name in ignored:
                continue
            if isinstance(_KINDS[name], Parameters):
                _merge_parameters(values, origins, value, place)
                continue
            is_relative_path = isinstance(_KINDS[name], OptionalPath) and isinstance(value, str)
            values[name] = _below(path.parent, value) if is_relative_path else value
            origins[name] = place
    for name in _KINDS:
        variable = ENVIRONMENT_PREFIX + name.upper()
        if environ is not None and environ.get(variable, "").strip():
            if isinstance(_KINDS[name], Parameters):
                _merge_parameters(values, origins, environ[variable], f"environment variable {variable}")
                continue
            values[name], origins[name] = environ[variable], f"environment variable {variable}"
    for name, value in (flags or {}).items():
        _check_name(name, "flags")
        if value is None:
            continue
        if isinstance(_KINDS[name], Parameters):
            if value:
                _merge_parameters(values, origins, value, _flag(name))
            continue
        values[name], origins[name] = value, _flag(name)
    return Settings(**values, origins=origins)


def _merge_parameters(values: dict[str, Any], origins: dict[str, str], value: Any, place: str) -> None:
    """Put parameters of methods over those of an earlier place, one by one."""
    name, kind = "method_parameters", Parameters()
    try:
        found = kind.parse(value)
    except (ValueError, TypeError, AttributeError) as error:
        raise SettingsError(f"{name} ({place}) must be {kind.expected}, got {value!r}") from error
    before: dict[str, dict[str, Any]] = values.get(name, {})
    values[name] = before | {method: before.get(method, {}) | table for method, table in found.items()}
    origins[name] = place


def _flag(name: str) -> str:
    """Return where a value comes from, as a person gave it."""
    return f"flag {_FLAGS[name]}" if name in _FLAGS else f"flags[{name!r}]"


def _below(folder: Path, text: str) -> Path | None:
    path = OptionalPath().parse(text) if text.strip() else None
    return None if path is None else folder / path


def read_project_file(path: Path) -> dict[str, Any]:
    """Return what ``tagloom.toml`` says, nothing where there is none.

    Raises
    ------
    SettingsError
        If a name is not known, or the file cannot be read.
    """
    place = f"in {_printable(str(path))}"
    try:
        # One file from here on, whatever comes to have its name; a pipe is not waited for.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise SettingsError(f"settings {place}: expected a file, got something else; move it away")
            data = file.read(LONGEST_FILE + 1)
        if len(data) > LONGEST_FILE:
            raise SettingsError(f"settings {place}: larger than {LONGEST_FILE} bytes; move it away")
        found = tomllib.loads(data.decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except IsADirectoryError as error:
        raise SettingsError(f"settings {place}: expected a file, got something else; move it away") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"settings {place}: expected UTF-8 text, got {error.reason}; save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"settings {place}: not valid TOML ({error}); write one setting per line, such as n_keywords = 5"
        ) from error
    except OSError as error:
        raise SettingsError(f"settings {place}: cannot be read ({error.strerror or error})") from error
    except RecursionError as error:
        raise SettingsError(f"settings {place}: nested too deeply; write one setting per line") from error
    found = _with_method_tables(found, place)
    for name in found:
        _check_name(name, place)
    return found


def _with_method_tables(found: dict[str, Any], place: str) -> dict[str, Any]:
    """Return what a file says, its table ``[method]`` as the method's name and the methods' parameters."""
    table = found.get("method")
    if not isinstance(table, dict):
        return found
    rest = {name: value for name, value in found.items() if name != "method"}
    for name, value in table.items():
        if isinstance(value, dict):
            rest.setdefault("method_parameters", {})[name] = value
        elif name == "name":
            rest["method"] = value
        else:
            raise SettingsError(
                f"settings {place}: {name!r} does not belong in [method]; write [method.NAME] for the parameters of a "
                f'method, and name = "ridge" in [method] to choose one'
            )
    return rest


def _check_name(name: str, place: str) -> None:
    if name in _KINDS:
        return
    close = difflib.get_close_matches(name.replace("-", "_").lower(), list(_KINDS), n=1)
    remedy = f"did you mean {close[0]}?" if close else f"known are {', '.join(_KINDS)}"
    raise SettingsError(f"no setting {name!r} ({place}); {remedy}")


def _value_text(value: Any, kind: Kind) -> str:
    if value is None:
        return "none" if isinstance(kind, OptionalPath) else "auto"
    if isinstance(kind, Parameters):
        return _printable(json.dumps(value)) if value else "none"
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else _printable(str(value))


def _printable(text: str) -> str:
    return text.encode("utf-8", errors="backslashreplace").decode("utf-8")
