"""Many processes that label at the same time through the Python API: none of it is lost, nobody is told of a lock."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT
from benchmarks.faults.child import pairs_of
from benchmarks.faults.scene import JOURNALS, SETTINGS, copy_scene, make_scene, use_settings
from benchmarks.faults.verify import standing
from tagloom.project.project import Project

N_PROCESSES = 8
DEADLINE = 1800.0
MAX_PROBLEMS = 20


def run(n: int = 2000, n_processes: int = N_PROCESSES) -> dict[str, Any]:
    """Let processes make ``n`` labels each, with both journals, and return what was found."""
    cases = []
    with tempfile.TemporaryDirectory() as scratch:
        scene = make_scene(Path(scratch) / "scene")
        for journal in JOURNALS:
            use_settings(journal)
            cases.append(_case(copy_scene(scene, Path(scratch) / journal), journal, n, n_processes))
    problems = [f"{case['journal']}: {text}" for case in cases for text in case.pop("problems")]
    return {"n": n, "n_processes": n_processes, "cases": cases, "problems": problems[:MAX_PROBLEMS]}


def _case(folder: Path, journal: str, n: int, n_processes: int) -> dict[str, Any]:
    with Project.open(folder) as project:
        photos = project.store.photos.table(state="present").ids.tolist()
    before = standing(folder)
    begin = time.perf_counter()
    running = [_start(folder, journal, n, number) for number in range(n_processes)]
    outputs = []
    try:
        outputs = [process.communicate(timeout=DEADLINE) for process in running]
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()
    seconds = time.perf_counter() - begin
    problems = [_line(number, errors) for number, (_, errors) in enumerate(outputs) if errors.strip()]
    problems += [
        f"process {number} ended with {one.returncode}" for number, one in enumerate(running) if one.returncode
    ]
    wanted = {pair for number in range(n_processes) for pair in pairs_of(photos, number, n)}
    now = standing(folder)
    n_lost = sum(now.get(pair) != 1 for pair in wanted)
    if n_lost:
        problems.append(f"{n_lost} of {len(wanted)} acknowledged labels are lost")
    if set(now) - wanted != set(before) or any(now.get(pair) != state for pair, state in before.items()):
        problems.append("what had been decided before is no longer so")
    n_said = sum(output.count("ack ") for output, _ in outputs)
    if n_said != n * n_processes:
        problems.append(f"{n_said} labels were acknowledged, expected {n * n_processes}")
    with Project.open(folder) as project:
        problems += [f"check: {item.detail}" for item in project.check(checksums=True)]
    return {
        "journal": journal,
        "n_labels": n_said,
        "n_lost": n_lost,
        "seconds": round(seconds, 1),
        "per_second": round(n_said / seconds, 1),
        "problems": problems,
    }


def _start(folder: Path, journal: str, n: int, number: int) -> "subprocess.Popen[str]":
    request = {"verb": "pairs", "folder": str(folder), "journal": journal, "n": n, "number": number}
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.faults.child", "--once", json.dumps(request)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | SETTINGS,
    )


def _line(number: int, errors: str) -> str:
    return f"process {number} showed: {errors.strip().splitlines()[-1][:200]}"
