"""Animals with Attributes (version 1): class-level attributes of 50 animals, and six feature groups of some photos."""

import os

import numpy as np
from numpy.typing import NDArray

from tagloom.core import FeatureGroups, TagVocabulary
from tagloom.datasets._tables import AnnotatedImages, check_choice, find_file, read_arrays, read_names, read_numbers
from tagloom.exceptions import InvalidInputError

__all__ = ["load_awa_attributes", "load_awa_subset"]

_SOURCE = "Animals with Attributes"
_MATRICES = {"continuous": "predicate-matrix-continuous.txt", "binary": "predicate-matrix-binary.txt"}
_PARTS = ("train", "test")
_VIEWS = ("cq", "lss", "phog", "rgsift", "sift", "surf")


def load_awa_attributes(folder: str | os.PathLike[str], *, values: str = "continuous") -> AnnotatedImages:
    """Load the 30,475 images of Animals with Attributes as rows of 85 attributes, tagged with one of 50 classes.

    Attributes are known for classes, not for images: all images of a class have the same row of ``X``, so that there
    are at most 50 distinct rows (rank 49 once centred), and an image is told from another of its class by nothing.

    Parameters
    ----------
    folder : path
        Holds ``classes.txt``, ``predicates.txt``, ``predicate-matrix-continuous.txt`` or ``-binary.txt``,
        ``trainclasses.txt``, ``testclasses.txt``, as published, and ``full_labels.npz`` with the class index of every
        image.
    values : {"continuous", "binary"}, default="continuous"
        How strongly people associate an attribute with the animal, divided by 100; or whether the animal has it,
        which is the former above its overall mean.

    Returns
    -------
    AnnotatedImages
        Without photos; one feature group for each attribute; splits "train_classes" and "test_classes", the published
        parts of 40 and 10 classes; extras "class_index" (n,), "class_attributes" (50, 85), the rows of X, and
        "missing" (50, 85), which of them the published table lacks (-1 there): these have the attribute's mean over
        the other classes.
    """
    check_choice("values", values, tuple(_MATRICES))
    classes = read_names(find_file(folder, "classes.txt", _SOURCE))
    attributes = read_names(find_file(folder, "predicates.txt", _SOURCE))
    table, missing = _class_attributes(folder, values, len(classes), len(attributes))
    class_index = _class_indices(folder, "full_labels.npz", len(classes))
    return AnnotatedImages(
        name=_SOURCE,
        tags=TagVocabulary(map(_spoken, classes)),
        Y=np.eye(len(classes), dtype=np.int8)[class_index],
        X=table[class_index],
        groups=FeatureGroups(attributes, [1] * len(attributes)),
        splits={f"{part}_classes": _rows_of(folder, f"{part}classes.txt", classes, class_index) for part in _PARTS},
        extras={"class_index": class_index, "class_attributes": table, "missing": missing},
    )


def load_awa_subset(folder: str | os.PathLike[str], *, tags: str = "attributes") -> AnnotatedImages:
    """Load 1,575 images of Animals with Attributes (45 of each of 35 classes) with six feature groups.

    Parameters
    ----------
    folder : path
        Holds ``awa_subset.npz``.
    tags : {"attributes", "classes"}, default="attributes"
        The 85 attributes, which are those of the class (images of a class have the same row of ``Y``), or the 50
        classes, 15 of which no image here has.

    Returns
    -------
    AnnotatedImages
        Without photos; the groups are colour histograms "cq" (2,688), self-similarity "lss" (2,000), gradients "phog"
        (252) and the visual words "rgsift", "sift" and "surf" (2,000 each), some of them counts, one row of "phog" all
        zero; extras "class_index" (n,) and "classes" (50,).
    """
    check_choice("tags", tags, ("attributes", "classes"))
    wanted = (*(f"X_{view}" for view in _VIEWS), "class_index", "Y", "classes", "attributes")
    arrays = read_arrays(folder, "awa_subset.npz", wanted, _SOURCE)
    views = {view: arrays[f"X_{view}"].astype(np.float32) for view in _VIEWS}
    lengths = {f"X_{name}": len(view) for name, view in views.items()} | {"class_index": len(arrays["class_index"])}
    if len(set(lengths.values())) > 1:
        raise InvalidInputError(f"the arrays of awa_subset.npz do not have the same number of images: {lengths}")
    groups = FeatureGroups.from_mapping({name: view.shape[1] for name, view in views.items()})
    names = [_spoken(str(name)) for name in arrays["classes"]]
    class_index = _checked_indices(arrays["class_index"], len(names), "awa_subset.npz")
    by_class = np.eye(len(names), dtype=np.int8)[class_index]
    return AnnotatedImages(
        name=f"{_SOURCE}, six feature groups",
        tags=TagVocabulary(names if tags == "classes" else map(str, arrays["attributes"])),
        Y=by_class if tags == "classes" else np.ascontiguousarray(arrays["Y"], dtype=np.int8),
        X=groups.join(views),
        groups=groups,
        extras={"class_index": class_index, "classes": np.array(names)},
    )


def _class_attributes(
    folder: str | os.PathLike[str], values: str, n_classes: int, n_attributes: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Read the table of a class's attributes; what is missing gets the mean of the other classes."""
    table = read_numbers(find_file(folder, _MATRICES[values], _SOURCE), n_attributes, n_classes)
    missing = table < 0
    counts = np.maximum((~missing).sum(axis=0), 1)
    means = np.where(missing, 0.0, table).sum(axis=0, dtype=np.float64) / counts
    filled = np.where(missing, means, table) / (100.0 if values == "continuous" else 1.0)
    return filled.astype(np.float32), missing


def _class_indices(folder: str | os.PathLike[str], name: str, n_classes: int) -> NDArray[np.intp]:
    return _checked_indices(read_arrays(folder, name, ("class_index",), _SOURCE)["class_index"], n_classes, name)


def _checked_indices(indices: NDArray[np.generic], n_classes: int, name: str) -> NDArray[np.intp]:
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or (indices.size and int(indices.max()) >= n_classes):
        raise InvalidInputError(
            f"expected one class index from 0 to {n_classes - 1} for each image in {name!r} of {_SOURCE}, "
            f"got {indices.dtype} of shape {indices.shape}, the largest {indices.max() if indices.size else 'none'}"
        )
    return indices.astype(np.intp)


def _rows_of(
    folder: str | os.PathLike[str], name: str, classes: list[str], class_index: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the images of the classes that a file lists."""
    wanted = read_names(find_file(folder, name, _SOURCE))
    unknown = sorted(set(wanted) - set(classes))
    if unknown:
        raise InvalidInputError(f"{name} of {_SOURCE} names classes that classes.txt does not have: {unknown}")
    return np.flatnonzero(np.isin(class_index, [classes.index(item) for item in wanted]))


def _spoken(name: str) -> str:
    """Return a class name as people write it; the files have plus signs for blanks."""
    return name.replace("+", " ")
