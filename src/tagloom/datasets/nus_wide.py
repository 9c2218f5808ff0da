"""NUS-WIDE: 269,648 Flickr photos with 81 concepts and six low-level feature groups."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tagloom.core.groups import FeatureGroups
from tagloom.core.vocabulary import TagVocabulary
from tagloom.datasets._tables import AnnotatedImages, check_choice, find_file
from tagloom.datasets._text_tables import read_names, read_numbers, read_states
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
# The archive of features unpacks to a folder in a folder.
_FEATURES = ("Low_Level_Features", "NUS_WID_Low_Level_Features/Low_Level_Features")
_PARTS = {"train": ("Train",), "test": ("Test",), "all": ("Train", "Test")}


def load_nus_wide(
    folder: str | os.PathLike[str],
    *,
    part: str = "all",
    groups: tuple[str, ...] | None = None,
    concepts: tuple[str, ...] | None = None,
) -> AnnotatedImages:
    """Load NUS-WIDE (Chua et al. 2009) from the text files that its makers publish.

    Parameters
    ----------
    folder : path
        Holds ``ConceptsList/Concepts81.txt``, ``Groundtruth/TrainTestLabels/Labels_<concept>_Train.txt`` and
        ``_Test.txt``, and ``Low_Level_Features/`` with ``Train_Normalized_CORR.dat``, ``…_EDH``, ``…_CH``, ``…_CM55``,
        ``…_WT``, ``BoW_Train_int.dat``, and the same with Test.
    part : {"all", "train", "test"}, default="all"
        The published parts of 161,789 and 107,859 photos. All features of both are 1.2 GB.
    groups : tuple of str, optional
        Some of "correlogram" (144), "edges" (73), "words" (500), "color" (64), "moments" (225) and "wavelet" (128), in
        the order wanted; an empty tuple leaves the features out. Default: all six.
    concepts : tuple of str, optional
        Only these of the 81 concepts.

    Returns
    -------
    AnnotatedImages
        Without photos, training rows first; splits "train" and "test" as far as loaded.
    """
    check_choice("part", part, tuple(_PARTS))
    for name in groups or ():
        check_choice("groups", name, tuple(_GROUPS))
    known = read_names(find_file(folder, "ConceptsList/Concepts81.txt", _SOURCE))
    for concept in concepts or ():
        check_choice("concepts", concept, tuple(known))
    tags = tuple(known) if concepts is None else concepts
    labels = [_labels(folder, tags, name) for name in _PARTS[part]]
    ends = np.cumsum([0, *map(len, labels)])
    rows = {name: np.arange(*ends[index : index + 2]) for index, name in enumerate(_PARTS[part])}
    wanted = tuple(_GROUPS) if groups is None else groups
    sizes = FeatureGroups(wanted, [_GROUPS[name][1] for name in wanted]) if wanted else None
    return AnnotatedImages(
        name=_SOURCE,
        tags=TagVocabulary(tags),
        Y=np.concatenate(labels),
        X=_features(folder, rows, sizes) if sizes is not None else None,
        groups=sizes,
        splits={name.lower(): numbers for name, numbers in rows.items()},
    )


def _labels(folder: str | os.PathLike[str], tags: tuple[str, ...], part: str) -> NDArray[np.int8]:
    """Read one file of 0 and 1 for each concept."""
    columns: list[NDArray[np.int8]] = []
    for tag in tags:
        path = find_file(folder, f"Groundtruth/TrainTestLabels/Labels_{tag}_{part}.txt", _SOURCE)
        states = read_states(path, n_rows=len(columns[0]) if columns else None)
        if states.min() < 0:
            raise InvalidInputError(f"expected 0 or 1 in every line of {str(path)!r}, found -1; is the file damaged?")
        columns.append(states)
    return np.concatenate(columns, axis=1)


def _features(
    folder: str | os.PathLike[str], rows: dict[str, NDArray[np.intp]], groups: FeatureGroups
) -> NDArray[np.float32]:
    """Read each group straight into its columns, because all of them together are large."""
    inside = next((name for name in _FEATURES if (Path(folder) / name).is_dir()), _FEATURES[0])
    X = np.empty((sum(map(len, rows.values())), groups.n_columns), dtype=np.float32)
    for name in groups:
        file_name, n_columns = _GROUPS[name]
        for part, numbers in rows.items():
            path = find_file(folder, f"{inside}/{file_name.format(part=part)}", _SOURCE)
            X[numbers, groups[name]] = read_numbers(path, n_columns, len(numbers))
    return X
