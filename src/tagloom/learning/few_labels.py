"""How many labels calibrated scores need, and the words for scores that are not calibrated yet."""

from tagloom.learning.constants import MIN_PHOTOS, MIN_YES
from tagloom.store import ProjectStore

__all__ = ["NAMES", "knows_names_alone", "labels_needed", "n_missing", "not_calibrated"]

#: The method of a model that knows the names of tags alone.
NAMES = "names"


def knows_names_alone(store: ProjectStore) -> bool:
    """Tell whether the model in use suggests by the names of tags alone.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """
    active = store.models.active()
    return active is not None and active.settings.get("method") == NAMES


def labels_needed(store: ProjectStore) -> int:
    """Return how many more photos to label until scores can be calibrated; 0: there are enough.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """
    return n_missing(store.photos.counts().labeled, store.decisions.n_decided(1))


def n_missing(n_labeled: int, n_yes: int) -> int:
    """Return the same of so many labelled photos and accepted pairs of photo and tag."""
    return max(0, MIN_PHOTOS - n_labeled, MIN_YES - n_yes)


def not_calibrated(n_needed: int) -> str:
    """Return the words beside scores that are not calibrated.

    Parameters
    ----------
    n_needed : int
        See `labels_needed`.
    """
    if not n_needed:
        return "not calibrated yet: run tagloom train"
    return f"not calibrated yet: label {n_needed} more photo{'' if n_needed == 1 else 's'}"
