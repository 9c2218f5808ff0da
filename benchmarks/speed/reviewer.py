"""A scripted reviewer who never errs: how long 1,000 photos take with suggestions, and photo by photo without them.

The reviewer works through the verbs that the page calls, on made-up scenes of which nothing is said at first. Each
decision takes 300 ms of made-up time: each accept, reject and given tag, each step to the next photo, and each "accept
all above here", which takes one look at the expected precision. What typing takes beyond that is not counted in the
minutes, which favours tagging by hand; "typed" adds 200 ms for each further key. The model learns meanwhile, as it does
behind the page.

The reviewer goes through the lens of one tag after the other, three times, as the page shows it: a screen of photos
one by one, then the order that has been learned from them. From the second screen of a visit on, all that has the
wanted precision may be accepted unseen. How a person would do it is a guess. An earlier reviewer read the order once in
a visit and accepted unseen before any look. It did worse than tagging by hand, and showed how wrong the probabilities
of a review were. All ways are in the table. There is one set of scenes, and when the model has learned depends on the
machine: two runs of the same way differ by a few hundredths of F1. "Expected right" is what the page shows before it
accepts photos unseen; "right" is what came of it.
"""

import shutil
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import Elapsed, measure
from benchmarks.errors import BenchmarkError
from benchmarks.speed.harness import case, out_parser, record
from tagloom.datasets import Scenes, write_scenes
from tagloom.project.project import Project
from tagloom.review.events import ReviewEvent
from tagloom.review.learner import ProjectLearner
from tagloom.review.ranking import PhotoQuery
from tagloom.review.session import ReviewSession
from tagloom.store.decisions import Origin

TITLE = "A scripted reviewer"
SIZES = {"full": (1_000, None), "quick": (60, "color")}
SECONDS, KEY_SECONDS = 0.3, 0.2
N_FIRST = 20  # photos tagged by hand before the model is asked
LOOKS = (20, 30, 60)  # photos looked at one by one in each of three visits to the lens of a tag, at most
NO_LIMIT = (100_000,) * 3
RUN, WRONG = 10, 8  # a visit ends when 8 of the latest 10 were wrong
PER_SCREEN = 20
PATIENCE = 300.0

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Policy:
    """A way to use the lens: how many looks in each visit, and from which expected precision on to accept unseen."""

    name: str
    looks: tuple[int, ...]
    precision: float | None


POLICIES = (
    Policy("few looks, nothing unseen", LOOKS, None),
    Policy("few looks, unseen from 95 %", LOOKS, 0.95),
    Policy("looks while they pay, nothing unseen", NO_LIMIT, None),
    Policy("looks while they pay, unseen from 97 %", NO_LIMIT, 0.97),
    Policy("looks while they pay, unseen from 95 %", NO_LIMIT, 0.95),
    Policy("looks while they pay, unseen from 90 %", NO_LIMIT, 0.9),
)


@dataclass
class Tally:
    """What it took."""

    n_keys: int = 0
    n_decisions: int = 0
    n_unseen: int = 0
    n_unseen_right: int = 0
    expected_right: float = 0.0

    def add(self, keys: int, decisions: int = 1) -> None:
        """Count keys and decisions."""
        self.n_keys += keys
        self.n_decisions += decisions

    @property
    def minutes(self) -> float:
        """The made-up time."""
        return self.n_decisions * SECONDS / 60

    @property
    def typed_minutes(self) -> float:
        """The made-up time with every key beyond one for each decision."""
        return self.minutes + (self.n_keys - self.n_decisions) * KEY_SECONDS / 60


def typed(tags: Sequence[str]) -> list[int]:
    """Return how many keys give each tag: t, the letters that tell it from all others, Enter."""
    shortest = []
    for tag in tags:
        others = [other for other in tags if other != tag]
        lengths = (n for n in range(1, len(tag)) if not any(other.startswith(tag[:n]) for other in others))
        shortest.append(2 + next(lengths, len(tag)))
    return shortest


def f1(truth: Flags, found: Flags) -> float:
    """Return the F1 of all pairs of photo and tag."""
    return float(2 * (truth & found).sum() / max(1, truth.sum() + found.sum()))


