"""Which keywords photos have in a project, and why: what exports and writes are made of."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords
from tagloom.core.verdicts import Verdict
from tagloom.learning.few_labels import labels_needed, not_calibrated
from tagloom.learning.suggest import PROBABILITY, open_suggestions, suggestions_kind
from tagloom.store.log import IMPORTED
from tagloom.store.project import ProjectStore

__all__ = ["photo_keywords", "why_withheld"]


def why_withheld(store: ProjectStore) -> str:
    """Return why no suggestion leaves the project unless it is asked for; empty: they do leave.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """
    if suggestions_kind(store) in (None, PROBABILITY):
        return ""
    return (
        f"Suggestions stay in the project, {not_calibrated(labels_needed(store))}. "
        f"To let their scores out all the same: --uncalibrated"
    )


def photo_keywords(
    store: ProjectStore,
    photo_ids: ArrayLike | None = None,
    *,
    accepted_only: bool = True,
    threshold: float | None = None,
    uncalibrated: bool = False,
) -> Iterator[tuple[int, PhotoKeywords]]:
    """Yield each present photo's id and keywords, in the order of ids.

    Accepted is what was said, by a person or by an import, and what follows from it; rejected is what a person denied
    outright (that an imported list does not name a keyword is no reason to remove it anywhere).

    Parameters
    ----------
    store : ProjectStore
        The project.
    photo_ids : array-like of int, optional
        Only these photos.
    accepted_only : bool, default=True
        Whether to leave out suggestions above the threshold.
    threshold : float, optional
        Default: the project's, else those that training chose for each tag.
    uncalibrated : bool, default=False
        Whether scores that are not calibrated may be suggestions, too.
    """
    table = store.photos.table(photo_ids, state="present")
    _, tag_ids, Y = store.decisions.labels(table.ids)
    keywords = [Keyword.parse(text) for text in store.tags.texts(tag_ids)]
    rejected = _rejected(store, table.ids)
    suggested = {} if accepted_only else _suggested(store, table.ids, threshold, uncalibrated)
    for row, number in enumerate(table.ids.tolist()):
        width, height = table.sizes[row].tolist()
        if table.verdicts[row] == Verdict.RAW_OF_PHOTO:
            continue  # it goes with the photo beside it
        accepted = tuple(keywords[column] for column in np.flatnonzero(Y[row] == 1))
        yield (
            number,
            PhotoKeywords(
                table.paths[row],
                width,
                height,
                accepted,
                tuple(suggested.get(number, ())),
                tuple(keyword for keyword in rejected.get(number, ()) if keyword not in accepted),
            ),
        )


def _rejected(store: ProjectStore, ids: NDArray[np.int64]) -> dict[int, list[Keyword]]:
    standing = store.decisions.current(photo_ids=ids)
    mine = (standing.states == 0) & (standing.origins != IMPORTED)
    tags = np.unique(standing.tag_ids[mine])
    keywords = dict(zip(tags.tolist(), map(Keyword.parse, store.tags.texts(tags)), strict=True))
    found: dict[int, list[Keyword]] = defaultdict(list)
    for photo, tag in zip(standing.photo_ids[mine].tolist(), standing.tag_ids[mine].tolist(), strict=True):
        found[photo].append(keywords[tag])
    return found


def _suggested(
    store: ProjectStore, ids: NDArray[np.int64], threshold: float | None, uncalibrated: bool
) -> dict[int, list[tuple[Keyword, float]]]:
    found = open_suggestions(store, ids, threshold=threshold, uncalibrated=uncalibrated)
    if found is None or not (found.calibrated or uncalibrated):
        return {}
    keywords = [Keyword.parse(text) for text in found.tags]
    chosen: dict[int, list[tuple[Keyword, float]]] = defaultdict(list)
    for row, column in np.argwhere(found.above).tolist():
        chosen[int(found.photo_ids[row])].append((keywords[column], float(found.values[row, column])))
    return chosen
