"""FiftyOne: image classification datasets as JSON."""

import contextlib
import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from tagloom.core import PhotoKeywords, atomic_write
from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats.exporting import (
    ACCEPTED,
    SUGGESTED,
    Chosen,
    ExportOptions,
    ExportReport,
    Tally,
    is_plain_name,
    make_folder,
    media_type,
    sample_key,
)
from tagloom.metadata.formats.json_text import JsonEntry, iter_entries, parse_line, read_json_text, write_json
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said, shown
from tagloom.metadata.names import name_to_text

__all__ = ["FiftyOneExporter", "read_fiftyone"]

VIDEOS = "videos"


def read_fiftyone(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    """Yield classifications and tags of each sample; a classification that has a confidence is a model's word.

    Parameters
    ----------
    path : Path
        ``labels.json`` of an image classification dataset (``data.json`` beside it tells the photos' paths), or
        ``samples.json`` of a whole dataset, or the folder that holds one of them.
    options : ReadOptions
        Which field of the samples to read; by default all that are classifications, and the samples' tags.
    notes : Notes
        Is told of samples that cannot be understood.
    """
    if path.is_dir():
        videos = path / VIDEOS
        path = next((path / name for name in ("labels.json", "samples.json") if (path / name).is_file()), path)
        notes.source = path.name
        if (videos / "labels.json").is_file():
            yield from read_fiftyone(videos / "labels.json", options, notes)
    paths = _manifest(path.with_name("data.json"))
    classes: list[Any] = []
    for entry in iter_entries(read_json_text(path), notes.problem):
        place = f"line {entry.line}"
        if entry.section == "classes":
            classes += [entry.value] if isinstance(entry.value, str) else []
        elif entry.section == "labels" and entry.key:
            name = paths.get(entry.key)
            labels = _classifications(entry.value, classes, place, notes)
            yield from _said(place, name or entry.key, labels, notes, stem=name is None)
        elif entry.section == "not_labels" and entry.key:
            name = paths.get(entry.key)
            no = notes.keywords(place, entry.value)
            yield Said(place, name or entry.key, no=no, stem=name is None)
        elif entry.section == "samples":
            yield from _sample(entry, options, notes)


class FiftyOneExporter:
    """Writes ``labels.json`` and ``data.json`` into a folder, as ``FiftyOneImageClassificationDataset`` has them.

    Samples are found by keys made from the paths, so that ``a.jpg`` and ``a.png`` stay two; ``data.json`` maps each key
    to the photo's path, below ``photo_root`` where that is given. A suggested keyword has a confidence. Rejected
    keywords are under ``not_labels``, which FiftyOne does not look at. A dataset of FiftyOne holds photos or videos:
    the same two files for videos, with ``media_type`` "video", are in the folder ``videos``.
    """

    name = "fiftyone"
    description = "FiftyOne image classification dataset: a folder with labels.json and data.json"

    def files(self, target: Path) -> tuple[Path, ...]:
        """Return the files that are written: labels and manifest of the photos, and of the videos if there are any."""
        return tuple(folder / name for folder in (target, target / VIDEOS) for name in ("labels.json", "data.json"))

    def write(self, photos: Iterable[PhotoKeywords], target: Path, options: ExportOptions) -> ExportReport:
        """Write the files.

        Parameters
        ----------
        photos : iterable of PhotoKeywords
            Consumed as it goes.
        target : Path
            The folder; made if it is missing.
        options : ExportOptions
            What to include, and where the photos are.
        """
        tally = Tally(options)
        with contextlib.ExitStack() as stack:
            datasets = {False: stack.enter_context(_dataset(target, options, {}))}
            for chosen in tally.choose(photos):
                kind = media_type(chosen.photo.photo)
                if bool(kind) not in datasets:
                    datasets[True] = stack.enter_context(_dataset(target / VIDEOS, options, kind))
                datasets[bool(kind)].add(chosen)
                if not is_plain_name(chosen.photo.photo):
                    name = name_to_text(chosen.photo.photo)
                    tally.warn(f"{name} is written so, since its name is not UTF-8; FiftyOne will not find the photo")
                tally.wrote(chosen)
        if len(datasets) > 1:
            tally.warn(
                "videos are a dataset of their own, in the folder videos: FiftyOne does not mix them with photos"
            )
        return tally.report(self.name, *self.files(target)[: 2 * len(datasets)])


class _Dataset:
    """The two files of a dataset, written sample by sample."""

    def __init__(self, labels: IO[bytes], data: IO[bytes], root: str) -> None:
        self._labels, self._data, self._root = labels, data, root
        self._n = 0
        self.denied: dict[str, list[str]] = {}

    def add(self, chosen: Chosen) -> None:
        before, self._n = b",\n" if self._n else b"", self._n + 1
        key = sample_key(chosen.photo.photo)
        path = posixpath.join(self._root, name_to_text(chosen.photo.photo))
        self._data.write(before + _member(key, path))
        self._labels.write(before + _member(key, _targets(chosen)))
        if chosen.rejected:
            self.denied[key] = [keyword.text for keyword in chosen.rejected]


@contextlib.contextmanager
def _dataset(folder: Path, options: ExportOptions, kind: dict[str, str]) -> Iterator[_Dataset]:
    make_folder(folder)
    with atomic_write(folder / "labels.json") as labels, atomic_write(folder / "data.json") as data:
        labels.write(b"{" + b"".join(_member(*item) + b"," for item in kind.items()) + b'"classes":null,\n"labels":{\n')
        data.write(b"{\n")
        dataset = _Dataset(labels, data, options.photo_root)
        yield dataset
        labels.write(b'\n},\n"not_labels":' + write_json(dataset.denied) + b"}\n")
        data.write(b"\n}\n")


def _member(key: str, value: Any) -> bytes:
    return write_json(key) + b":" + write_json(value)


def _targets(chosen: Chosen) -> list[dict[str, Any]] | None:
    if chosen.is_empty:
        return None
    accepted = [{"label": keyword.text, "attributes": {"source": ACCEPTED}} for keyword in chosen.accepted]
    suggested = [
        {"label": keyword.text, "confidence": score, "attributes": {"source": SUGGESTED}}
        for keyword, score in chosen.suggested.items()
    ]
    return [*accepted, *suggested]


def _manifest(path: Path) -> dict[str, str]:
    """Return the photos' paths by key; nothing where there is no manifest."""
    if not path.is_file():
        return {}
    try:
        found = parse_line(read_json_text(path))
    except ValueError as error:
        raise LabelsFileError(
            f"data.json beside the labels cannot be read as JSON ({error}); remove or repair it"
        ) from error
    if not isinstance(found, dict):
        raise LabelsFileError(f"expected an object in data.json, got {shown(found)}; remove or repair it")
    return {key: _anchored(value) for key, value in found.items() if isinstance(value, str)}


def _anchored(path: str) -> str:
    """Return a path that may end in a photo's name: FiftyOne exports photos into a folder ``data`` of its own."""
    return f"/{path}" if path.startswith("data/") else path


def _sample(entry: JsonEntry, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    place, sample = f"line {entry.line}", entry.value
    name = sample.get("filepath") if isinstance(sample, dict) else None
    if not isinstance(name, str) or not name:
        notes.problem(place, f"expected a sample with a filepath, got {shown(sample)}")
        return
    name = _anchored(name)
    fields = [options.column] if options.column else [key for key, value in sample.items() if _is_classification(value)]
    if not options.column and sample.get("tags"):  # every sample has a list of tags: an empty one says nothing
        fields.append("tags")
    for key in fields:
        value = sample.get(key)
        if isinstance(value, dict):
            value = value.get("classifications", value)
        yield from _said(place, name, _classifications(value, [], place, notes), notes)


def _is_classification(value: Any) -> bool:
    return isinstance(value, dict) and value.get("_cls") in ("Classification", "Classifications")


def _classifications(value: Any, classes: list[Any], place: str, notes: Notes) -> list[tuple[Any, bool]] | None:
    """Return labels, each with whether a model said it; None where nothing is said."""
    if value is None:
        return None
    found: list[tuple[Any, bool]] = []
    for item in value if isinstance(value, list) else [value]:
        label, confidence = (item.get("label"), item.get("confidence")) if isinstance(item, dict) else (item, None)
        if isinstance(label, int) and not isinstance(label, bool):
            if not 0 <= label < len(classes):
                notes.problem(place, f"expected a class from 0 to {len(classes) - 1}, got {label}")
                continue
            label = classes[label]
        found.append((label, confidence is not None))
    # Labels of which none can be used are not the same as no labels.
    return found if found or value == [] else None


def _said(
    place: str, name: str, labels: list[tuple[Any, bool]] | None, notes: Notes, *, stem: bool = False
) -> Iterator[Said]:
    if labels is None:
        return
    suggested = notes.keywords(place, [label for label, guess in labels if guess])
    if suggested:
        yield Said(place, name, suggested, suggested=True, stem=stem)
    yes = notes.keywords(place, [label for label, guess in labels if not guess])
    if yes or not labels:
        yield Said(place, name, yes, stem=stem)
