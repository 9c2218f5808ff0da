"""MSRA-MM 2.0 and Kodak's consumer videos, of which the numbers are documented and the files are not.

What is published of both sets are the feature groups with their dimensions, the number of images and the number of
concepts. The names and the format of the distributed files are documented nowhere public that could be found (the
report on the Kodak set describes annotation and lexicon). **The layout that the loaders ask for is our guess**: a text
file of numbers for each group, one row per image in the same order everywhere, one file of label states and one of
concept names. Where the files on disk are called otherwise, ``files`` says so; or put what you have into one plain
table, ``.npz`` or ``.csv``, and load that.
"""

import csv
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tagloom.core import FeatureGroups, TagVocabulary, check_labels
from tagloom.datasets._tables import (
    AnnotatedImages,
    check_choice,
    find_file,
    read_arrays,
    read_names,
    read_numbers,
    read_states,
)
from tagloom.exceptions import InvalidInputError

__all__ = ["load_kodak", "load_msra_mm", "read_group_table"]

_MSRA_MM = {
    "correlogram": 144,
    "edge_blocks": 75,
    "faces": 7,
    "color": 64,
    "moments": 225,
    "rgb": 256,
    "wavelet": 128,
}
_KODAK = {
    "correlogram": 144,
    "cooccurrence": 16,
    "edges": 73,
    "faces": 7,
    "color": 64,
    "moments": 225,
    "wavelet": 128,
}


def load_msra_mm(folder: str | os.PathLike[str], *, files: Mapping[str, str] | None = None) -> AnnotatedImages:
    """Load MSRA-MM 2.0 (Li, Wang, Hua 2009): web images with 100 concepts and seven feature groups, 899 columns.

    The names of the distributed files are not documented publicly: the layout is our guess, see the module. Rows and
    columns are documented.

    Parameters
    ----------
    folder : path
        A table, see `read_group_table`, or a folder that holds ``concepts.txt`` (a name a line), ``labels.txt`` (a row
        of 1, 0 or -1 per image, a column per concept) and for each group ``<group>.txt``: correlogram (144),
        edge_blocks (75, the edge direction histogram), faces (7),
        color (64), moments (225), rgb (256) and wavelet (128); numbers parted by blanks or commas.
    files : mapping of str to str, optional
        Other names for some of these, such as ``{"labels": "annotation.dat", "rgb": "RGB256.dat"}``.

    Returns
    -------
    AnnotatedImages
        Without photos and without a split: none is published. Paper 004 has 42,266 images with two labels or more.
    """
    return _load("MSRA-MM 2.0", folder, _MSRA_MM, files)


def load_kodak(folder: str | os.PathLike[str], *, files: Mapping[str, str] | None = None) -> AnnotatedImages:
    """Load key frames of Kodak's consumer videos (Loui et al. 2007): seven feature groups, 657 columns.

    The names of the distributed files are not documented publicly: the layout is our guess, see the module. Rows and
    columns are those that paper 004 describes.

    Parameters
    ----------
    folder : path
        A table, see `read_group_table`, or a folder that holds ``concepts.txt`` (a name a line), ``labels.txt`` (a row
        of 1, 0 or -1 per image, a column per concept) and for each group ``<group>.txt``: correlogram (144),
        cooccurrence (16), edges (73), faces (7), color (64), moments
        (225) and wavelet (128); numbers parted by blanks or commas.
    files : mapping of str to str, optional
        Other names for some of these, such as ``{"labels": "annotation.dat"}``.

    Returns
    -------
    AnnotatedImages
        Without photos and without a split: none is published. Paper 004 has 3,590 images and 22 concepts.
    """
    return _load("Kodak consumer videos", folder, _KODAK, files)


