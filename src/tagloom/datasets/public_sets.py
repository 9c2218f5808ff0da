"""Loaders of public sets from a folder the user names; nothing is fetched.

The layout each loader expects is in ``docs/reference/datasets.md``.
"""

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import UNKNOWN, FeatureGroups, TagVocabulary
from tagloom.datasets._tables import (
    AnnotatedImages,
    check_choice,
    find_file,
    find_photos,
    read_arrays,
    split_rows,
)
from tagloom.exceptions import InvalidInputError

__all__ = [
    "load_coco_free",
    "load_corel5k",
    "load_corel16k",
    "load_msrc_v2",
    "load_multiview_msrc_v1",
    "load_scene",
    "load_uci",
]

Folder = str | os.PathLike[str]

_MSRC_RARE = ("horse", "mountain")
_MSRC_V1_VIEWS = {"X1": "color_moments", "X2": "hog", "X3": "gist", "X4": "lbp", "X5": "centrist"}
# File, number of columns, and for each published class letter what it says of the one tag.
_UCI: dict[str, tuple[str, int, str, dict[str, int]]] = {
    "ionosphere": ("ionosphere.data", 34, "good", {"g": 1, "b": 0}),
    "sonar": ("sonar.all-data", 60, "mine", {"M": 1, "R": 0}),
}


def load_corel5k(folder: Folder, *, vocabulary: int = 260, with_photos: bool = True) -> AnnotatedImages:
    """Load Corel-5K: 4,999 photos with 260 or 374 words and 499 blob words.

    Parameters
    ----------
    folder : path
        Holds ``corel5k.npz`` and ``images/train/<id>.jpeg``, ``images/test/<id>.jpeg``.
    vocabulary : {260, 374}, default=260
        The words that occur in training and test part, or all words. Seven photos have none of the 260.
    with_photos : bool, default=True
        Whether to look for the photo files.

    Returns
    -------
    AnnotatedImages
        Splits "train" (4,500) and "test" (499); extras "image_id", "cd" (50 collections) and "train_neighbors"
        (4,500, 100), the nearest visual neighbours published with TagProp.
    """
    check_choice("vocabulary", vocabulary, (260, 374))
    source = "Corel-5K"
    words, labels = f"words{vocabulary}", f"Y{vocabulary}"
    wanted = ("image_id", "split", "corel_cd", "X_blobs499", words, labels, "tagprop_nn_train")
    arrays = read_arrays(folder, "corel5k.npz", wanted, source)
    pairs = zip(arrays["split"], arrays["image_id"], strict=True)
    return AnnotatedImages(
        name=source,
        tags=TagVocabulary(map(str, arrays[words])),
        Y=_labels(arrays[labels]),
        X=_features(arrays["X_blobs499"]),
        groups=FeatureGroups(["blobs"], [arrays["X_blobs499"].shape[1]]),
        paths=find_photos(folder, (f"images/{part}/{number}.jpeg" for part, number in pairs), source)
        if with_photos
        else (),
        splits=split_rows(arrays["split"]),
        extras={
            "image_id": arrays["image_id"],
            "cd": arrays["corel_cd"],
            "train_neighbors": arrays["tagprop_nn_train"],
        },
    )


def load_corel16k(folder: Folder, *, subset: int = 1) -> AnnotatedImages:
    """Load one of the ten Corel subsets of Barnard et al. (2003): about 13,800 rows, 500 blob words, 144 to 174 tags.

    Parameters
    ----------
    folder : path
        Holds ``Corel16k001.npz`` … ``Corel16k010.npz``, as many as are needed.
    subset : int, default=1
        From 1 to 10.

    Returns
    -------
    AnnotatedImages
        Without photos; splits "train" and "test".
    """
    check_choice("subset", subset, tuple(range(1, 11)))
    source = f"Corel16k{subset:03d}"
    arrays = read_arrays(folder, f"{source}.npz", ("X", "Y", "words", "is_test"), source)
    return AnnotatedImages(
        name=source,
        tags=TagVocabulary(map(str, arrays["words"])),
        Y=_labels(arrays["Y"]),
        X=_features(arrays["X"]),
        groups=FeatureGroups(["blobs"], [arrays["X"].shape[1]]),
        splits={"train": np.flatnonzero(~arrays["is_test"]), "test": np.flatnonzero(arrays["is_test"])},
    )


