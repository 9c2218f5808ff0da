"""Encoders of a user: described once, kept under a name in the user's folder, listed and tried out."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tagloom.catalog import Result
from tagloom.core import config_folder, write_text
from tagloom.exceptions import InvalidInputError, ModelError, PhotosError
from tagloom.features import EncoderSettings, OnnxEncoder
from tagloom.features.network import PREPROCESSOR, OnnxFile, added_encoders
from tagloom.images import DecodePool

__all__ = ["EncoderTrial", "ListedEncoder", "add_encoder", "list_encoders", "try_encoder"]

#: How common exports call things, the most telling first.
_PIXELS = ("pixel_values", "pixels", "image", "images", "input")
_TOKENS = ("input_ids", "tokens", "text")
_OF_IMAGE = ("image_embeds", "pooler_output", "image_features", "embedding", "last_hidden_state")
_OF_TEXT = ("text_embeds", "pooler_output", "text_features", "embedding")
_IMAGE_FILES = ("vision_model.onnx", "visual.onnx", "image_encoder.onnx", "model.onnx")
_TEXT_FILES = ("text_model.onnx", "textual.onnx", "text_encoder.onnx")
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderTrial(Result):
    """What a trial of an encoder found.

    Parameters
    ----------
    name : str
        The encoder.
    settings : str
        Its TOML file.
    n_columns : int
        Features of a photo.
    milliseconds : float
        Time of one photo by itself, after the first.
    reads_text : bool
        Whether it has a text tower that fits.
    words : tuple of tuple
        For each photo that was named: the photo, and the everyday words that fit it best, each with its share.
    """

    name: str
    settings: str
    n_columns: int
    milliseconds: float
    reads_text: bool
    words: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class ListedEncoder(Result):
    """An encoder that was added.

    Parameters
    ----------
    name : str
        The encoder.
    settings : str
        Its TOML file.
    model : str
        Its ONNX file; empty where the TOML file is not right.
    reads_text : bool
        Whether it has a text tower.
    problem : str
        Why it cannot be used, or empty.
    """

    name: str
    settings: str
    model: str
    reads_text: bool
    problem: str


def list_encoders() -> tuple[ListedEncoder, ...]:
    """Return the encoders that this user added; no model is opened."""
    found = []
    for name, path in added_encoders().items():
        try:
            settings = EncoderSettings.from_toml(path)
        except ModelError as error:
            found.append(ListedEncoder(name, str(path), "", False, str(error)))
            continue
        gone = "" if settings.model.is_file() else f"{str(settings.model)!r} is not there"
        found.append(ListedEncoder(name, str(path), str(settings.model), settings.text is not None, gone))
    return tuple(found)


def try_encoder(path: str | os.PathLike[str], photos: Sequence[str | os.PathLike[str]] = ()) -> EncoderTrial:
    """Run an encoder once, and tell what it gives.

    Parameters
    ----------
    path : path
        Its TOML file, or its name.
    photos : sequence of path
        Photos to run it on; with a text tower, everyday words are found for them. Default: a grey square.

    Raises
    ------
    ModelError
        If it cannot be used.
    """
    encoder = OnnxEncoder.from_toml(path, n_threads=1)
    size = sum(encoder.outputs.values())
    reads = encoder.text
    if reads is not None:
        reads.check(size)
    words = []
    if photos:
        with DecodePool(encoder.renditions, n_workers=1) as pool:
            for photo in pool.decode([os.fsencode(one) for one in photos]):
                if not photo.record.ok:
                    raise PhotosError(f"cannot read {os.fsdecode(photo.record.path)!r}: {photo.record.detail}")
                (row,) = encoder.compute([photo])
                seen = () if reads is None else tuple(reads.seen(row))
                words.append((os.fsdecode(photo.record.path), seen))
    return EncoderTrial(
        name=encoder.name,
        settings=str(path),
        n_columns=size,
        milliseconds=1000.0 * encoder.seconds_of_one(),
        reads_text=reads is not None,
        words=tuple(words),
    )


def add_encoder(source: str | os.PathLike[str], *, name: str = "", size: int | None = None) -> EncoderTrial:
    """Describe an encoder, run it once, and keep it under a name.

    Parameters
    ----------
    source : path
        A TOML file, an ONNX file, or a folder with the files of an export: ``vision_model.onnx`` and
        ``text_model.onnx``, or ``model.onnx``, in the folder or its subfolder ``onnx``.
    name : str, optional
        How to call it; default: that of the TOML file, of the folder or of the file.
    size : int, optional
        Side of the square it takes, where neither the model nor ``preprocessor_config.json`` tells.

    Raises
    ------
    ModelError
        If it cannot be described or does not run; nothing is kept then.
    """
    source = Path(source).resolve()
    folder = config_folder() / "encoders"
    folder.mkdir(parents=True, exist_ok=True)
    trial = folder / f"trial-{os.getpid()}.new"
    try:
        if source.suffix == ".toml":
            settings = EncoderSettings.from_toml(source)
        else:
            write_text(trial, _described(source, _plain_name(name or source.stem), size))
            settings = EncoderSettings.from_toml(trial)
        called = _plain_name(name or settings.name)
        write_text(trial, _toml(replace(settings, name=called)))
        found = try_encoder(trial)
        os.replace(trial, folder / f"{called}.toml")
    finally:
        trial.unlink(missing_ok=True)
    return replace(found, settings=str(folder / f"{called}.toml"))


def _toml(settings: EncoderSettings) -> str:
    """Return settings as a TOML file with whole paths, as it will lie elsewhere than the models."""
    one = settings
    source: dict[str, Any] = {"name": one.input_name, "size": one.size, "resize": one.resize, "view": one.view}
    source |= {"filter": one.filter, "scale": one.scale, "mean": list(one.mean), "std": list(one.std)}
    source |= {"channels": one.channels, "layout": one.layout}
    tables: dict[str, dict[str, Any]] = {"": {"name": one.name, "model": one.model}, "input": source}
    tables["output"] = {"name": one.output_name, "pooling": one.pooling}
    if one.text is not None:
        text = one.text
        tables["text"] = {"model": text.model, "tokenizer": text.tokenizer}
        tables["text"] |= {"input": text.input_name, "output": text.output_name, "length": text.length, "pad": text.pad}
        tables["text"] |= {"lower": text.lower, "templates": list(text.templates), "scale": text.scale}
    lines = list[str]()
    for name, table in tables.items():
        lines += [f"[{name}]"] if name else []
        lines += [*(f"{key} = {_as_toml(value)}" for key, value in table.items() if value not in ("", 0)), ""]
    return "\n".join(lines)


def _as_toml(value: Any) -> str:
    return json.dumps(value.as_posix() if isinstance(value, Path) else value, ensure_ascii=False)


def _described(source: Path, name: str, size: int | None) -> str:
    """Return the TOML file of an export."""
    image = source if source.is_file() else _first(source, _IMAGE_FILES)
    if image is None:
        raise ModelError(f"no {', '.join(_IMAGE_FILES)} in {str(source)!r} or its subfolder onnx; name the ONNX file")
    file = OnnxFile(image)
    pixels = _pick(file.inputs, _PIXELS, f"input of {file.label}")
    alone = file.outputs_of(pixels)
    if not alone:
        raise ModelError(
            f"no output of {file.label} needs {pixels!r} alone (it takes {', '.join(file.inputs)}); export the image "
            "tower by itself"
        )
    output = _pick(alone, _OF_IMAGE, f"output of {file.label}")
    lines = [f"name = {_as_toml(name)}", f"model = {_as_toml(image)}", "", "[input]", f"name = {_as_toml(pixels)}"]
    shape = file.open(output, n_threads=1).inputs[pixels][1]
    layout = "NHWC" if len(shape) == 4 and shape[3] == 3 else "NCHW"
    sides = {side for side in (shape[1:3] if layout == "NHWC" else shape[2:]) if isinstance(side, int)}
    if size or len(sides) == 1:
        lines.append(f"size = {size or sides.pop()}")
    elif not (image.parent / PREPROCESSOR).exists():
        raise ModelError(f"{file.label} takes pictures of any size, and no {PREPROCESSOR} is beside it; say --size 224")
    if not (image.parent / PREPROCESSOR).exists():
        lines += [
            "mean = [0.5, 0.5, 0.5]  # there was no preprocessor_config.json: correct these",
            "std = [0.5, 0.5, 0.5]",
        ]
    lines += [f'layout = "{layout}"'] if layout == "NHWC" else []
    lines += ["", "[output]", f"name = {_as_toml(output)}"]
    lines += ['pooling = "cls"'] if output == "last_hidden_state" else []
    return "\n".join([*lines, *_described_text(source, image, file)]) + "\n"


def _described_text(source: Path, image: Path, file: OnnxFile) -> list[str]:
    """Return the section of the text tower, empty where there is none."""
    model = _first(source, _TEXT_FILES) if source.is_dir() else None
    tower = OnnxFile(model) if model is not None else file
    tokens = [one for one in _TOKENS if one in tower.inputs]
    folders = dict.fromkeys((source if source.is_dir() else source.parent, image.parent, image.parent.parent))
    tokenizer = next((folder / TOKENIZER for folder in folders if (folder / TOKENIZER).is_file()), None)
    if not tokens or tokenizer is None:
        return []
    given = [one for one in tower.outputs if set(tower.inputs_of(one)) <= {tokens[0], "attention_mask"}]
    if not given:
        return []
    output = _pick(given, _OF_TEXT, f"output of {tower.label}")
    lines = ["", "[text]", f"model = {_as_toml(tower.path)}", f"tokenizer = {_as_toml(tokenizer)}"]
    lines += [f"input = {_as_toml(tokens[0])}", f"output = {_as_toml(output)}"]
    length = tower.open(output, n_threads=1).inputs[tokens[0]][1][1]
    return [*lines, f"length = {length}"] if isinstance(length, int) else lines


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    if not folder.is_dir():
        raise ModelError(f"expected an ONNX file, a TOML file or a folder with them, but {str(folder)!r} is none")
    places = (place / name for name in names for place in (folder, folder / "onnx"))
    return next((place for place in places if place.is_file()), None)


def _pick(present: Sequence[str], usual: Sequence[str], what: str) -> str:
    """Return the only name, or the first usual one."""
    found = [name for name in usual if name in present]
    if len(present) == 1 or found:
        return found[0] if found else present[0]
    raise ModelError(f"cannot tell which {what} is meant: it has {', '.join(present)}; write a TOML file that names it")


def _plain_name(text: str) -> str:
    """Return a name of small letters, digits and hyphens."""
    found = re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-_")
    found = found if found[:1].isalpha() else f"encoder-{found}".rstrip("-")
    if not found:
        raise InvalidInputError(f"expected a name with letters, got {text!r}")
    return found
