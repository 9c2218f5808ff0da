"""The ways in which a collection comes by its tags, each played through with the verbs that a person has."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.projects import Collection, Flags, Ids, bare_project, photo_name
from tagloom.core.labels import AbsentMeans
from tagloom.learning.suggest import OpenSuggestions, open_suggestions
from tagloom.learning.update import Updater

Rows = NDArray[np.intp]
#: Share of the tags that are named where some are forgotten; one tag of so many is new where some are.
NAMED, NEW_OF = 0.5, 3
#: Rounds of judging, after each of which the model learns.
ROUNDS = 10


@dataclass(frozen=True)
class Sizes:
    """How large a collection is.

    Parameters
    ----------
    photos : int
        Drawn from the set.
    few, listed, many : int
        Photos whose tags are listed: few, as usual, and many.
    more : int
        Photos that come by their tags later.
    judged : int
        Suggestions that a person judges.
    """

    photos: int
    few: int
    listed: int
    many: int
    more: int
    judged: int


class Work:
    """A project of photos, and somebody who knows all their tags.

    Parameters
    ----------
    folder : Path
        Empty.
    photos : Collection
        The photos, in any order.
    sizes : Sizes
        How many of them are told of.
    seed : int
        Of what is forgotten.
    threads : int
        Of training.
    """

    def __init__(self, folder: Path, photos: Collection, sizes: Sizes, seed: int, threads: int) -> None:
        self.sizes, self.truth, names = sizes, photos.truth, photos.tags
        self._names = [f"tag {column:04d}" for column in range(self.truth.shape[1])] if not names else list(names)
        self._columns = {name: column for column, name in enumerate(self._names)}
        self.generator = np.random.default_rng(seed)
        self._folder = folder
        (folder / "photos").mkdir()
        self.project, self._ids = bare_project(folder / "photos", photos, threads)

    @property
    def listed(self) -> Rows:
        """The photos that are told of first."""
        return np.arange(self.sizes.listed)

    @property
    def later(self) -> Rows:
        """Those that are told of afterwards."""
        return np.arange(self.sizes.listed, self.sizes.listed + self.sizes.more)

    def tag_name(self, column: int) -> str:
        """Return the text of a tag."""
        return self._names[column]

    def list_tags(self, rows: Rows, *, absent_means: AbsentMeans = "no", told: Flags | None = None) -> None:
        """Import a file with the tags of photos, all or those that are told."""
        has = self.truth if told is None else self.truth & told
        path = self._folder / f"labels-{rows[0]}-{absent_means}.csv"
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["file", "tags"])
            writer.writerows([photo_name(row), ";".join(map(self.tag_name, np.flatnonzero(has[row])))] for row in rows)
        self.project.import_keywords(path, absent_means=absent_means)

    def give_tags(self, rows: Rows, columns: Rows | None = None) -> None:
        """Give photos their tags, one photo after the other, and refuse none."""
        for row in rows.tolist():
            wanted = np.flatnonzero(self.truth[row]) if columns is None else columns[self.truth[row, columns]]
            if len(wanted):
                self.project.label(photo_name(row), add=[self.tag_name(column) for column in wanted])

    def judge(self, n: int) -> None:
        """Accept or refuse the likeliest suggestions of the whole project; the model learns after every tenth."""
        with Updater(self.project.store, self.project.settings) as updater:
            for _ in range(ROUNDS):
                found = self.suggestions()
                values = np.where(found.open, found.values, -1.0)
                best = np.argsort(-values, axis=None, kind="stable")[: n // ROUNDS]
                rows, columns = np.unravel_index(best, values.shape)
                means = self.truth_of(found)[rows, columns].astype(np.int8)
                for photo, tag, state in zip(found.photo_ids[rows], found.tag_ids[columns], means, strict=True):
                    self.project.store.decisions.decide([photo], [tag], [state], origin="suggested")
                updater.update()
                updater.save()

    def suggestions(self) -> OpenSuggestions:
        """Return what the project says now."""
        found = open_suggestions(self.project.store)
        assert found is not None
        return found

    def truth_of(self, found: OpenSuggestions) -> Flags:
        """Return the truth of the photos and tags that something is said of."""
        columns = [self._columns[text] for text in found.tags]
        return np.asarray(self.truth[np.ix_(_places(self._ids, found.photo_ids), columns)])


def _places(ids: Ids, wanted: Ids) -> Rows:
    order = np.argsort(ids)
    return np.asarray(order[np.searchsorted(ids, wanted, sorter=order)])


def listed(work: Work) -> None:
    """List all tags of some photos."""
    work.list_tags(work.listed)
    work.project.train()


def listed_few(work: Work) -> None:
    """List all tags of few photos."""
    work.list_tags(np.arange(work.sizes.few))
    work.project.train()


def listed_many(work: Work) -> None:
    """List all tags of many photos."""
    work.list_tags(np.arange(work.sizes.many))
    work.project.train()


def named(work: Work, n: int, share: float = 1.0) -> None:
    """Name a share of the tags of photos, any of them; what is not named may have been forgotten, or not."""
    told = work.generator.random(work.truth.shape) < share
    work.list_tags(np.arange(n), absent_means="unknown", told=told)
    work.project.train()


def listed_then_given(work: Work) -> None:
    """List all tags of some photos; then give more photos theirs, one by one, and refuse none."""
    work.list_tags(work.listed)
    work.give_tags(work.later)
    work.project.train()


def new_tags(work: Work) -> None:
    """List most tags of some photos; then give every third tag, new, to those of them that have it."""
    columns = np.arange(work.truth.shape[1])
    fresh = columns[columns % NEW_OF == 0]
    work.list_tags(work.listed, told=np.broadcast_to(columns % NEW_OF != 0, work.truth.shape))
    work.give_tags(work.listed, fresh)
    work.project.train()


def judged(work: Work) -> None:
    """List all tags of some photos; then judge suggestions, the likeliest first, and learn as the page does."""
    listed(work)
    work.judge(work.sizes.judged)


def before(work: Work) -> None:
    """List all tags of some photos, and train; more photos are listed, and nothing is learnt from them."""
    listed(work)
    work.list_tags(work.later)


def updated(work: Work) -> None:
    """Do the same, then update by the method itself."""
    before(work)
    work.project.update()


def trained_again(work: Work) -> None:
    """Do the same, then train."""
    before(work)
    work.project.train()


@dataclass(frozen=True)
class Situation:
    """A way to come by tags.

    Parameters
    ----------
    title : str
        For the page; a format string over `Sizes`.
    play : function
        Does it, in a project of which nothing is said.
    """

    title: str
    play: Callable[[Work], None]


#: How tags were told.
TOLD = {
    "listed-few": Situation("{few} photos labelled with all their tags", listed_few),
    "listed": Situation("{listed} photos labelled", listed),
    "listed-many": Situation("{many} photos labelled", listed_many),
    "named-few": Situation(
        "{few} photos with all their keywords, absence meaning unknown", lambda work: named(work, work.sizes.few)
    ),
    "named": Situation("{listed} photos with all their keywords", lambda work: named(work, work.sizes.listed)),
    "named-many": Situation("{many} photos with all their keywords", lambda work: named(work, work.sizes.many)),
    "half-named": Situation(
        "{listed} photos with half of their keywords", lambda work: named(work, work.sizes.listed, NAMED)
    ),
    "half-named-many": Situation(
        "{many} photos with half of their keywords", lambda work: named(work, work.sizes.many, NAMED)
    ),
    "given": Situation("{listed} labelled, then {more} given their tags one by one, none rejected", listed_then_given),
    "new-tags": Situation("{listed} labelled, every third tag new and added later", new_tags),
    "judged": Situation("{listed} labelled, then the {judged} likeliest suggestions decided", judged),
}
#: What is learnt from more photos after a training.
LEARNT = {
    "before": Situation("as trained before", before),
    "updated": Situation("update by `auto` itself", updated),
    "trained": Situation("trained again", trained_again),
}
SITUATIONS = TOLD | LEARNT