def load_scene(folder: Folder) -> AnnotatedImages:
    """Load Scene (Boutell et al. 2004): 2,407 rows of 294 colour moments, six tags.

    Parameters
    ----------
    folder : path
        Holds ``scene.npz``.

    Returns
    -------
    AnnotatedImages
        Without photos; splits "train" (1,211) and "test" (1,196).
    """
    arrays = read_arrays(folder, "scene.npz", ("X", "Y", "words", "split"), "Scene")
    return AnnotatedImages(
        name="Scene",
        tags=TagVocabulary(map(str, arrays["words"])),
        Y=_labels(arrays["Y"]),
        X=_features(arrays["X"]),
        groups=FeatureGroups(["color_moments"], [arrays["X"].shape[1]]),
        splits=split_rows(arrays["split"]),
    )


def load_msrc_v2(folder: Folder, *, vocabulary: int = 23, with_photos: bool = True) -> AnnotatedImages:
    """Load MSRC v2: 591 photos with 23 classes.

    Parameters
    ----------
    folder : path
        Holds ``msrc_v2.npz``, ``descriptors_surrey.npz`` and ``images/<image>.jpg``.
    vocabulary : {23, 21}, default=23
        21 leaves out horse and mountain, which are rare.
    with_photos : bool, default=True
        Whether to look for the photo files.

    Returns
    -------
    AnnotatedImages
        X holds edge orientations and grid colours; extras "scene_class", "pixel_fraction" and its "fraction_columns".
    """
    check_choice("vocabulary", vocabulary, (23, 21))
    source = "MSRC v2"
    wanted = ("image", "Y", "words", "scene_class", "pixel_fraction", "fraction_columns")
    arrays = read_arrays(folder, "msrc_v2.npz", wanted, source)
    views = {"edgeOrientHist": "edge_orientations", "spatialGrid": "grid_colors"}
    described = read_arrays(folder, "descriptors_surrey.npz", ("image", *views), source)
    if not np.array_equal(described["image"], arrays["image"]):
        raise InvalidInputError(
            f"descriptors_surrey.npz and msrc_v2.npz in {str(folder)!r} do not list the same images"
        )
    kept = ~np.isin(arrays["words"], _MSRC_RARE if vocabulary == 21 else ())
    X, groups = _join({name: described[key] for key, name in views.items()})
    return AnnotatedImages(
        name=source,
        tags=TagVocabulary(map(str, arrays["words"][kept])),
        Y=_labels(arrays["Y"][:, kept]),
        X=X,
        groups=groups,
        paths=find_photos(folder, (f"images/{name}.jpg" for name in arrays["image"]), source) if with_photos else (),
        extras={key: arrays[key] for key in ("scene_class", "pixel_fraction", "fraction_columns")},
    )


def load_multiview_msrc_v1(folder: Folder) -> AnnotatedImages:
    """Load MSRC v1 in five feature groups: 210 rows, seven classes of 30 (one each).

    Parameters
    ----------
    folder : path
        Holds ``msrc_v1.npz``.

    Returns
    -------
    AnnotatedImages
        Without photos; the published file numbers the classes without naming them, hence tags "class 1" … "class 7".
    """
    arrays = read_arrays(folder, "msrc_v1.npz", (*_MSRC_V1_VIEWS, "y"), "MSRC v1")
    X, groups = _join({name: arrays[key] for key, name in _MSRC_V1_VIEWS.items()})
    classes = np.unique(arrays["y"])
    return AnnotatedImages(
        name="MSRC v1",
        tags=TagVocabulary(f"class {number}" for number in classes),
        Y=_labels(arrays["y"][:, None] == classes),
        X=X,
        groups=groups,
    )


