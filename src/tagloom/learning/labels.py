"""What a model learns from: the decisions of one moment, and which silence counts as a no."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tagloom.core import UNKNOWN, LabelMatrix, in_scratch, labeled_rows, rows_of, scratch
from tagloom.exceptions import InvalidInputError
from tagloom.learning.constants import (
    ALIKE_SHARE,
    ENOUGH_NOES,
    JUDGED_SHARE,
    LISTED_NOES,
    LISTED_TAGS,
    MOST_AT_ONCE,
    REFUSED_SHARE,
    WHOLE_SHARE,
)
from tagloom.store import ORIGINS, Decisions, ProjectStore

__all__ = ["TrainingLabels", "read_labels"]


SUGGESTED = ORIGINS.index("suggested")


class Judgements:
    """For each tag the photos that somebody judged one by one, and how, the latest last.

    Only these labels tell how right suggestions are.
    """

    def __init__(self) -> None:
        self._n_read = 0
        self._of_tag: dict[int, dict[int, tuple[int, bool]]] = {}

    def read(self, decisions: Decisions) -> None:
        """Take in what was said since the last time."""
        n_read = decisions.count()
        made = decisions.made_since(self._n_read, most_in_batch=MOST_AT_ONCE)
        self._n_read = n_read
        for photo, tag, state, origin in made.tolist():
            of_tag = self._of_tag.setdefault(tag, {})
            of_tag.pop(photo, None)  # what was said last comes last
            of_tag[photo] = state, origin == SUGGESTED

    def suggested(self, tag: int) -> NDArray[np.int64]:
        """Return photos that a tag was suggested for and what was said of them, 1 or 0, shape (k, 2), latest last."""
        said = self._of_tag.get(tag, {}).items()
        pairs = [(photo, state) for photo, (state, is_suggested) in said if is_suggested]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def given(self) -> NDArray[np.int64]:
        """Return the photos that a tag was given to by itself, each as often as it was given one; no suggestions."""
        said = (pair for of_tag in self._of_tag.values() for pair in of_tag.items())
        return np.array(
            [photo for photo, (state, is_suggested) in said if state == 1 and not is_suggested], dtype=np.int64
        )

    def photos(self, tag: int) -> NDArray[np.int64]:
        """Return the photos that were looked at for a tag."""
        return np.fromiter(self._of_tag.get(tag, {}), dtype=np.int64)


NOTHING_DECIDED = (
    "Nothing to train on: no readable photo is labelled yet. Run: tagloom review (or bring labels in with "
    "tagloom import FILE)"
)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLabels:
    """What was decided, all of one moment.

    Parameters
    ----------
    said : label matrix of shape (n, c)
        What was decided, and what follows from it.
    Y : label matrix of shape (n, c)
        What is learnt from: see `fill_silence`.
    named : ndarray of bool, shape (c,)
        Tags whose silence counts as a no in Y.
    listed : ndarray of bool, shape (n,)
        Photos on which it does: those whose tags somebody has listed.
    reviewed : ndarray of bool, shape (c,)
        Tags of which suggestions were judged.
    tag_ids : ndarray of int64
        The columns.
    tags : list of str
        Their texts.
    digest : str
        Of all decisions in force.
    n_decisions : int
        How many were made.
    column_digests : list of str
        Of each column of Y: equal where the same is learnt about the same photos.
    photo_ids : ndarray of int64
        The rows.
    judgements : Judgements
        What was said photo by photo.
    aliases : dict of int to tuple of str
        Other names of tags, by id.
    """

    said: LabelMatrix
    Y: LabelMatrix
    named: NDArray[np.bool_]
    listed: NDArray[np.bool_]
    reviewed: NDArray[np.bool_]
    tag_ids: NDArray[np.int64]
    tags: list[str]
    digest: str
    n_decisions: int
    column_digests: list[str]
    photo_ids: NDArray[np.int64]
    judgements: Judgements
    aliases: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> list[tuple[str, ...]]:
        """For each tag its text and its other names."""
        return [(text, *self.aliases.get(tag, ())) for tag, text in zip(self.tag_ids.tolist(), self.tags, strict=True)]

    def evidence(self, columns: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which known entries of some columns somebody has looked at: one by one, or in a list of tags."""
        of_tags = [np.isin(self.photo_ids, self.judgements.photos(tag)) for tag in self.tag_ids[columns].tolist()]
        looked_at = np.stack([self.listed | one for one in of_tags], axis=1) if of_tags else self.listed[:, None]
        return np.asarray(looked_at & (self.Y[:, columns] != UNKNOWN))

    @property
    def forgettable(self) -> NDArray[np.bool_]:
        """Tags whose silence may be forgetting: named, never looked through, and hardly ever refused.

        Where suggestions are refused, too, a person goes through photos from the likeliest down. What is left is not
        what was forgotten, and raising its probabilities would be far too good to be true.
        """
        refused = (self.said == 0).sum(axis=0) > REFUSED_SHARE * (self.said == 1).sum(axis=0)
        return self.named & ~self.reviewed & ~refused

    @property
    def n_labeled(self) -> int:
        """How many photos have a decision."""
        return int(labeled_rows(self.said).sum())


