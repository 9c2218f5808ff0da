"""What must hold whatever happened, looked at from outside."""

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from benchmarks.faults.photo_facts import PhotoFacts, lagging, pixels_of, subjects_of, wrong_records
from benchmarks.faults.scene import hash_originals, read_sidecars
from benchmarks.faults.server import Outcome
from tagloom.core.files import TEMPORARY_MARK
from tagloom.metadata.sidecar_plan import plan_sidecar
from tagloom.project.project import Project

# What a kill may leave: files that nothing refers to, and writes that the next start settles.
HARMLESS = frozenset({"temporary", "orphan", "write"})
Pair = tuple[int, str]
_STANDING = "SELECT s.photo, t.text, s.state FROM standing s JOIN tags t ON t.id = s.tag"


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
    photos : dict of str to PhotoFacts
        Photos that keywords are being written into, or taken out of, as they were.
    words : set of str
        Flat keywords that go into these photos.
    originals_back : dict of str to str
        Digests that these photos get back by an undo.
    due : set of str
        Names of files that must have been written, or put back.
    ways : list of dict
        The states, one of which must be so as a whole: before a command, after its steps.
    touched : set of (int, str)
        The pairs that these are about.
    backup : Path or None
        A copy that is not there, or whole.
    seen : Counter
        How often each kind of trace of a kill was found.
    """

    folder: Path
    originals: dict[str, str] = field(default_factory=dict)
    sidecars: dict[str, tuple[bytes | None, ...]] = field(default_factory=dict)
    states: dict[Pair, set[int]] = field(default_factory=dict)
    batches: dict[int, tuple[int, str, int]] = field(default_factory=dict)
    models: set[int] = field(default_factory=set)
    photos: dict[str, PhotoFacts] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    originals_back: dict[str, str] = field(default_factory=dict)
    due: set[str] = field(default_factory=set)
    ways: list[dict[Pair, int]] = field(default_factory=list)
    touched: set[Pair] = field(default_factory=set)
    backup: Path | None = None
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

    def expect(self, verb: str, options: dict[str, Any], before: "Knowledge | None" = None) -> None:
        """Work out what a verb may change; what was expected of the last one holds no longer.

        Parameters
        ----------
        verb : str
            See `benchmarks.faults.tasks.VERBS`.
        options : dict
            What it is asked for.
        before : Knowledge, optional
            What was so before the write that is to be undone.
        """
        self.photos, self.originals_back, self.ways, self.due, self.backup = {}, {}, [], set(), None
        self.states |= {pair: {state} for pair, state in standing(self.folder).items() if pair not in self.states}
        if verb == "scan":
            self.originals = hash_originals(self.folder)
        elif verb == "write":
            self.plan_write()
        elif verb in ("embed", "unembed"):
            self.photos = {name: PhotoFacts.of(self.folder / name) for name in options["photos"]}
            self.words = set(options["words"])
        if verb in ("undo", "unembed") and before is not None:
            self._expect_undo(before, options)
        elif verb == "import":
            old = dict.fromkeys(options["pairs"], -1)
            self.ways = [old, dict.fromkeys(old, 1)]
        elif verb == "tags":
            self.ways = [
                {(number, options[name]): 1 for number in options["photos"]} for name in ("old", "new", "into")
            ]
        elif verb == "backup":
            self.backup = Path(options["target"])
        self.touched = {pair for way in self.ways for pair in way}

    def _expect_undo(self, before: "Knowledge", options: dict[str, Any]) -> None:
        now = read_sidecars(self.folder)
        for name in set(now) | set(before.sidecars):
            old = before.sidecars.get(name, (None,))[0]
            self.sidecars[name] = (now.get(name),) if now.get(name) == old else (now.get(name), old)
        self.originals = hash_originals(self.folder)
        self.originals_back = {name: before.originals[name] for name in options.get("photos", ())}

    def hear(self, verb: str, outcome: Outcome) -> None:
        """Take in what a child said."""
        if verb == "label":
            self._hear_labels(outcome)
        elif verb == "train":
            newest = outcome.result if outcome.finished else None
            # A training that was cut off may have come just past its last commit.
            self.models = {newest} if newest else self.models | {-1}
        elif verb in ("write", "undo", "embed", "unembed"):
            names = {line.removeprefix("ack ") for line in outcome.said}
            self.due |= names if not outcome.finished else {*names, *self.photos, *self._sidecars_to_change()}
            for name in self.due & set(self.sidecars):
                self.sidecars[name] = self.sidecars[name][-1:]  # acknowledged: the new one it must be
        elif verb in ("import", "tags"):
            self.ways = self.ways[-1:] if outcome.finished else self.ways[len(outcome.said) :]
        elif verb == "backup" and outcome.finished:
            self.due = {"backup"}

    def _sidecars_to_change(self) -> set[str]:
        return {name for name, may in self.sidecars.items() if len(may) > 1}

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
    problems += _check_ways(known)
    problems += _check_decisions(known)
    problems += wrong_records(known.folder)
    for name, facts in known.photos.items():
        problems += lagging(known.folder, name, facts)
    problems += _check_backup(known)
    problems += [f"left beside the photos: {path.name}" for path in known.folder.glob(f"*{TEMPORARY_MARK}*")]
    return problems


def _check_files(known: Knowledge) -> list[str]:
    problems = []
    now = hash_originals(known.folder)
    for name in sorted(set(now) | set(known.originals)):
        problems += _check_original(known, name, now.get(name))
    sidecars = read_sidecars(known.folder)
    for name in sorted(set(sidecars) | set(known.sidecars)):
        data = sidecars.get(name)
        if data not in known.sidecars.get(name, (None,)):
            problems.append(f"sidecar {name} is neither the old one nor the new one")
        if data is not None:
            problems += _check_xml(name, data)
    known.seen["temporary file beside the photos"] += len(list(known.folder.glob(f"*{TEMPORARY_MARK}*")))
    return problems


def _check_original(known: Knowledge, name: str, now: str | None) -> list[str]:
    """Look at one photo: it is what it was, unless keywords are being written into it."""
    old = known.originals.get(name)
    facts = known.photos.get(name)
    if facts is None or now is None:
        return [] if now == old else [f"original {name} is not what it was"]
    back = known.originals_back.get(name)
    known.originals[name] = now
    if name in known.due and now == facts.digest:
        return [f"photo {name} was acknowledged, and is as it was"]
    if now == facts.digest or now == back:
        return []
    known.seen["photo with new keywords"] += 1
    if back is not None:
        return [f"photo {name} is neither as it was nor as it should be again"]
    path = known.folder / name
    if pixels_of(path) != facts.pixels:
        return [f"photo {name} does not have the same pixels"]
    lacking = known.words - subjects_of(path) if name in known.due else set()
    return [f"photo {name} lacks {sorted(lacking)}"] if lacking else []


def _check_ways(known: Knowledge) -> list[str]:
    """See to it that a command did all that it says, or nothing."""
    if not known.ways:
        return []
    pairs = known.touched
    now = standing(known.folder)
    found = {pair: now[pair] for pair in pairs if pair in now}
    for place, way in enumerate(known.ways):
        if found == {pair: state for pair, state in way.items() if state != -1}:
            known.ways = known.ways[place:]
            known.states |= {pair: {found.get(pair, -1)} for pair in pairs}
            return []
    known.states |= {pair: {found.get(pair, -1)} for pair in pairs}
    return [f"a command was done in part: {len(found)} of {len(pairs)} states, and none of {len(known.ways)} ways fits"]


def _check_backup(known: Knowledge) -> list[str]:
    """See to it that a backup is whole, or not there; then remove it and what a kill left beside it."""
    if known.backup is None:
        return []
    problems = []
    if known.backup.is_file():
        connection = apsw.Connection(str(known.backup))
        try:
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                problems.append("the backup is damaged")
            elif _standing(connection) != standing(known.folder):
                problems.append("the backup lacks decisions")
        except (apsw.CorruptError, apsw.NotADBError) as error:
            problems.append(f"the backup is damaged ({error})")
        finally:
            connection.close()
    elif known.due:
        problems.append("the backup was acknowledged, and is not there")
    for path in known.folder.glob(f"{known.backup.name}*"):
        known.seen["temporary file beside a backup"] += TEMPORARY_MARK in path.name
        path.unlink()
    known.due = set()
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


def _query(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(folder / ".tagloom" / "tagloom.sqlite"))
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def standing(folder: Path) -> dict[Pair, int]:
    """Return the state of each pair of photo and tag that has one, by a query of our own."""
    return {(photo, str(tag)): state for photo, tag, state in _query(folder, _STANDING)}


def _standing(connection: apsw.Connection) -> dict[Pair, int]:
    return {(photo, str(tag)): state for photo, tag, state in connection.execute(_STANDING)}


def logged(folder: Path) -> dict[int, tuple[int, str, int]]:
    """Return photo, tag and state of each action of one decision."""
    sql = "SELECT d.batch, d.photo, t.text, d.state FROM decisions d JOIN tags t ON t.id = d.tag"
    return {batch: (photo, str(tag), state) for batch, photo, tag, state in _query(folder, sql)}


def active_model(folder: Path) -> int | None:
    """Return the active model's id."""
    rows = _query(folder, "SELECT id FROM models WHERE active = 1")
    return rows[0][0] if rows else None
