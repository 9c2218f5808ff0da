"""The verb behind ``tagloom status``: where a project stands, and what to do next."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.catalog import Result, project_root
from tagloom.learning import n_missing
from tagloom.project.unwritten import unwritten_actions
from tagloom.store import PhotoCounts, ProjectStore

if TYPE_CHECKING:
    from tagloom.store import Finding, Model, Root

__all__ = ["LEARNT", "Status", "check", "n_learnt", "status"]

LEARNT = "learnt"  # the setting that tells up to which decision an update of the active model has learnt

_N_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(Result):
    """Where a project stands.

    Parameters
    ----------
    folder, root : str
        Of the project and of its photos.
    online : bool
        Whether the photos can be reached.
    n_present, n_missing, n_offline, n_labeled, n_unreadable : int
        Photos that are there, gone and out of reach; of those not gone, the ones with at least one tag decided; and of
        those there, the ones that cannot be read. A raw file beside a photo is a part of it.
    n_tags, n_yes, n_no : int
        Tags, and what was decided about photos, without what follows from it by implications.
    scanned : float
        When the photos were last scanned, in seconds since 1970; 0 for never.
    model : int or None
        The active model.
    method : str
        How it was trained.
    n_new_decisions : int
        Photo–tag pairs whose decision has changed since it was trained or updated.
    n_unwritten : int
        Actions (labelling, imports, changes of tags) since all keywords were written.
    n_unwritten_missing : int
        Those of them that concern missing photos alone, so that they cannot be written now.
    n_pending_writes : int
        Files that a write had begun on when it was cut off.
    next_step, command : str
        A sentence, and what to type.
    """

    folder: str
    root: str
    online: bool
    n_present: int
    n_missing: int
    n_offline: int
    n_labeled: int
    n_unreadable: int
    n_tags: int
    n_yes: int
    n_no: int
    scanned: float
    model: int | None
    method: str
    n_new_decisions: int
    n_unwritten: int
    n_unwritten_missing: int
    n_pending_writes: int
    next_step: str
    command: str


def status(store: ProjectStore) -> Status:
    """Return where a project stands. Nothing is changed, and no photo is looked at.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """
    store.roots.refresh()
    root = project_root(store)
    counts = store.photos.counts()
    tags = store.tags.in_use()
    model = store.models.active()
    n_new = _n_new(store, model)
    n_pending = len(store.writes.pending())
    unwritten = unwritten_actions(store)
    n_writable = unwritten.n - unwritten.n_missing
    step, command = _next_step(store, root, counts, model, n_new=n_new, n_writable=n_writable, n_pending=n_pending)
    return Status(
        folder=str(store.folder),
        root=os.fsdecode(root.path),
        online=root.online,
        n_present=counts.present,
        n_missing=counts.missing,
        n_offline=counts.offline,
        n_labeled=counts.labeled,
        n_unreadable=counts.unreadable,
        n_tags=len(tags),
        n_yes=store.decisions.n_decided(1),
        n_no=store.decisions.n_decided(0),
        scanned=root.scanned,
        model=None if model is None else model.id,
        method="" if model is None else str(model.settings.get("method", "")),
        n_new_decisions=n_new,
        n_unwritten=unwritten.n,
        n_unwritten_missing=unwritten.n_missing,
        n_pending_writes=n_pending,
        next_step=step,
        command=command,
    )


def check(store: ProjectStore, *, checksums: bool = False) -> "list[Finding]":
    """Return what is not as it should be: damage in the project's folder, photos that are gone or out of reach.

    Parameters
    ----------
    store : ProjectStore
        The project.
    checksums : bool, default=False
        Read every array file in full, not only those in use.
    """
    from tagloom.metadata import name_to_text
    from tagloom.store import Finding

    found = store.check(checksums=checksums)
    store.roots.refresh()
    counts = store.photos.counts()
    if counts.missing:
        names = [name_to_text(name) for name in store.photos.missing()]
        shown = f"{', '.join(names[:_N_NAMED])}{' …' if len(names) > _N_NAMED else ''}"
        detail = (
            f"{counts.missing} {'photo was' if counts.missing == 1 else 'photos were'} not there at the last scan "
            f"({shown}); your decisions about {'it' if counts.missing == 1 else 'them'} are kept"
        )
        found.append(Finding("missing", detail, False))
    if counts.offline:
        offline = _counted(counts.offline, "photo is", "photos are")
        found.append(Finding("offline", f"{offline} in a folder that cannot be reached now", False))
    return found


def _n_new(store: ProjectStore, model: "Model | None") -> int:
    """Return how many states are others than those that the model, or an update since, learnt from."""
    return 0 if model is None else store.decisions.changed_since(n_learnt(store, model))


def n_learnt(store: ProjectStore, model: "Model") -> int:
    """Return how many decisions there were when the model, or an update since, learnt from them."""
    learnt: dict[str, int] = store.settings.get(LEARNT, {})
    n_known = int(model.settings.get("n_decisions", 0))
    return max(n_known, learnt["n_decisions"]) if learnt.get("model") == model.id else n_known


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _next_step(
    store: ProjectStore,
    root: "Root",
    counts: PhotoCounts,
    model: "Model | None",
    *,
    n_new: int,
    n_writable: int,
    n_pending: int,
) -> tuple[str, str]:
    """Return a sentence and a command: label, train, review, write, whichever is due first."""
    n_left = max(0, counts.present - counts.labeled)
    n_needed = n_missing(counts.labeled, store.decisions.n_decided(1)) if n_left > 0 else 0
    to_review = n_left > 0 and not store.decisions.has_judged_suggestions()
    steps = (
        (
            not root.online,
            "The photos are offline: plug in their disk, or name their new folder.",
            "scan --photos DIR",
        ),
        (n_pending > 0, f"A write was cut off at {_counted(n_pending, 'file', 'files')}: run it again.", "write"),
        (root.scanned == 0.0, "Find the photos.", "scan"),
        (counts.present == 0, "No photos yet: put some into the folder, then scan again.", "scan"),
        (
            counts.labeled == 0,
            "No photo is labelled yet: label some on the review page, or import labels (tagloom import LABELS.csv).",
            "review",
        ),
        (model is None, f"{_counted(counts.labeled, 'photo is', 'photos are')} labelled: train a model.", "train"),
        (
            n_needed > n_left,
            f"Label the remaining {_counted(n_left, 'photo', 'photos')} on the review page: too few in this "
            f"folder for probabilities.",
            "review",
        ),
        (
            n_needed > 0,
            f"Label {_counted(n_needed, 'more photo', 'more photos')} on the review page: then suggestions "
            f"carry probabilities.",
            "review",
        ),
        (n_new > 0, f"{_counted(n_new, 'decision is', 'decisions are')} new since the last training: train.", "train"),
        (to_review, "Review the suggestions: accept right ones, reject wrong ones.", "review"),
        (n_writable > 0, "See what would be written to the sidecars, then write it.", "write --dry-run"),
    )
    for is_due, sentence, command in steps:
        if is_due:
            return sentence, f"tagloom {command}"
    return "All keywords are written. Review more suggestions.", "tagloom review"