class Reviewer:
    """Works through a session; knows the truth.

    Parameters
    ----------
    session : ReviewSession
        The review.
    photos : sequence of int
        The ids of the photos, in the order of the truth's rows.
    tags : sequence of str
        The truth's columns.
    truth : ndarray of bool, shape (n, c)
        What the photos show.
    """

    def __init__(self, session: ReviewSession, photos: Sequence[int], tags: Sequence[str], truth: Flags) -> None:
        self.tally = Tally()
        self._session = session
        self._row = {photo: row for row, photo in enumerate(photos)}
        self._truth = truth
        self._keys = typed(tags)
        self._ids = [session.add_tag(tag)["id"] for tag in tags]
        self._news = threading.Event()
        session.events.listen(self._arrive)

    def _arrive(self, event: ReviewEvent | None) -> None:
        if event is None or (event.name == "learned" and event.data["tags"]):
            self._news.set()

    def _decide(self, photos: Sequence[int], column: int, state: int, origin: Origin = "suggested") -> None:
        self._session.decide(list(photos), [self._ids[column]], state, origin=origin)

    def _learn(self, seconds: float) -> None:
        """Give the model the time that a person would have taken; it may have nothing to learn, too."""
        self._news.wait(seconds)

    def begin(self, n: int) -> None:
        """Tag the first photos by hand."""
        self._news.clear()
        for photo in self._session.teach(None, n)["ids"]:
            for column in np.flatnonzero(self._truth[self._row[photo]]).tolist():
                self._decide([photo], column, 1, "human")
                self.tally.add(self._keys[column])
            self.tally.add(2)
        self._learn(PATIENCE)
        if not self._news.is_set():
            raise BenchmarkError("the model has learned nothing from the first photos")

    def visit(self, column: int, n_looks: int, precision: float | None) -> None:
        """Go through the lens of a tag, screen after screen: accept what is nearly certain at once, or look at it."""
        wrong: list[bool] = []
        while len(wrong) < n_looks and sum(wrong[-RUN:]) < WRONG:
            photos, values = self._open(column)
            if not photos:
                break
            self._news.clear()
            if len(wrong) < RUN or not self._accept_unseen(photos, values, column, precision):
                n_before = len(wrong)
                self._look(photos[: min(PER_SCREEN, n_looks - n_before)], column, wrong)
                self._learn(SECONDS * (len(wrong) - n_before))
        self.tally.add(2)  # to the lens of the next tag

    def _accept_unseen(
        self, photos: list[int], values: NDArray[np.float32], column: int, precision: float | None
    ) -> bool:
        if precision is None or self._session.state.kind != "probability":
            return False
        n_sure = int((np.cumsum(values) / np.arange(1, len(values) + 1) >= precision).sum())
        if n_sure <= RUN:
            return False
        self._decide(photos[:n_sure], column, 1)
        n_screens = 2 + n_sure // PER_SCREEN
        self.tally.add(n_screens)
        self.tally.n_unseen += n_sure
        self.tally.n_unseen_right += int(self._truth[[self._row[photo] for photo in photos[:n_sure]], column].sum())
        self.tally.expected_right += float(values[:n_sure].sum())
        self._learn(SECONDS * n_screens)
        return True

    def _look(self, photos: Sequence[int], column: int, wrong: list[bool]) -> None:
        for photo in photos:
            is_right = bool(self._truth[self._row[photo], column])
            self._decide([photo], column, int(is_right))
            self.tally.add(1)
            wrong.append(not is_right)
            if sum(wrong[-RUN:]) >= WRONG:
                break

    def _open(self, column: int) -> tuple[list[int], NDArray[np.float32]]:
        query = PhotoQuery(sort="score", tag=self._ids[column], state="unreviewed")
        found = self._session.ranking(query)
        values = np.empty(0, dtype=np.float32) if found.values is None else found.values
        known = np.isfinite(values)
        return found.ids[known].tolist(), values[known]

    def found(self) -> Flags:
        """Return what stands as accepted."""
        accepted = np.zeros_like(self._truth)
        standing = self._session.project.store.decisions.current()
        column = {tag: place for place, tag in enumerate(self._ids)}
        for photo, tag, state in zip(standing.photo_ids, standing.tag_ids, standing.states, strict=True):
            accepted[self._row[int(photo)], column[int(tag)]] = state == 1
        return accepted