def check_decided(store: ProjectStore) -> None:
    """Say at once, before any photo is read, that there is nothing to learn from.

    Raises
    ------
    InvalidInputError
        If nothing was decided.
    """
    if not len(store.decisions.current().photo_ids):
        raise InvalidInputError(NOTHING_DECIDED)


#: The setting of a project that names tags which are suggested before anything is decided of them.
OFFERED = "offered_tags"


def offer_tags(store: ProjectStore, tag_ids: NDArray[np.int64], *, to_train: bool) -> None:
    """Let tags be suggested of which nothing is decided.

    Parameters
    ----------
    store : ProjectStore
        The project.
    tag_ids : ndarray of int64
        The tags; those that were offered before no longer are.
    to_train : bool
        Whether models that are trained later offer them, too, and not only updates of a first review: tags that a
        person asked for.
    """
    store.settings.set(OFFERED, {"tags": tag_ids.tolist(), "to_train": to_train})


def _offered(store: ProjectStore, *, in_training: bool) -> NDArray[np.int64]:
    found = store.settings.get(OFFERED)
    listed = found.get("tags") if isinstance(found, dict) else None
    if not isinstance(listed, list) or (in_training and not found.get("to_train")):
        return np.empty(0, dtype=np.int64)
    merged = {tag: into for tag, (_, into) in store.tags.merged().items()}
    known = {tag.id for tag in store.tags.all()}
    tags = {merged.get(tag, tag) for tag in listed if isinstance(tag, int)}
    return np.array(sorted(tags & known), dtype=np.int64)


def unlabelled(store: ProjectStore, photo_ids: NDArray[np.int64], tag_ids: NDArray[np.int64]) -> TrainingLabels:
    """Return labels of photos of which nothing is decided.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photo_ids, tag_ids : ndarray of int64
        Rows and columns.
    """
    nothing = np.full((len(photo_ids), len(tag_ids)), UNKNOWN, dtype=np.int8)
    no_tags, no_photos = np.zeros(len(tag_ids), dtype=bool), np.zeros(len(photo_ids), dtype=bool)
    return TrainingLabels(
        said=nothing,
        Y=nothing,
        named=no_tags,
        listed=no_photos,
        reviewed=no_tags,
        tag_ids=tag_ids,
        tags=store.tags.texts(tag_ids),
        digest=store.decisions.labels_digest(),
        n_decisions=store.decisions.count(),
        column_digests=_column_digests(photo_ids, nothing),
        photo_ids=photo_ids,
        judgements=Judgements(),
        aliases=store.tags.aliases(),
    )


