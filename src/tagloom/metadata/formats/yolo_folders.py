"""YOLO classification: photos in folders that are their classes, below train, val and test."""

import os
from collections.abc import Iterator
from pathlib import Path

from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said

__all__ = ["is_yolo_folder", "read_yolo_folders"]

_SPLITS = ("train", "val", "valid", "validation", "test")


def is_yolo_folder(path: Path) -> bool:
    """Tell whether a folder holds train, val or test with folders of classes."""
    return any(_classes(path / split) for split in _SPLITS)


def read_yolo_folders(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:  # noqa: ARG001
    """Yield for each file the class whose folder it lies in. The photos themselves are not opened.

    Parameters
    ----------
    path : Path
        The folder of the dataset.
    options : ReadOptions
        Not needed here.
    notes : Notes
        Collects folders whose name is no keyword.
    """
    if not is_yolo_folder(path):
        raise LabelsFileError(f"{notes.source} holds no folders such as train/cat and val/cat")
    for split in _SPLITS:
        for folder in _classes(path / split):
            place = f"folder {split}/{folder.name}"
            keywords = notes.keywords(place, folder.name)
            with os.scandir(folder) as entries:
                names = sorted(entry.path for entry in entries if entry.is_file() and not entry.name.startswith("."))
            for name in names if keywords else ():
                yield Said(place, name, keywords)  # the longest end of the whole path that is a photo decides


def _classes(split: Path) -> list[Path]:
    if not split.is_dir():
        return []
    return sorted(each for each in split.iterdir() if each.is_dir() and not each.name.startswith("."))