def read_group_table(path: str | os.PathLike[str], groups: Iterable[str], source: str) -> AnnotatedImages:
    """Read features by group and labels from one plain table.

    Parameters
    ----------
    path : path
        ``.npz``: an array (n, size) for each group, by its name, ``labels`` (n, c) of 1, 0 and -1, and ``concepts``, c
        names. ``.csv``: a header with ``<group>/<column>`` for each column of features and ``label/<concept>`` for each
        of labels; a row for each image. Nothing is unpickled.
    groups : iterable of str
        Names that groups may have; those that the table has are loaded, in this order, with as many columns as it has.
    source : str
        The name of the set.
    """
    table = Path(path)
    parts, concepts, Y = (_read_npz if table.suffix == ".npz" else _read_csv)(table, source)
    known = tuple(groups)
    for name in parts:
        check_choice(f"the groups of {str(table)!r}", name, known)
    found = {name: parts[name] for name in known if name in parts}
    if not found:
        raise InvalidInputError(
            f"expected a group of {source} in {str(table)!r}, one of {', '.join(known)}; found none"
        )
    sizes = FeatureGroups(list(found), [part.shape[1] for part in found.values()])
    for name, part in found.items():
        if len(part) != len(Y) or not np.isfinite(part).all():
            raise InvalidInputError(f"expected {len(Y)} rows of finite numbers in the group {name!r} of {str(table)!r}")
    return AnnotatedImages(
        name=source, tags=TagVocabulary(concepts), Y=check_labels(Y), X=sizes.join(found), groups=sizes
    )


def _read_npz(path: Path, source: str) -> tuple[dict[str, NDArray[np.float32]], list[str], NDArray[np.int8]]:
    names = read_arrays(path.parent, path.name, ["labels", "concepts"], source)
    with np.load(path, allow_pickle=False) as archive:
        others = [name for name in archive.files if name not in names]
    arrays = read_arrays(path.parent, path.name, others, source)
    for name, part in arrays.items():
        if part.ndim != 2 or part.dtype.kind not in "biuf":
            raise InvalidInputError(f"expected a matrix of numbers in the array {name!r} of {str(path)!r}")
    parts = {name: np.asarray(part, dtype=np.float32) for name, part in arrays.items()}
    return parts, [str(one) for one in names["concepts"].tolist()], check_labels(names["labels"])


def _read_csv(path: Path, source: str) -> tuple[dict[str, NDArray[np.float32]], list[str], NDArray[np.int8]]:
    with open(find_file(path.parent, path.name, source), encoding="utf-8-sig", newline="") as handle:
        header = next(csv.reader(handle), [])
        columns: dict[str, list[int]] = {}
        for place, name in enumerate(header):
            group, separator, _ = name.partition("/")
            if not separator:
                raise InvalidInputError(
                    f"expected <group>/<column> or label/<concept> in the header of {str(path)!r}, got {name!r}"
                )
            columns.setdefault(group, []).append(place)
        labels = columns.pop("label", [])
        if not labels:
            raise InvalidInputError(f"expected a column label/<concept> in the header of {str(path)!r}, found none")
        try:
            numbers = np.loadtxt(handle, dtype=np.float32, ndmin=2, delimiter=",", comments=None)
        except ValueError as error:
            raise InvalidInputError(f"expected {len(header)} numbers in each line of {str(path)!r}: {error}") from error
    if numbers.shape[1:] != (len(header),):
        raise InvalidInputError(f"expected {len(header)} numbers in each line of {str(path)!r}")
    parts = {group: numbers[:, places] for group, places in columns.items()}
    return parts, [header[place].partition("/")[2] for place in labels], check_labels(numbers[:, labels])


def _load(
    source: str, folder: str | os.PathLike[str], sizes: Mapping[str, int], files: Mapping[str, str] | None
) -> AnnotatedImages:
    if Path(folder).suffix in (".npz", ".csv") and not Path(folder).is_dir():
        return read_group_table(folder, sizes, source)
    names = {name: f"{name}.txt" for name in ("concepts", "labels", *sizes)}
    for name in files or ():
        check_choice("the keys of files", name, tuple(names))
    paths = {name: find_file(folder, file, source) for name, file in (names | dict(files or {})).items()}
    concepts = read_names(paths["concepts"])
    Y = read_states(paths["labels"], len(concepts))
    groups = FeatureGroups.from_mapping(sizes)
    return AnnotatedImages(
        name=source,
        tags=TagVocabulary(concepts),
        Y=Y,
        X=groups.join({name: read_numbers(paths[name], size, len(Y)) for name, size in sizes.items()}),
        groups=groups,
    )
