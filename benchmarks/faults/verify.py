"""What must hold whatever happened, looked at from outside."""

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from benchmarks.faults.scene import hash_originals, read_sidecars
from benchmarks.faults.server import Outcome
from tagloom.core.files import TEMPORARY_MARK
from tagloom.metadata.sidecar_plan import plan_sidecar
from tagloom.workflow.project import Project

# What a kill may leave: files that nothing refers to, and writes that the next start settles.
HARMLESS = frozenset({"temporary", "orphan", "write"})
Pair = tuple[int, str]


@dataclass
class Knowledge:
    """What the verifier knows about a project.

    Parameters
    ----------
    folder : Path
        The photos.
    originals : dict of str to str
        Digest of each photo.
    sidecars : dict of str to tuple of bytes
        For each sidecar what it may hold: what it did, and what a write makes of it. None: there is no file.
    states : dict of (int, str) to set of int
        For each pair of photo and tag what may stand: one state, or two where a call was cut off. -1: nothing.
    batches : dict of int to list
        Acknowledged decisions: photo, tag, state.
    models : set of int
        The models of which one must be active.
    seen : Counter
        How often each kind of trace of a kill was found.
    """

    folder: Path
    originals: dict[str, str] = field(default_factory=dict)
    sidecars: dict[str, tuple[bytes | None, ...]] = field(default_factory=dict)
    states: dict[Pair, set[int]] = field(default_factory=dict)
    batches: dict[int, tuple[int, str, int]] = field(default_factory=dict)
    models: set[int] = field(default_factory=set)
    seen: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, folder: Path) -> "Knowledge":
        """Return what is so now, in a project at rest."""
        known = cls(folder)
        known.look_at_files()
        known.states = {pair: {state} for pair, state in standing(folder).items()}
        known.models = {model for model in (active_model(folder),) if model is not None}
        return known

    def look_at_files(self) -> None:
        """Take the files as they are for right."""
        self.originals = hash_originals(self.folder)
        self.sidecars = {name: (data,) for name, data in read_sidecars(self.folder).items()}

    def plan_write(self) -> None:
        """Work out what a write of keywords may make of each sidecar; it must be what is there now, or that."""
        with Project.open(self.folder) as project:
            for item in project.write(dry_run=True).files:
                name = Path(item.file.decode()).name
                before = self.sidecars.get(name, (None,))[0]
                self.sidecars[name] = (before, plan_sidecar(before, add=item.added, remove=item.removed).after)

    def hear(self, verb: str, outcome: Outcome) -> None:
        """Take in what a child said."""
        if verb == "label":
            self._hear_labels(outcome)
        elif verb == "write":
            for line in outcome.said:
                name = line.removeprefix("ack ")
                self.sidecars[name] = self.sidecars[name][-1:]  # acknowledged: the new one it must be
        elif verb == "train":
            newest = outcome.result if outcome.finished else None
            # A training that was cut off may have come just past its last commit.
            self.models = {newest} if newest else self.models | {-1}

    def _hear_labels(self, outcome: Outcome) -> None:
        under_way: tuple[int, str, int] | None = None
        for line in outcome.said:
            word, _, rest = line.partition(" ")
            if word == "try":
                photo, tag, state = json.loads(rest)
                under_way = (photo, tag, state)
            elif word == "ack" and under_way is not None:
                photo, tag, state = under_way
                self.states[photo, tag] = {state}
                if int(rest):
                    self.batches[int(rest)] = under_way
                under_way = None
        if under_way is not None:
            photo, tag, state = under_way
            self.states[photo, tag] = self.states.get((photo, tag), {-1}) | {state}
            self.seen["label cut off"] += 1