def read_labels(
    store: ProjectStore, photo_ids: NDArray[np.int64], judgements: Judgements | None = None, *, in_training: bool = True
) -> TrainingLabels:
    """Return what was decided about photos.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photo_ids : ndarray of int64
        The rows, each once.
    judgements : Judgements, optional
        As far as they were read before; read on here.
    in_training : bool, default=True
        Whether offered tags are left out that nobody asked for; see `offer_tags`.

    Raises
    ------
    InvalidInputError
        If nothing was decided about any of them.
    """
    with store.transaction():  # decisions of other processes wait, so that matrix, digest and count agree
        ids, tag_ids, found = store.decisions.labels()
        current = store.decisions.current()
        judgements = Judgements() if judgements is None else judgements
        judgements.read(store.decisions)
        digest, n_decisions = store.decisions.labels_digest(), store.decisions.count()
        if len(offered := np.setdiff1d(_offered(store, in_training=in_training), tag_ids)):
            found = np.hstack([found, np.full((len(ids), len(offered)), UNKNOWN, dtype=np.int8)])
            order = np.argsort(np.concatenate([tag_ids, offered]), kind="stable")
            tag_ids, found = np.concatenate([tag_ids, offered])[order], found[:, order]
        tags, aliases = store.tags.texts(tag_ids), store.tags.aliases()
    at = rows_of(photo_ids, ids)
    found, at = found[at >= 0], at[at >= 0]
    if not (found != UNKNOWN).any():
        raise InvalidInputError(NOTHING_DECIDED)
    # A tag decided on no readable photo has nothing to learn from.
    kept = (found != UNKNOWN).any(axis=0) | np.isin(tag_ids, offered)
    tags, tag_ids = [tag for tag, has in zip(tags, kept, strict=True) if has], tag_ids[kept]
    said = scratch((len(photo_ids), len(tag_ids)), np.int8)
    said[:] = UNKNOWN
    said[at] = found[:, kept]
    is_suggested = current.origins == ORIGINS.index("suggested")
    listed = np.isin(photo_ids, current.photo_ids[~is_suggested])
    reviewed = np.isin(tag_ids, current.tag_ids[is_suggested])
    if not listed.any():
        listed = labeled_rows(said)
    is_imported = (current.origins == ORIGINS.index("imported")) & (current.states == 1)
    spoken = np.concatenate([current.photo_ids[is_imported], judgements.given()])
    ids, counts = np.unique(spoken, return_counts=True)
    at = rows_of(photo_ids, ids)
    n_spoken = np.zeros(len(photo_ids), dtype=np.int64)
    n_spoken[at[at >= 0]] = counts[at >= 0]
    n_spoken = np.minimum(n_spoken, (said == 1).sum(axis=1))  # of what was undone nothing stands
    Y, named = fill_silence(said, listed, n_spoken)
    digests = _column_digests(photo_ids, Y)
    return TrainingLabels(
        said, Y, named, listed, reviewed, tag_ids, tags, digest, n_decisions, digests, photo_ids, judgements, aliases
    )


def fill_silence(
    Y: LabelMatrix, listed: NDArray[np.bool_] | None = None, n_spoken: NDArray[np.int64] | None = None
) -> tuple[LabelMatrix, NDArray[np.bool_]]:
    """Let silence count as a no for tags that were named rather than judged.

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        What was said.
    listed : array of bool, shape (n,), optional
        Photos whose tags somebody has listed. Default: those with a known entry.
    n_spoken : array of int, shape (n,), optional
        How many tags were given to each photo by itself, and not to many at once. Default: all that it has.

    Returns
    -------
    Y : label matrix of shape (n, c)
        For tags that some photo has and that were named rather than judged, 0 where it was -1 on a listed photo; for
        the other ones, 0 where it was -1 on a photo of which all tags were listed, and nothing refused, or in a list
        like those that have the tag.
    named : ndarray of bool, shape (c,)
        Which tags these are.

    Notes
    -----
    Keywords found in photos, and a new tag given to some photos, say where a tag is, and next to nothing of where it
    is not. From yeses alone nothing can be learnt, and from a few refused suggestions next to nothing: those are the
    photos most like the tag's own. So a tag was judged if something was said of it on half of the listed photos, a no
    among it for every ten yeses, or if it has plenty of noes. The latter stay enough when many photos are listed later,
    such as by one tag that is given to all photos of an event.

    Where a person lists the tags of further photos and refuses none, these have yeses of judged tags and no noes, which
    would make every such tag far too frequent: of a photo that was given several tags by itself silence tells, of all
    tags. (One tag is a list where every photo that was judged as a whole has just one.)

    Where a second file lists photos, each file speaks of its own tags alone: a tag that is in one of them is unknown on
    the photos of the other, and would be as frequent as in the one that has it. If the files share half of their tags,
    they are of one kind, and a tag that is not given in one is absent there.

    A photo of which only suggestions were judged says nothing of other tags: nobody has looked for those.
    """
    listed = labeled_rows(Y) if listed is None else listed
    # Silence of other photos says nothing.
    rows = np.flatnonzero(listed | labeled_rows(Y))
    filled, named = _filled(Y[rows], listed[rows], None if n_spoken is None else n_spoken[rows])
    found = in_scratch(Y)
    found[rows] = filled
    return found, named