def by_hand(
    truth: Flags, keys: Sequence[int], minutes: float = np.inf, *, is_typing_counted: bool = False
) -> tuple[Tally, Flags]:
    """Tag photo after photo without suggestions, until all are done or the time is up."""
    tally, found = Tally(), np.zeros_like(truth)
    for row, shown in enumerate(truth):
        if (tally.typed_minutes if is_typing_counted else tally.minutes) >= minutes:
            break
        for column in np.flatnonzero(shown).tolist():
            tally.add(keys[column])
            found[row, column] = True
        tally.add(2)
    return tally, found


def row_of(name: str, tally: Tally, truth: Flags, found: Flags, elapsed: Elapsed) -> dict[str, Any]:
    """Return a row of the table."""
    n = len(truth)
    figures = {
        "keys per photo": tally.n_keys / n,
        "decisions per photo": tally.n_decisions / n,
        "minutes": tally.minutes,
        "minutes, typed": tally.typed_minutes,
        "F1": f1(truth, found),
        "wrong keywords": int((found & ~truth).sum()),
    }
    if tally.n_unseen:
        figures["accepted unseen"] = tally.n_unseen
        figures["expected right, %"] = 100 * tally.expected_right / tally.n_unseen
        figures["right, %"] = 100 * tally.n_unseen_right / tally.n_unseen
    return {"name": name, "role": "ours", "cpu": elapsed.cpu, "wall": elapsed.wall, "accuracy": figures}


def review(photos: Path, flags: dict[str, Any], scenes: Scenes, policy: Policy) -> tuple[Tally, Flags, Elapsed]:
    """Review the photos of a project of which nothing is said."""
    with Project.open(photos, flags=flags) as project:
        ids = project.store.photos.find([name.encode() for name in scenes.names])

        def learner() -> ProjectLearner:
            return ProjectLearner(project)

        with ReviewSession(project, make_learner=learner, with_looks=False) as session, measure() as elapsed:
            in_order = [ids[name.encode()] for name in scenes.names]
            person = Reviewer(session, in_order, list(scenes.tags), scenes.Y == 1)
            person.begin(min(N_FIRST, len(scenes) // 3))
            for n_looks in policy.looks:
                for column in range(len(scenes.tags)):
                    person.visit(column, n_looks, policy.precision)
            found = person.found()
    return person.tally, found, elapsed


def reviewer_case(n: int, descriptors: str | None, threads: int) -> dict[str, Any]:
    """Review made-up photos in all ways, and tag them by hand."""
    entries = []
    flags = {"n_threads": threads} | ({} if descriptors is None else {"descriptors": descriptors})
    with tempfile.TemporaryDirectory() as folder:
        photos = Path(folder) / "photos"
        scenes = write_scenes(photos, n, labeled=1, random_state=0)
        truth, keys = scenes.Y == 1, typed(list(scenes.tags))
        with Project.init(photos, flags=flags) as project:
            project.scan()
            project.extract()
        for number, policy in enumerate(POLICIES):
            copy = shutil.copytree(photos, Path(folder) / f"copy-{number}")
            tally, found, elapsed = review(copy, flags, scenes, policy)
            row = row_of(policy.name, tally, truth, found, elapsed)
            row["accuracy"] |= {
                "F1 by hand, as long": f1(truth, by_hand(truth, keys, tally.minutes)[1]),
                "F1 by hand, as long, typed": f1(
                    truth, by_hand(truth, keys, tally.typed_minutes, is_typing_counted=True)[1]
                ),
            }
            entries.append(row)
    entries.append(row_of("photo by photo, to the end", *_all_by_hand(truth, keys)))
    return case(f"{n} photos, {len(keys)} tags, 300 ms for each decision", {"n": n}, entries)


def _all_by_hand(truth: Flags, keys: Sequence[int]) -> tuple[Tally, Flags, Flags, Elapsed]:
    tally, found = by_hand(truth, keys)
    return tally, truth, found, Elapsed()


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("reviewer").parse_args(argv)
    n, descriptors = SIZES["quick" if arguments.quick else "full"]
    found = reviewer_case(n, descriptors, arguments.threads)
    record("reviewer", TITLE, [found], arguments.out, threads=arguments.threads)


if __name__ == "__main__":
    main()
