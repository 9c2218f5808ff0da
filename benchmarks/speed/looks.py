"""Answers in the lens of a tag: what one refusal does to the suggestions that are left, and how honest they are.

A person who never errs goes through the lens of several tags, one answer after the other, in a project of photos of
which some are labelled; after every answer the model learns, as it does behind the page. In the second case every other
tag that is gone through means less than its labels say: only a share of the photos that have it are accepted, so that
suggestions must soon be fewer. All ways see the same answers but for the order that they make.

"Log loss" is that of what was promised of each photo that was shown. Right and expected are those of all suggestions of
the tag, summed over all answers. "Lost by a no" is the share of the right suggestions that are gone after a single
refusal, and "emptied" how often nearly all are (95 %), where 16 of the next 20 photos have the tag and five right ones
were suggested. "Wrong after 5" counts wrong suggestions of a tag after five answers.

The photos are training photos of Corel5K; the spreads in `tagloom.learning.judgements` were chosen on other draws of
the same photos.
"""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import DataMissingError
from benchmarks.projects import Collection, Flags, bare_project, made_up, public_set
from benchmarks.results import seed_of
from benchmarks.speed.harness import Local, case, compare, missing_case, out_parser, record
from tagloom.learning import judgements as judged_tags
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.update import Updater
from tagloom.project.project import Project

TITLE = "Answers in the lens"
#: Draws, photos, labelled ones, tags gone through in each, and answers for each of them.
SIZES = {"full": (6, 1200, 150, 8, 30), "quick": (1, 120, 40, 2, 6)}
#: Share of the photos with a tag that have it in the narrower sense.
NARROW = 0.35
#: Suggestions that a tag has in the beginning to be gone through.
FEWEST = 4
N_NEXT, GOOD, FEWEST_RIGHT, NEARLY_ALL = 20, 0.8, 5, 0.95
EARLY = 5
#: The rule of before: how many of the latest looks count, and how many the model's own word is worth.
LATEST, OWN_WORD = 10, 2.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """What stood after an answer, and what it did.

    Parameters
    ----------
    number : int
        Of the answer for this tag, from 1.
    is_yes : bool
        The answer.
    promised : float
        What was said of that photo before.
    n_suggested, n_right : int
        Suggestions of the tag now.
    expected : float
        How many of them are expected to be right.
    n_left : int
        Open photos that have the tag.
    right_before, right_kept : int
        Right suggestions before the answer, and those of them that still stand.
    next_right : float
        Share of the next photos that have the tag.
    """

    number: int
    is_yes: bool
    promised: float
    n_suggested: int
    n_right: int
    expected: float
    n_left: int
    right_before: int
    right_kept: int
    next_right: float


def make_project(root: Path, photos: Collection, n_labeled: int, threads: int) -> tuple[Project, Any, Any]:
    """Return a trained project of the photos, the first ones labelled; with ids of photos and tags."""
    project, ids = bare_project(root, photos, threads)
    store = project.store
    tags = np.asarray(store.tags.add([f"tag {column}" for column in range(photos.truth.shape[1])]))
    pairs = np.repeat(ids[:n_labeled], len(tags)), np.tile(tags, n_labeled)
    store.decisions.decide(*pairs, photos.truth[:n_labeled].ravel().astype(np.int8))
    project.train()
    return project, ids, tags


class Person:
    """Goes through the lens of tags, and notes what came of it.

    Parameters
    ----------
    updater : Updater
        What the page learns with.
    project : Project
        The project.
    tags : array of int
        Ids of the truth's columns.
    means : ndarray of bool, shape (n, c)
        What the person says of each photo and tag.
    """

    def __init__(self, updater: Updater, project: Project, tags: NDArray[np.int64], means: Flags) -> None:
        self._updater, self._project, self._tags, self._means = updater, project, tags, means
        self._is_open = np.ones(means.shape, dtype=bool)

    def list_tags(self, n_labeled: int) -> None:
        """Take the first photos for decided."""
        self._is_open[:n_labeled] = False

    def suggested(self, column: int) -> tuple[Flags, Floats]:
        """Return what is suggested of a tag, and its numbers."""
        (place,) = self._updater.predictions.columns_of(self._tags[[column]])
        values = self._updater.values[:, place].astype(np.float64)
        return self._is_open[:, column] & (values > self._updater.thresholds[place]), values

    def answer(self, column: int, number: int) -> Step:
        """Look at the likeliest photo."""
        before, values = self.suggested(column)
        row = int(np.argmax(np.where(self._is_open[:, column], values, -1.0)))
        promised, means = float(values[row]), self._means[:, column]
        photo = self._updater.photo_ids[[row]]
        self._project.store.decisions.decide(
            photo, self._tags[[column]], np.array([int(means[row])]), origin="suggested"
        )
        self._is_open[row, column] = before[row] = False
        self._updater.update()
        after, values = self.suggested(column)
        is_open = self._is_open[:, column]
        following = np.argsort(-np.where(is_open, values, -1.0), kind="stable")[:N_NEXT]
        return Step(
            number=number,
            is_yes=bool(means[row]),
            promised=promised,
            n_suggested=int(after.sum()),
            n_right=int((after & means).sum()),
            expected=float(values[after].sum()),
            n_left=int((is_open & means).sum()),
            right_before=int((before & means).sum()),
            right_kept=int((before & after & means).sum()),
            next_right=float(means[following].mean()),
        )