def _filled(
    Y: LabelMatrix, listed: NDArray[np.bool_], n_spoken: NDArray[np.int64] | None
) -> tuple[LabelMatrix, NDArray[np.bool_]]:
    known = Y != UNKNOWN
    n_yes, n_no = (Y[listed] == 1).sum(axis=0), (Y[listed] == 0).sum(axis=0)
    judged = (n_yes + n_no >= JUDGED_SHARE * listed.sum()) & (n_no >= REFUSED_SHARE * n_yes)
    judged |= n_no >= np.maximum(ENOUGH_NOES, n_yes)
    judged |= n_yes + n_no == listed.sum()
    has_yes = (Y == 1).any(axis=0)
    named = ~judged & has_yes
    whole = _all_listed(Y, listed, judged, n_spoken)[:, None] | _listed_alike(Y, listed, has_yes)
    told = (listed[:, None] & named) | (whole & judged & has_yes)
    return np.where(told & ~known, 0, Y).astype(np.int8), named


def _all_listed(
    Y: LabelMatrix, listed: NDArray[np.bool_], judged: NDArray[np.bool_], n_spoken: NDArray[np.int64] | None
) -> NDArray[np.bool_]:
    """Return the listed photos of which all tags were said and none refused, as far as their number tells."""
    whole = listed & (Y[:, judged] != UNKNOWN).all(axis=1)
    yes = (Y == 1).sum(axis=1)
    if not judged.any() or not whole.any():
        return np.zeros(len(Y), dtype=bool)
    least = 1 if (yes[whole] == 1).all() else LISTED_TAGS
    return np.asarray(listed & ~(Y == 0).any(axis=1) & ((yes if n_spoken is None else n_spoken) >= least))


def _listed_alike(Y: LabelMatrix, listed: NDArray[np.bool_], tags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the pairs of a photo that was listed as a whole and a tag that lists of the same kind have.

    Of the tags known of the photo, half are known, on the mean, where the tag is.
    """
    found = np.zeros(Y.shape, dtype=bool)
    known = Y[:, tags] != UNKNOWN
    whole = listed & ((Y == 0).sum(axis=1) >= LISTED_NOES) & (known.sum(axis=1) >= WHOLE_SHARE * tags.sum())
    known = known[whole].astype(np.float32)
    if not known.size or known.all():
        return found
    together = known.T @ known
    shared = known @ (together / np.maximum(together.diagonal(), 1.0)) / known.sum(axis=1, keepdims=True)
    found[np.ix_(whole, tags)] = shared >= ALIKE_SHARE
    return found


def _column_digests(photo_ids: NDArray[np.int64], Y: LabelMatrix) -> list[str]:
    """Return a checksum of each column: which photos are known, and how."""
    rows = np.flatnonzero(labeled_rows(Y))
    rows = rows[np.argsort(photo_ids[rows])]
    ids, columns = photo_ids[rows].astype("<i8"), np.ascontiguousarray(Y[rows].T)
    found = []
    for column in columns:
        known = column != UNKNOWN
        content = ids[known].tobytes() + column[known].tobytes()
        found.append(hashlib.blake2b(content, digest_size=16).hexdigest())
    return found
