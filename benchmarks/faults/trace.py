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
from benchmarks.faults.scene import JOURNALS, SETTINGS, add_photos, copy_scene, make_scene, use_settings
from benchmarks.faults.strace_lines import TRACED, read_calls
from tagloom.workflow.project import Project

# What must have been seen for a proof to be one: a trace without any of it would have no violation either.
WITNESSES = {
    "scan": ("shard: data synchronised", "shard: folder synchronised after it was renamed"),
    "label": ("tagloom.sqlite",),
    "train": (
        "shard: folder synchronised after it was renamed",
        "model: data synchronised",
        "model: folder synchronised after it was renamed",
        "suggestions: folder synchronised after it was renamed",
    ),
    "write": ("sidecar: data synchronised", "sidecar: folder synchronised after it was renamed"),
}
LABEL_WITNESSES = {
    "wal": ("tagloom.sqlite-wal: data synchronised",),
    "delete": (
        "tagloom.sqlite: data synchronised",
        "tagloom.sqlite-journal: folder synchronised after it was removed",
    ),
}
MAX_VIOLATIONS = 10


def why_not() -> str:
    """Return why no trace can be made here; empty if one can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    done = subprocess.run(["strace", "-f", "-y", "-e", "trace=fsync", "true"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"strace is not permitted here ({done.stderr.strip().splitlines()[-1:]})"


def trace_verb(folder: Path, verb: str, journal: str, *, n: int = 5, careless: bool = False) -> Proof:
    """Do a verb under strace, and return what its trace shows.

    Parameters
    ----------
    folder : Path
        A scene in which the verb has something to do.
    verb : str
        See `benchmarks.faults.child.VERBS`.
    journal : {"wal", "delete"}
        SQLite's.
    n : int, default=5
        How many labels.
    careless : bool, default=False
        Leave out the synchronisation of folders: a control.
    """
    existing = {str(path) for path in folder.rglob("*") if path.is_file()}
    request = {"verb": verb, "folder": str(folder), "journal": journal, "n": n, "careless": careless, "seed": 1}
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "trace.txt"
        tracer = ["strace", "-f", "-y", "-s", "64", "-e", f"trace={TRACED}", "-o", str(log)]
        command = [*tracer, sys.executable, "-m", "benchmarks.faults.child", "--once", json.dumps(request)]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | SETTINGS, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{verb} failed under strace: {done.stderr.strip()[-500:]}")
        calls = read_calls(log.read_text(encoding="utf-8", errors="surrogateescape").splitlines())
    said = ("ack", "done") if verb in ("label", "write") else ("done",)
    return prove(calls, str(folder), existing, said=said)


def missing(verb: str, journal: str, proof: Proof) -> list[str]:
    """Return what a proof lacks: acknowledgements, or steps that must have been seen."""
    wanted = LABEL_WITNESSES[journal] if verb == "label" else (*WITNESSES[verb], *LABEL_WITNESSES[journal])
    lacking = [f"never seen: {step}" for step in wanted if not proof.proven.get(step)]
    return lacking + ([] if proof.n_acknowledged else ["nothing was acknowledged"])


def prepare(folder: Path, verb: str) -> None:
    """Give a verb something to do."""
    rng = random.Random(verb)
    if verb in ("scan", "train"):
        add_photos(folder, 3, rng)
    with Project.open(folder) as project:
        if verb == "train":
            project.scan()
        if verb == "write":
            ids = project.store.photos.table(state="present").ids.tolist()
            project.label(ids[:6], add=["new", "Places|New"])


def run() -> dict[str, Any]:
    """Trace every verb with both journals, and once a careless one; return what was found."""
    reason = why_not()
    if reason:
        return {"skipped": reason}
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch).resolve()
        scene = make_scene(place / "scene")
        cases = [_case(scene, place, verb, journal) for journal in JOURNALS for verb in WITNESSES]
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
    prepare(folder, verb)
    proof = trace_verb(folder, verb, journal, careless=careless)
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
