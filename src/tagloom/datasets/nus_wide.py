"""NUS-WIDE: 269,648 Flickr photos with 81 concepts, six low-level feature groups and their users' tags."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tagloom.core import FeatureGroups, TagVocabulary
from tagloom.datasets._tables import (
    AnnotatedImages,
    check_choice,
    find_file,
    find_photos,
    read_names,
    read_numbers,
    read_states,
)
from tagloom.exceptions import InvalidInputError

__all__ = ["load_nus_wide"]

_SOURCE = "NUS-WIDE"
# Group: file names (with the part) and number of columns. The order is that of paper 004.
_GROUPS: dict[str, tuple[str, int]] = {
    "correlogram": ("{part}_Normalized_CORR.dat", 144),
    "edges": ("{part}_Normalized_EDH.dat", 73),
    "words": ("BoW_{part}_int.dat", 500),
    "color": ("{part}_Normalized_CH.dat", 64),
    "moments": ("{part}_Normalized_CM55.dat", 225),
    "wavelet": ("{part}_Normalized_WT.dat", 128),
}
# The archive of features unpacks to a folder in a folder; some keep all files in one.
_FEATURES = ("Low_Level_Features", "NUS_WID_Low_Level_Features/Low_Level_Features", ".")
_CONCEPTS = ("ConceptsList", ".")
_PARTED_LABELS = ("Groundtruth/TrainTestLabels", "TrainTestLabels", ".")
_ALL_LABELS = ("Groundtruth/AllLabels", "AllLabels", ".")
_LISTS = ("ImageList", ".")
_USER_TAGS = ("NUS_WID_Tags", "Tags", ".")
_PARTS = {"train": ("Train",), "test": ("Test",), "all": ("Train", "Test")}
_N_USER_TAGS = 1000


def load_nus_wide(
    folder: str | os.PathLike[str],
    *,
    part: str = "all",
    groups: tuple[str, ...] | None = None,
    concepts: tuple[str, ...] | None = None,
    images: str | os.PathLike[str] | None = None,
    user_tags: bool = False,
) -> AnnotatedImages:
    """Load NUS-WIDE (Chua et al. 2009) from the text files that its makers publish.

    Parameters
    ----------
    folder : path
        Holds the files in the folders they are published in, or all of them side by side:
        ``ConceptsList/Concepts81.txt``; ``Groundtruth/TrainTestLabels/Labels_<concept>_Train.txt`` and ``_Test.txt``,
        or ``Groundtruth/AllLabels/Labels_<concept>.txt`` alone; ``Low_Level_Features/`` with
        ``Train_Normalized_CORR.dat``, ``…_EDH``, ``…_CH``, ``…_CM55``, ``…_WT``, ``BoW_Train_int.dat``, and the same
        with Test; ``ImageList/TrainImagelist.txt``, ``TestImagelist.txt`` and ``Imagelist.txt``.
    part : {"all", "train", "test"}, default="all"
        The published parts of 161,789 and 107,859 photos. All features of both are 1.2 GB.
    groups : tuple of str, optional
        Some of "correlogram" (144), "edges" (73), "words" (500), "color" (64), "moments" (225) and "wavelet" (128), in
        the order wanted; an empty tuple leaves the features out. Default: all six.
    concepts : tuple of str, optional
        Only these of the 81 concepts.
    images : path, optional
        Folder of the photos, in folders by topic as the lists name them, or side by side. Default: without photos.
    user_tags : bool, default=False
        Whether to read the 1,000 most frequent tags of the photos' users: ``NUS_WID_Tags/Train_Tags1k.dat`` and
        ``Test_Tags1k.dat`` with ``TagList1k.txt``. A matrix of 1 GB while it is read.

    Returns
    -------
    AnnotatedImages
        Training rows first; splits "train" and "test" as far as loaded. Where the image lists are there, ``extras``
        has "image_names" as they name photos and "image_ids" of Flickr; with ``user_tags`` also "user_tags", 0 and 1,
        and "user_tag_names".

    Notes
    -----
    ``AllLabels`` have the order of ``Imagelist.txt``: with the lists of both parts rows are put in the order of these;
    without any list they stay as they are, no part can be chosen, and features, which come by part, cannot be loaded.
    """
    check_choice("part", part, tuple(_PARTS))
    for name in groups or ():
        check_choice("groups", name, tuple(_GROUPS))
    known = read_names(_find(folder, _CONCEPTS, "Concepts81.txt"))
    for concept in concepts or ():
        check_choice("concepts", concept, tuple(known))
    tags = tuple(known) if concepts is None else concepts
    wanted = tuple(_GROUPS) if groups is None else groups
    names = {one: _image_names(folder, f"{one}Imagelist.txt") for one in _PARTS[part]}
    Y, rows = _labelled(folder, tags, part, names, needs_parts=bool(wanted) or user_tags)
    sizes = FeatureGroups(wanted, [_GROUPS[name][1] for name in wanted]) if wanted else None
    listed = [name for one in _PARTS[part] for name in names[one]] if rows else _image_names(folder, "Imagelist.txt")
    if listed and len(listed) != len(Y):
        raise InvalidInputError(
            f"expected {len(Y)} names in the image lists of {_SOURCE} in {str(folder)!r}, found {len(listed)}; "
            "are they those of the same release?"
        )
    return AnnotatedImages(
        name=_SOURCE,
        tags=TagVocabulary(tags),
        Y=Y,
        X=_features(folder, rows, sizes) if sizes is not None else None,
        groups=sizes,
        paths=() if images is None else _photos(folder, images, listed),
        splits={name.lower(): numbers for name, numbers in rows.items()},
        extras=_ids_of(listed) | (_user_tags(folder, rows) if user_tags else {}),
    )


def _find(folder: str | os.PathLike[str], places: tuple[str, ...], name: str) -> Path:
    """Return the path of a file in the first of some folders that has it; the error names the first."""
    found = next((place for place in places if (Path(folder) / place / name).is_file()), places[0])
    return find_file(folder, name if found == "." else f"{found}/{name}", _SOURCE)


def _has(folder: str | os.PathLike[str], places: tuple[str, ...], name: str) -> bool:
    return any((Path(folder) / place / name).is_file() for place in places)


def _image_names(folder: str | os.PathLike[str], name: str) -> list[str]:
    """Return the names in an image list, folders parted by "/"; none where the list is not there."""
    if not _has(folder, _LISTS, name):
        return []
    text = _find(folder, _LISTS, name).read_text(encoding="utf-8", errors="replace")
    return [line.strip().replace("\\", "/") for line in text.splitlines() if line.strip()]


def _labelled(
    folder: str | os.PathLike[str],
    tags: tuple[str, ...],
    part: str,
    names: dict[str, list[str]],
    *,
    needs_parts: bool,
) -> tuple[NDArray[np.int8], dict[str, NDArray[np.intp]]]:
    """Return labels and the rows of each part; no parts where nothing tells them apart."""
    parts = _PARTS[part]
    if _has(folder, _PARTED_LABELS, f"Labels_{tags[0]}_{parts[0]}.txt") or not _has(
        folder, _ALL_LABELS, f"Labels_{tags[0]}.txt"
    ):
        labels = [_labels(folder, _PARTED_LABELS, tags, f"_{one}") for one in parts]
    else:
        Y = _labels(folder, _ALL_LABELS, tags, "")
        order = _image_names(folder, "Imagelist.txt")
        if not order or not all(names.values()):
            if part != "all" or needs_parts:
                raise InvalidInputError(
                    f"AllLabels of {_SOURCE} say nothing of its parts; put Imagelist.txt, TrainImagelist.txt and "
                    f"TestImagelist.txt in {str(folder)!r}, or load part='all' with groups=()"
                )
            return Y, {}
        row_of = {name: row for row, name in enumerate(order)}
        missing = next((name for one in parts for name in names[one] if name not in row_of), None)
        if missing is not None or len(order) != len(Y):
            what = f"the photo {missing!r}" if missing is not None else f"{len(Y)} photos"
            raise InvalidInputError(
                f"expected {what} in Imagelist.txt of {_SOURCE} in {str(folder)!r}; is it complete?"
            )
        labels = [Y[[row_of[name] for name in names[one]]] for one in parts]
    ends = np.cumsum([0, *map(len, labels)])
    return np.concatenate(labels), {one: np.arange(*ends[at : at + 2]) for at, one in enumerate(parts)}


def _labels(
    folder: str | os.PathLike[str], places: tuple[str, ...], tags: tuple[str, ...], suffix: str
) -> NDArray[np.int8]:
    """Read one file of 0 and 1 for each concept."""
    columns: list[NDArray[np.int8]] = []
    for tag in tags:
        path = _find(folder, places, f"Labels_{tag}{suffix}.txt")
        columns.append(_yes_and_no(path, 1, len(columns[0]) if columns else None))
    return np.concatenate(columns, axis=1)


def _yes_and_no(path: Path, n_columns: int, n_rows: int | None) -> NDArray[np.int8]:
    states = read_states(path, n_columns, n_rows)
    if states.min() < 0:
        raise InvalidInputError(f"expected 0 or 1 in every line of {str(path)!r}, found -1; is the file damaged?")
    return states


def _photos(folder: str | os.PathLike[str], images: str | os.PathLike[str], listed: list[str]) -> tuple[Path, ...]:
    if not listed:
        raise InvalidInputError(
            f"the image lists of {_SOURCE} name its photos; put TrainImagelist.txt and TestImagelist.txt in "
            f"{str(folder)!r}, or leave images out"
        )
    side_by_side = not (Path(images) / listed[0]).is_file()
    return find_photos(images, [name.rpartition("/")[2] if side_by_side else name for name in listed], _SOURCE)


def _ids_of(listed: list[str]) -> dict[str, NDArray[np.int64] | NDArray[np.str_]]:
    """Return names and Flickr's ids: ``actor/0001_2124494179.jpg`` has 2124494179; -1 where a name has none."""
    if not listed:
        return {}
    ids = [Path(name).stem.rpartition("_")[2] for name in listed]
    numbers = np.array([int(one) if one.isascii() and one.isdigit() else -1 for one in ids], dtype=np.int64)
    return {"image_names": np.array(listed), "image_ids": numbers}


def _user_tags(
    folder: str | os.PathLike[str], rows: dict[str, NDArray[np.intp]]
) -> dict[str, NDArray[np.int8] | NDArray[np.str_]]:
    names = read_names(_find(folder, _USER_TAGS, "TagList1k.txt"), _N_USER_TAGS)
    found = [
        _yes_and_no(_find(folder, _USER_TAGS, f"{one}_Tags1k.dat"), _N_USER_TAGS, len(numbers))
        for one, numbers in rows.items()
    ]
    return {"user_tags": np.concatenate(found), "user_tag_names": np.array(names)}


def _features(
    folder: str | os.PathLike[str], rows: dict[str, NDArray[np.intp]], groups: FeatureGroups
) -> NDArray[np.float32]:
    """Read each group straight into its columns, because all of them together are large."""
    X = np.empty((sum(map(len, rows.values())), groups.n_columns), dtype=np.float32)
    for name in groups:
        file_name, n_columns = _GROUPS[name]
        for part, numbers in rows.items():
            path = _find(folder, _FEATURES, file_name.format(part=part))
            X[numbers, groups[name]] = read_numbers(path, n_columns, len(numbers))
    return X
