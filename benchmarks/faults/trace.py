"""A system-call trace of each verb: what is synchronised before it is acknowledged. A kill cannot see that."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT
from benchmarks.faults.durability import Proof, prove
from benchmarks.faults.scene import JOURNALS, SETTINGS, copy_scene, make_scene, use_settings
from benchmarks.faults.strace_lines import TRACED, read_calls
from benchmarks.faults.tasks import CALLS, available, prepare

# What must have been seen for a proof to be one: a trace without any of it would have no violation either.
WITNESSES = {
    "scan": ("shard: data synchronised", "shard: folder synchronised after it was renamed"),
    "label": (),
    "train": (
        "shard: folder synchronised after it was renamed",
        "model: data synchronised",
        "model: folder synchronised after it was renamed",
        "suggestions: folder synchronised after it was renamed",
    ),
    "write": ("sidecar: data synchronised", "sidecar: folder synchronised after it was renamed"),
    "undo": (
        "sidecar: data synchronised",
        "sidecar: folder synchronised after it was renamed",
        "sidecar: folder synchronised after it was removed",
    ),
    "import": (),
    "tags": (),
    "backup": ("backup: data synchronised", "backup: folder synchronised after it was renamed"),
    "embed": (
        "photo: data synchronised",
        "photo: folder synchronised after it was renamed",
        "kept content: data synchronised",
        "kept content: folder synchronised after it was renamed",
        "written: folder synchronised after it was made",
    ),
    "unembed": ("photo: data synchronised", "photo: folder synchronised after it was renamed"),
}
SAID = {"label": ("ack", "done"), "tags": ("ack", "done")} | dict.fromkeys(
    ("write", "undo", "embed", "unembed"), ("ack", "done")
)
READS_ONLY = ("backup",)  # the project's own database is not written to
LABEL_WITNESSES = {
    "wal": ("tagloom.sqlite-wal: data synchronised",),
    "delete": (
        "tagloom.sqlite: data synchronised",
        "tagloom.sqlite-journal: folder synchronised after it was removed",
    ),
}
MAX_VIOLATIONS = 10
N_LABELS = 5


def why_not() -> str:
    """Return why no trace can be made here; empty if one can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    done = subprocess.run(["strace", "-f", "-y", "-e", "trace=fsync", "true"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"strace is not permitted here ({done.stderr.strip().splitlines()[-1:]})"


def trace_verb(
    folder: Path, verb: str, journal: str, options: dict[str, Any] | None = None, *, careless: bool = False
) -> Proof:
    """Do a verb under strace, and return what its trace shows.

    Parameters
    ----------
    folder : Path
        A scene in which the verb has something to do.
    verb : str
        See `benchmarks.faults.tasks.VERBS`.
    journal : {"wal", "delete"}
        SQLite's.
    options : dict, optional
        What `benchmarks.faults.tasks.prepare` returned.
    careless : bool, default=False
        Leave out the synchronisation of folders: a control.
    """
    existing = {str(path) for path in folder.rglob("*")}
    request = {"n": N_LABELS, "seed": 1, "folder": str(folder), "journal": journal, "careless": careless}
    request |= {**(options or {}), "verb": CALLS.get(verb, verb)}
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "trace.txt"
        tracer = ["strace", "-f", "-y", "-s", "64", "-e", f"trace={TRACED}", "-o", str(log)]
        command = [*tracer, sys.executable, "-m", "benchmarks.faults.child", "--once", json.dumps(request)]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | SETTINGS, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{verb} failed under strace: {done.stderr.strip()[-500:]}")
        calls = read_calls(log.read_text(encoding="utf-8", errors="surrogateescape").splitlines())
    return prove(calls, str(folder), existing, said=SAID.get(verb, ("done",)))


def missing(verb: str, journal: str, proof: Proof) -> list[str]:
    """Return what a proof lacks: acknowledgements, or steps that must have been seen."""
    wanted = (*WITNESSES[verb], *(() if verb in READS_ONLY else LABEL_WITNESSES[journal]))
    lacking = [f"never seen: {step}" for step in wanted if not proof.proven.get(step)]
    return lacking + ([] if proof.n_acknowledged else ["nothing was acknowledged"])


def prepare_trace(verb: str, folder: Path) -> dict[str, Any]:
    """Give a verb something to do, and return what to ask for."""
    options = prepare(verb, folder, random.Random(verb))
    if verb == "embed":  # as in a project that never wrote anything: the folder of kept content has to be made
        (folder / ".tagloom" / "written").rmdir()
    return options


def run() -> dict[str, Any]:
    """Trace every verb with both journals, and once a careless one; return what was found."""
    reason = why_not()
    if reason:
        return {"skipped": reason}
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch).resolve()
        scene = make_scene(place / "scene")
        cases = [_case(scene, place, verb, journal) for journal in JOURNALS for verb in available()]
        control = _case(scene, place, "write", "wal", careless=True)
    problems = [f"{case['verb']} ({case['journal']}): {text}" for case in cases for text in case.pop("problems")]
    if not control["problems"]:
        problems.append("the control, which synchronises no folder, was not found out")
    return {
        "cases": cases,
        "control": {"n_found": control["n_violations"], "example": control["problems"][:1]},
        "problems": problems,
        "strace": _strace_version(),
    }


def _case(scene: Path, place: Path, verb: str, journal: str, *, careless: bool = False) -> dict[str, Any]:
    use_settings(journal)
    folder = copy_scene(scene, place / f"{verb}-{journal}-{careless}")
    options = prepare_trace(verb, folder)
    proof = trace_verb(folder, verb, journal, options, careless=careless)
    return {
        "verb": verb,
        "journal": journal,
        "n_acknowledged": proof.n_acknowledged,
        "proven": proof.proven,
        "n_violations": len(proof.violations),
        "problems": proof.violations[:MAX_VIOLATIONS] + missing(verb, journal, proof),
    }


def _strace_version() -> str:
    done = subprocess.run(["strace", "--version"], capture_output=True, text=True)
    return done.stdout.partition("\n")[0].rpartition(" ")[2]