def load_coco_free(folder: Folder, *, vocabulary: int = 80, with_photos: bool = True) -> AnnotatedImages:
    """Load the 104 photos of COCO 2017 with free licences.

    Parameters
    ----------
    folder : path
        Holds ``labels.npz`` and ``images/<12 digits>.jpg``.
    vocabulary : {80, 133}, default=80
        The 80 things, or the 133 things and stuff; photos without the latter annotation get rows of -1.
    with_photos : bool, default=True
        Whether to look for the photo files.

    Returns
    -------
    AnnotatedImages
        Splits "train2017" and "val2017"; extras "image_id", "license_id", "flickr_url" (for attribution) and
        "captions".
    """
    check_choice("vocabulary", vocabulary, (80, 133))
    source = "COCO (free licences)"
    words, labels = f"words{vocabulary}", f"Y{vocabulary}"
    extras = ("image_id", "license_id", "flickr_url", "captions")
    arrays = read_arrays(folder, "labels.npz", (words, labels, "split", "has_panoptic", *extras), source)
    Y = _labels(arrays[labels])
    if vocabulary == 133:
        Y[~arrays["has_panoptic"]] = UNKNOWN
    names = (f"images/{number:012d}.jpg" for number in arrays["image_id"])
    return AnnotatedImages(
        name=source,
        tags=TagVocabulary(map(str, arrays[words])),
        Y=Y,
        paths=find_photos(folder, names, source) if with_photos else (),
        splits=split_rows(arrays["split"]),
        extras={key: arrays[key] for key in extras},
    )


def load_uci(folder: Folder, name: str) -> AnnotatedImages:
    """Load a two-class table of the UCI repository as one tag.

    Parameters
    ----------
    folder : path
        Holds ``ionosphere.data`` or ``sonar.all-data``, as published: numbers, then a letter; a first line of column
        names is passed over.
    name : {"ionosphere", "sonar"}
        Which table: 351 × 34 with the tag "good", or 208 × 60 with the tag "mine".

    Returns
    -------
    AnnotatedImages
        Without photos.
    """
    check_choice("name", name, tuple(_UCI))
    file_name, n_columns, tag, letters = _UCI[name]
    path = find_file(folder, file_name, f"UCI {name}")
    numbers_read, states = _read_letter_table(path, n_columns, letters)
    return AnnotatedImages(
        name=f"UCI {name}",
        tags=TagVocabulary([tag]),
        Y=_labels(np.asarray(states)[:, None]),
        X=_features(np.asarray(numbers_read, dtype=np.float64)),
        groups=FeatureGroups([name], [n_columns]),
    )


def _read_letter_table(path: Path, n_columns: int, letters: dict[str, int]) -> tuple[list[list[float]], list[int]]:
    """Read lines of numbers that end in a class letter."""
    numbers_read: list[list[float]] = []
    states: list[int] = []
    with open(path, newline="", encoding="utf-8", errors="replace") as handle:
        for line, cells in enumerate(csv.reader(handle), start=1):
            if not cells or (line == 1 and cells[-1] not in letters):
                continue
            try:
                row = [float(cell) for cell in cells[:-1]]
                states.append(letters[cells[-1]])
            except (ValueError, KeyError):
                row = []
            if len(row) != n_columns:
                raise InvalidInputError(
                    f"expected {n_columns} numbers and one of {', '.join(letters)} at line {line} of {str(path)!r}, "
                    f"got {','.join(cells)[:60]!r}; is this the published file?"
                )
            numbers_read.append(row)
    if not numbers_read:
        raise InvalidInputError(f"expected rows of {n_columns} numbers in {str(path)!r}, found none")
    return numbers_read, states


def _labels(Y: NDArray[Any]) -> NDArray[np.int8]:
    return np.ascontiguousarray(Y, dtype=np.int8)


def _features(X: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(X, dtype=np.float32)


def _join(views: dict[str, NDArray[Any]]) -> tuple[NDArray[np.float32], FeatureGroups]:
    groups = FeatureGroups.from_mapping({name: view.shape[1] for name, view in views.items()})
    return _features(groups.join(views)), groups