def session(photos: Collection, size: tuple[int, ...], draw: int, threads: int, share: float) -> list[Step]:
    """Draw photos, make a project of them, and go through some of its tags."""
    _, n, n_labeled, n_tags, n_answers = size
    generator = np.random.default_rng(seed_of("looks", draw))
    rows = generator.permutation(len(photos.X))[:n]
    truth = photos.truth[rows]
    kept = truth[:n_labeled].any(axis=0)
    drawn = Collection(photos.X[rows], photos.groups, truth[:, kept], photos.descriptors)
    means = drawn.truth.copy()
    narrow = generator.random(means.shape) < share
    with tempfile.TemporaryDirectory() as folder:
        project, _, tags = make_project(Path(folder), drawn, n_labeled, threads)
        with project, Updater(project.store, project.settings) as updater:
            person = Person(updater, project, tags, means)
            person.list_tags(n_labeled)
            counts = np.array([person.suggested(column)[0].sum() for column in range(len(tags))])
            # Those with suggestions in any order, then those with the most photos.
            order = generator.permutation(len(tags))
            order = order[np.argsort(-np.where(counts >= FEWEST, len(means), means.sum(axis=0))[order], kind="stable")]
            chosen = order[:n_tags].tolist()
            means[:, chosen[::2]] &= narrow[:, chosen[::2]]
            return [person.answer(column, 1 + at) for column in chosen for at in range(n_answers)]


def figures(steps: Sequence[Step]) -> dict[str, float]:
    """Return the row of a table."""
    promised = np.clip([step.promised for step in steps], 1e-3, 1.0 - 1e-3)
    is_yes = np.array([step.is_yes for step in steps])
    n_suggested = max(1, sum(step.n_suggested for step in steps))
    noes = [step for step in steps if is_good_no(step)]
    lost = np.array([1.0 - step.right_kept / step.right_before for step in noes])
    early = [step.n_suggested - step.n_right for step in steps if step.number == EARLY]
    found = {
        "log loss": float(-np.log(np.where(is_yes, promised, 1.0 - promised)).mean()),
        "suggestions": n_suggested / len(steps),
        "expected right, %": 100.0 * sum(step.expected for step in steps) / n_suggested,
        "right, %": 100.0 * sum(step.n_right for step in steps) / n_suggested,
        "of all, %": 100.0 * sum(step.n_right for step in steps) / max(1, sum(step.n_left for step in steps)),
        "wrong after 5": float(np.mean(early)),
        "noes": float(len(noes)),
    }
    if len(noes):
        found["lost by a no, %"] = 100.0 * float(lost.mean())
        found["emptied by a no, %"] = 100.0 * float((lost >= NEARLY_ALL).mean())
    return found


def is_good_no(step: Step) -> bool:
    """Tell whether a photo was refused in the midst of a good run."""
    return not step.is_yes and step.right_before >= FEWEST_RIGHT and step.next_right >= GOOD


def to_latest(values: NDArray[np.float32], labels: TrainingLabels, columns: NDArray[np.intp], **_kinds: Any) -> None:
    """Lower probabilities by the latest ten looks alone, in the ratio of what came to what was expected: as before.

    Probabilities of decided photos are what is said without their labels, as all are here.
    """
    for place, column in enumerate(columns.tolist()):
        latest = judged_tags._current_judgements(labels, column)[-LATEST:]
        if len(latest):
            expected = float(values[np.isin(labels.photo_ids, latest[:, 0]), place].sum())
            values[:, place] *= min(1.0, (OWN_WORD + int(latest[:, 1].sum())) / (OWN_WORD + expected))


def nothing(*_given: Any, **_named: Any) -> None:
    """Change nothing."""


#: Ways: what stands in for functions of `tagloom.learning.judgements`, and of who calls them.
WAYS: dict[str, dict[str, Callable[..., None]]] = {
    "as on the page": {},
    "by the latest ten, in the ratio": {"tagloom.learning.judgements.lower_to_judgements": to_latest},
    "a sigmoid of the tag's own alone": {"tagloom.learning.judgements.lower_to_judgements": nothing},
    "the model alone": {"tagloom.learning.stored_model.follow_judgements": nothing},
}


def looks_case(title: str, photos: Collection, size: tuple[int, ...], threads: int, share: float) -> dict[str, Any]:
    """Go through the lens in all ways."""

    def run(patches: dict[str, Callable[..., None]]) -> list[Step]:
        with ExitStack() as stack:
            for target, stand_in in patches.items():
                stack.enter_context(patch(target, stand_in))
            return [step for draw in range(size[0]) for step in session(photos, size, draw, threads, share)]

    contenders = [Local(name, lambda given=given: run(given), role="ours", runs=1) for name, given in WAYS.items()]
    entries = compare(contenders, accuracy=figures, repeats=1, threads=threads)
    return case(title, {"n": size[1], "labelled": size[2]}, entries)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("looks").parse_args(argv)
    size = SIZES["quick" if arguments.quick else "full"]
    n_draws, n, n_labeled, n_tags, n_answers = size
    told = f"{n} photos, {n_labeled} of them labelled, {n_answers} answers for each of {n_tags} tags, {n_draws} draws"
    shares = {told: 1.0, f"{told}; every other tag means less than its labels say": NARROW}
    try:
        photos = made_up(n) if arguments.quick else public_set("corel5k")
        cases = [looks_case(title, photos, size, arguments.threads, share) for title, share in shares.items()]
    except DataMissingError as error:
        cases = [missing_case(title, str(error)) for title in shares]
    record("looks", TITLE, cases, arguments.out, threads=arguments.threads)


if __name__ == "__main__":
    main()
