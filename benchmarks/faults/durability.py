"""The proof: at each acknowledgement everything that it is about has been brought to stable storage.

For a power cut to lose nothing, these must hold at the moment the acknowledgement is written:

- every file that was written has been synchronised after its last write;
- a file that took another's place by a rename had been synchronised before that, and the folder was afterwards;
- the folder of a file or folder that was made was synchronised after that;
- the folder of a rollback journal was synchronised after its removal, which is the commit;
- the folder of a sidecar was synchronised after its removal, by which a new one is undone.
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from benchmarks.faults.strace_lines import Call

# Not data: the index of the WAL is made again from it, the lock holds nothing, the log is no promise.
IGNORED = ("-shm", "/lock", "tagloom.log")
SAID = "ack"
KINDS = {
    "/features/": "shard",
    "/models/": "model",
    "/suggestions/": "suggestions",
    "/written/": "kept content",
    ".xmp": "sidecar",
    ".jpg": "photo",
}
JOURNAL = "-journal"
SIDECAR = ".xmp"
# Copies that exiftool works on; what comes of them is written anew, and only that is kept.
SCRATCH = "/scratch-"


@dataclass
class Proof:
    """What a trace shows.

    Parameters
    ----------
    n_acknowledged : int
        Acknowledgements in it.
    proven : dict of str to int
        How many of each kind of durable step were seen before an acknowledgement.
    violations : list of str
        What was acknowledged and not durable.
    """

    n_acknowledged: int = 0
    proven: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)


@dataclass
class _Disk:
    """What of the writes so far is not durable yet: by path, the line at which the last such call ended."""

    known: set[str]
    written: dict[str, int] = field(default_factory=dict)
    entries: dict[str, tuple[int, str]] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    proven: dict[str, int] = field(default_factory=dict)
    early: list[str] = field(default_factory=list)

    def write(self, call: Call) -> None:
        self.written[call.path] = call.end

    def sync(self, call: Call) -> None:
        if self.written.get(call.path, call.begin) < call.begin:
            del self.written[call.path]
            self._count(f"{kind_of(call.path)}: data synchronised")
        for name, (line, what) in list(self.entries.items()):
            if os.path.dirname(name) == call.path and line < call.begin:
                del self.entries[name]
                self._count(f"{kind_of(name)}: folder synchronised after it was {what}")

    def create(self, call: Call) -> None:
        if call.path not in self.known:
            self.known.add(call.path)
            self.entries[call.path] = (call.end, "made")

    def rename(self, call: Call) -> None:
        if call.path in self.written:
            self.early.append(
                f"{kind_of(call.target)} {_name(call.target)} was renamed before its data was synchronised"
            )
            del self.written[call.path]
        self.entries.pop(call.path, None)
        self.known.discard(call.path)
        if call.path.endswith(SIDECAR):  # moved out of the way, to be looked at before it goes
            self.entries[call.path] = (call.end, "removed")
        self.known.add(call.target)
        self.entries[call.target] = (call.end, "renamed")

    def unlink(self, call: Call) -> None:
        self.written.pop(call.path, None)
        self.entries.pop(call.path, None)
        self.known.discard(call.path)
        # A commit, or an undo: brought back by a power cut, either file would take back what was acknowledged.
        if call.path.endswith((JOURNAL, SIDECAR)):
            self.entries[call.path] = (call.end, "removed")

    def _count(self, what: str) -> None:
        self.proven[what] = self.proven.get(what, 0) + 1


def prove(
    calls: Sequence[Call], scope: str, existing: Collection[str] = (), *, said: str | tuple[str, ...] = SAID
) -> Proof:
    """Look at every acknowledgement of a trace.

    Parameters
    ----------
    calls : sequence of Call
        From `benchmarks.faults.strace_lines.read_calls`.
    scope : str
        The folder whose files must be durable.
    existing : collection of str
        Files that were there before, whose names therefore are durable.
    said : str or tuple of str, default="ack"
        How a line on standard output begins that acknowledges something.
    """
    disk, proof = _Disk(set(existing)), Proof()
    # What happens between begin and end of a call is not known, so that an acknowledgement counts from its beginning,
    # and what comes before it must have ended.
    for call in sorted(calls, key=lambda item: item.begin if _says(item, said) else item.end):
        if _says(call, said):
            proof.n_acknowledged += 1
            proof.violations += _open(disk, call)
        elif _is_inside(call, scope):
            getattr(disk, call.kind)(call)
    proof.proven = dict(sorted(disk.proven.items()))
    return proof


def _open(disk: _Disk, call: Call) -> list[str]:
    after = f"line {call.begin + 1}: acknowledged, but"
    found = [f"{after} {text}" for text in disk.early]
    disk.early.clear()
    found += [f"{after} {kind_of(path)} {_name(path)} has data not synchronised" for path in disk.written]
    return found + [
        f"{after} the folder of {kind_of(path)} {_name(path)} was not synchronised after it was {what}"
        for path, (_, what) in disk.entries.items()
    ]


def _says(call: Call, said: str | tuple[str, ...]) -> bool:
    return call.kind == "write" and call.descriptor == 1 and call.text.startswith(said)


def _is_inside(call: Call, scope: str) -> bool:
    return call.path.startswith(scope) and not call.path.endswith(IGNORED) and SCRATCH not in call.path


def kind_of(path: str) -> str:
    """Return what a file of a project is, for counting."""
    name = os.path.basename(path)
    if name.startswith("backup-"):
        return "backup" + (JOURNAL if name.endswith(JOURNAL) else "")
    if name.endswith(("-wal", JOURNAL)) or ".sqlite" in name:
        end = "-wal" if name.endswith("-wal") else JOURNAL if name.endswith(JOURNAL) else ""
        return f"{name.partition('.')[0]}.sqlite{end}"
    for part, kind in KINDS.items():
        if part in path:
            return kind
    return name


def _name(path: str) -> str:
    return os.path.basename(path)
