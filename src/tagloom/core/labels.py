"""The label matrix: 1 has the tag, 0 does not, -1 unknown.

A row of -1 is an unlabelled photo. Every annotator, metric and fold takes this matrix, so that "not said" never
turns into "no" by accident.
"""

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core.vocabulary import TagVocabulary
from tagloom.exceptions import InvalidInputError, InvalidLabelsError

__all__ = [
    "UNKNOWN",
    "AbsentMeans",
    "LabelMatrix",
    "check_absent_means",
    "check_labels",
    "decode_labels",
    "encode_labels",
    "has_entrywise_unknowns",
    "known_patterns",
    "labeled_rows",
]

LabelMatrix = NDArray[np.int8]
AbsentMeans = Literal["no", "unknown"]
UNKNOWN = -1


def check_labels(Y: ArrayLike, *, n_rows: int | None = None, n_tags: int | None = None) -> LabelMatrix:
    """Validate a label matrix and return it as int8.

    Parameters
    ----------
    Y : array-like of shape (n, c) or (n,)
        Entries 1, 0 and -1; booleans and floats with exactly these values are accepted. NaN is unknown, too. One
        dimension is one tag.
    n_rows, n_tags : int, optional
        The shape that is needed.

    Returns
    -------
    ndarray of int8, shape (n, c)
        C-contiguous; a copy only where needed.

    Raises
    ------
    InvalidLabelsError
        Says which rule is broken, where, and what to do.
    """
    if hasattr(Y, "toarray"):
        raise InvalidLabelsError(
            "expected a dense label matrix, got a sparse one, which does not say whether an entry that is not stored "
            "is 0 (rejected) or -1 (unknown). Give Y.toarray() where it is 0"
        )
    array = _as_array(Y)
    if array.ndim == 1 and array.dtype.kind in "biuf":
        array = array[:, None]
    if array.ndim != 2:
        hint = f". {_hint_of(array)}" if array.ndim == 1 else ""
        raise InvalidLabelsError(f"expected a label matrix of shape (photos, tags), got shape {array.shape}{hint}")
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), UNKNOWN, array)
    if array.shape[1] == 0:
        raise InvalidLabelsError("expected at least one tag (column), got a label matrix with none")
    if n_rows is not None and array.shape[0] != n_rows:
        raise InvalidLabelsError(
            f"X and Y have inconsistent numbers of rows: expected {n_rows} rows of labels (one per photo; fill "
            f"unlabelled photos with -1), got {array.shape[0]}"
        )
    if n_tags is not None and array.shape[1] != n_tags:
        raise InvalidLabelsError(f"expected {n_tags} tags (columns), got {array.shape[1]}")
    if array.dtype == np.int8:
        wrong = (array < -1) | (array > 1)
    elif array.dtype.kind in "biuf":
        wrong = ~np.isin(array, (-1, 0, 1))
    else:
        raise InvalidLabelsError(
            f"Unknown label type: expected numbers 1 (has the tag), 0 (does not) or -1 (unknown), got dtype "
            f"{array.dtype}. {_hint_of(array)}"
        )
    if wrong.any():
        row, column = (int(index) for index in np.argwhere(wrong)[0])
        raise InvalidLabelsError(
            f"expected entries 1 (has the tag), 0 (does not) or -1 (unknown), got {array[row, column]!r} at "
            f"row {row}, column {column} ({int(wrong.sum())} such entries)"
        )
    return np.ascontiguousarray(array, dtype=np.int8)


def _as_array(Y: ArrayLike) -> NDArray[Any]:
    """Return labels as an array; lists of different lengths as an array of objects."""
    try:
        return np.asarray(Y)
    except ValueError:
        return np.fromiter(Y, dtype=object, count=len(Y))  # type: ignore[arg-type]


def _hint_of(array: NDArray[Any]) -> str:
    """Return what to do with one column, or with entries that are no numbers."""
    is_numeric = array.dtype.kind in "biuf"
    if not is_numeric and not (array.dtype == object and all(isinstance(value, numbers.Real) for value in array.flat)):
        return "Use tagloom.core.labels.encode_labels to make a matrix from tag names"
    return "Use Y.astype(np.int8)"


def labeled_rows(Y: LabelMatrix) -> NDArray[np.bool_]:
    """Return which rows have at least one known entry."""
    known: NDArray[np.bool_] = (Y != UNKNOWN).any(axis=1)
    return known


def has_entrywise_unknowns(Y: LabelMatrix) -> bool:
    """Return whether some row is known for one tag and unknown for another."""
    known = Y != UNKNOWN
    return bool((known.any(axis=1) & ~known.all(axis=1)).any())


def known_patterns(Y: LabelMatrix) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Group tags by the photos they are known on.

    Photos are mostly labelled as a whole: then there is one group, and what depends on the labelled rows alone (a
    decomposition, a linear system) is shared by all tags.

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        Labels with -1 for unknown.

    Returns
    -------
    patterns : ndarray of bool, shape (n, g)
        The distinct columns of ``Y != -1``.
    pattern_of : ndarray of shape (c,)
        For each tag the column of ``patterns`` it has.
    """
    known = Y != UNKNOWN
    if known.shape[0] == 0 or (known == known[:, :1]).all():
        return known[:, :1], np.zeros(known.shape[1], dtype=np.intp)
    packed = np.ascontiguousarray(np.packbits(known, axis=0).T)
    as_bytes = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, pattern_of = np.unique(as_bytes, return_index=True, return_inverse=True)
    return known[:, first], pattern_of.ravel()


def check_absent_means(absent_means: str) -> AbsentMeans:
    """Validate what the absence of a tag on a labelled photo means."""
    if absent_means == "no":
        return "no"
    if absent_means == "unknown":
        return "unknown"
    raise InvalidInputError(
        f"absent_means must be 'no' (a listed photo has exactly its tags) or 'unknown' (it may have more), "
        f"got {absent_means!r}"
    )


def encode_labels(
    states: Sequence[Mapping[str, bool] | None],
    vocabulary: TagVocabulary,
    *,
    absent_means: AbsentMeans = "no",
) -> LabelMatrix:
    """Make a label matrix from what was said of each photo.

    Parameters
    ----------
    states : sequence of mapping or None
        For each photo ``{tag: True}`` (has it) or ``{tag: False}`` (an explicit no); None for an unlabelled photo.
    vocabulary : TagVocabulary
        The columns.
    absent_means : {"no", "unknown"}, default="no"
        What it means that a tag is not named on a photo that has a mapping.
    """
    fill = 0 if check_absent_means(absent_means) == "no" else UNKNOWN
    Y = np.full((len(states), len(vocabulary)), UNKNOWN, dtype=np.int8)
    for row, said in enumerate(states):
        if said is None:
            continue
        Y[row] = fill
        for tag, has in said.items():
            Y[row, vocabulary.column(tag)] = 1 if has else 0
    return Y


def decode_labels(Y: Any, vocabulary: TagVocabulary) -> list[list[str]]:
    """Return for each row the names of the tags it has."""
    Y = check_labels(Y, n_tags=len(vocabulary))
    names = np.asarray(vocabulary.names, dtype=object)
    return [list(names[row == 1]) for row in Y]