def verify(known: Knowledge) -> list[str]:
    """Return what is wrong, and settle what was left open. Files are looked at before anything recovers."""
    problems = _check_files(known)
    with Project.open(known.folder) as project:
        known.seen["write settled at the next start"] += len(project.recovered)
        found = project.check(checksums=True)
        known.seen.update(f"left behind: {item.kind}" for item in found)
        problems += [f"check: {item.kind}: {item.detail}" for item in found if item.kind not in HARMLESS]
        project.repair()
        problems += [f"check after repair: {item.kind}: {item.detail}" for item in project.check(checksums=True)]
        problems += _check_model(known, project)
    problems += _check_decisions(known)
    problems += [f"left beside the photos: {path.name}" for path in known.folder.glob(f"*{TEMPORARY_MARK}*")]
    return problems


def _check_files(known: Knowledge) -> list[str]:
    problems = []
    now = hash_originals(known.folder)
    for name in sorted(set(now) | set(known.originals)):
        if now.get(name) != known.originals.get(name):
            problems.append(f"original {name} is not what it was")
    sidecars = read_sidecars(known.folder)
    for name in sorted(set(sidecars) | set(known.sidecars)):
        data = sidecars.get(name)
        if data not in known.sidecars.get(name, (None,)):
            problems.append(f"sidecar {name} is neither the old one nor the new one")
        if data is not None:
            problems += _check_xml(name, data)
    known.seen["temporary file beside the photos"] += len(list(known.folder.glob(f"*{TEMPORARY_MARK}*")))
    return problems


def _check_xml(name: str, data: bytes) -> list[str]:
    try:
        ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        return [f"sidecar {name} is torn ({error})"]
    return []


def _check_model(known: Knowledge, project: Project) -> list[str]:
    active = project.store.models.active()
    if active is None:
        return ["no model is active"] if known.models else []
    if -1 in known.models:
        if active.id < max(known.models):
            return [f"model {active.id} is active, an older one than {max(known.models)}"]
        known.seen["new model after a cut off training"] += active.id > max(known.models)
        known.models = {active.id}
    elif active.id not in known.models:
        return [f"model {active.id} is active, expected {sorted(known.models)}"]
    arrays, _ = project.store.models.load()
    suggestions = project.store.suggestions.load()
    if not arrays or suggestions is None or suggestions.info["model"] != active.id:
        return ["the active model and the suggestions do not belong together"]
    return []


def _check_decisions(known: Knowledge) -> list[str]:
    problems = []
    now = standing(known.folder)
    for pair in sorted(set(now) | set(known.states)):
        state = now.get(pair, -1)
        if state not in known.states.get(pair, {-1}):
            problems.append(f"decision {pair}: {state} stands, expected {sorted(known.states.get(pair, {-1}))}")
        elif len(known.states[pair]) > 1:
            known.states[pair] = {state}
    log = logged(known.folder)
    lost = [batch for batch, said in known.batches.items() if log.get(batch) != said]
    return problems + [f"acknowledged action {batch} is lost" for batch in lost]


def _query(folder: Path, sql: str) -> list[tuple[int, ...]]:
    connection = apsw.Connection(str(folder / ".tagloom" / "tagloom.sqlite"))
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def standing(folder: Path) -> dict[Pair, int]:
    """Return the state of each pair of photo and tag that has one, by a query of our own."""
    sql = "SELECT s.photo, t.text, s.state FROM standing s JOIN tags t ON t.id = s.tag"
    return {(photo, str(tag)): state for photo, tag, state in _query(folder, sql)}


def logged(folder: Path) -> dict[int, tuple[int, str, int]]:
    """Return photo, tag and state of each action of one decision."""
    sql = "SELECT d.batch, d.photo, t.text, d.state FROM decisions d JOIN tags t ON t.id = d.tag"
    return {batch: (photo, str(tag), state) for batch, photo, tag, state in _query(folder, sql)}


def active_model(folder: Path) -> int | None:
    """Return the active model's id."""
    rows = _query(folder, "SELECT id FROM models WHERE active = 1")
    return rows[0][0] if rows else None
