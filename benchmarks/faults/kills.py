"""``kill -9`` at random moments over every verb that changes something (`benchmarks.faults.tasks.VERBS`).

A project lives for some kills, one after the other, then a fresh one takes its place; every second one with the other
journal. Moments are drawn evenly over the time that a verb takes undisturbed. A kill counts if it came before the verb
was done; each is followed by a look at everything (`benchmarks.faults.verify`).
"""

import copy
import random
import shutil
import statistics
import tempfile
import time
from collections import Counter, defaultdict, deque
from pathlib import Path
from typing import Any

from benchmarks.faults.scene import JOURNALS, copy_scene, make_scene, read_sidecars, use_settings
from benchmarks.faults.server import Server
from benchmarks.faults.tasks import CALLS, available, prepare
from benchmarks.faults.verify import Knowledge, verify

KILLS_PER_LIFE = 40
MAX_PROBLEMS = 20
N_LABELS = 30
RERUN_SHARE = 0.25


class _Life:
    """One project that is disturbed again and again."""

    def __init__(self, folder: Path, server: Server, journal: str, rng: random.Random) -> None:
        self._server, self._journal, self._rng = server, journal, rng
        self._options: dict[str, Any] = {}
        self.known = Knowledge.of(folder)
        self.folder = folder

    def prepare(self, verb: str) -> None:
        """Give a verb something to do."""
        before = copy.copy(self.known)
        before.sidecars, before.originals = dict(before.sidecars), dict(before.originals)
        # A training has enough to do with what is there.
        self._options = prepare(verb, self.folder, self._rng, n_new=0 if verb == "train" else 3)
        self.known.expect(verb, self._options, before)

    def do(self, verb: str, delay: float | None = None) -> Any:
        """Do a verb, kill it maybe, and take in what it said."""
        asked = {"n": N_LABELS, "seed": self._rng.getrandbits(32)} | self._options
        outcome = self._server.ask(
            delay, **asked, verb=CALLS.get(verb, verb), folder=self.folder, journal=self._journal
        )
        if outcome.code not in (0, -9):
            raise RuntimeError(f"{verb} ended with exit code {outcome.code}, which is no kill")
        self.known.hear(verb, outcome)
        return outcome

    def check(self, verb: str, outcome: Any) -> list[str]:
        """Look at everything after a verb or a kill."""
        problems = verify(self.known)
        if outcome.survivors:
            problems.append(f"{outcome.survivors} processes outlived their parent")
        if verb in ("write", "undo"):
            self._settle_sidecars(verb)
        return problems

    def _settle_sidecars(self, verb: str) -> None:
        """Note which sidecars are the new ones: those, the others may still become so by the same command."""
        now = read_sidecars(self.folder)
        is_new = [now.get(name) == may[-1] for name, may in self.known.sidecars.items() if len(may) > 1]
        self.known.seen[f"{verb} cut off between two files"] += any(is_new) and not all(is_new)

    def settle(self) -> None:
        """Take the sidecars as they are now for right, after they were found to be the old or the new ones."""
        self.known.look_at_files()

    def finish(self) -> list[str]:
        """Do every verb undisturbed: all must work."""
        problems = []
        for verb in available():
            self.prepare(verb)
            problems += self.check(verb, self.do(verb))
            self.settle()
        return problems


def run(n: int = 1000, seed: int = 0) -> dict[str, Any]:
    """Kill until so many kills came inside a verb, and return what was found."""
    rng = random.Random(seed)
    begin = time.perf_counter()
    tally = _Tally()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        scene = make_scene(place / "scene", seed=seed)
        with Server(place / "errors.txt") as server:
            number = 0
            while tally.n_inside < n and tally.n_tried < 3 * n and len(tally.problems) < MAX_PROBLEMS:
                journal = JOURNALS[number % len(JOURNALS)]
                use_settings(journal)
                folder = copy_scene(scene, place / f"life{number}")
                life = _Life(folder, server, journal, rng)
                _disturb(life, tally, min(KILLS_PER_LIFE, n - tally.n_inside), rng)
                tally.end(life)
                shutil.rmtree(folder)
                number += 1
    return tally.told() | {"n": n, "seed": seed, "lives": number, "seconds": round(time.perf_counter() - begin, 1)}


def _disturb(life: _Life, tally: "_Tally", n: int, rng: random.Random) -> None:
    if not tally.durations:
        for verb in available():
            life.prepare(verb)
            outcome = life.do(verb)
            tally.durations[verb].append(outcome.seconds)
            tally.note(life.check(verb, outcome), f"{verb} undisturbed")
            life.settle()
    begun, verbs = tally.n_inside, available()
    for _ in range(3 * n):
        if tally.n_inside - begun >= n or len(tally.problems) >= MAX_PROBLEMS:
            return
        verb = verbs[tally.n_tried % len(verbs)]
        life.prepare(verb)
        delay = rng.uniform(0.0, 1.05 * statistics.median(tally.durations[verb]))
        outcome = life.do(verb, delay)
        tally.count(verb, outcome, delay)
        tally.note(life.check(verb, outcome), f"{verb} killed after {1000 * delay:.1f} ms")
        if rng.random() < RERUN_SHARE and verb != "label":
            tally.note(life.check(verb, life.do(verb)), f"{verb} run again after a kill")
        life.settle()


class _Tally:
    """What was counted so far."""

    def __init__(self) -> None:
        self.durations: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=15))
        self.problems: list[str] = []
        self.n_tried = 0
        self.inside: Counter[str] = Counter()
        self.late: Counter[str] = Counter()
        self._n_acknowledged = 0
        self._seen: Counter[str] = Counter()
        self._shares: dict[str, list[float]] = defaultdict(list)

    @property
    def n_inside(self) -> int:
        """Kills that came before their verb was done."""
        return self.inside.total()

    def count(self, verb: str, outcome: Any, delay: float) -> None:
        """Count a try."""
        self.n_tried += 1
        is_inside = outcome.code == -9 and not outcome.finished
        (self.inside if is_inside else self.late)[verb] += 1
        if is_inside:
            self._shares[verb].append(delay / statistics.median(self.durations[verb]))
        else:
            self.durations[verb].append(outcome.seconds)

    def note(self, problems: list[str], when: str) -> None:
        """Keep what is wrong."""
        self.problems += [f"{when}: {problem}" for problem in problems]

    def end(self, life: _Life) -> None:
        """End a life in good order, and add up what was seen in it."""
        self.note(life.finish(), "at the end of a life")
        self._seen += life.known.seen
        self._n_acknowledged += len(life.known.batches)

    def told(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        verbs = {}
        for verb in available():
            thirds = Counter(min(2, int(3 * share)) for share in self._shares[verb])
            verbs[verb] = {
                "inside": self.inside[verb],
                "late": self.late[verb],
                "seconds": round(statistics.median(self.durations[verb]), 3) if self.durations[verb] else None,
                "thirds": [thirds[part] for part in range(3)],
            }
        return {
            "verbs": verbs,
            "n_inside": self.n_inside,
            "n_tried": self.n_tried,
            "n_acknowledged": self._n_acknowledged,
            "seen": dict(sorted((name, count) for name, count in self._seen.items() if count)),
            "problems": self.problems[:MAX_PROBLEMS],
        }
