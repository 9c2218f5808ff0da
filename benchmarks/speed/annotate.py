"""The whole job on Corel-5K from 450 labels: wall time a photo, peak memory of all its processes, MAP reached."""

import csv
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import data_folder
from benchmarks.errors import DataMissingError
from benchmarks.speed.harness import Local, case, compare, missing_case, out_parser, record
from tagloom.datasets import AnnotatedImages, load_corel5k

TITLE = "The whole job on Corel-5K"
N_LABELED = 450
SAMPLE_SECONDS = 0.05


def write_labels(path: Path, data: AnnotatedImages, root: Path, rows: Any) -> None:
    names = np.asarray(data.tags.names)
    with open(path, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["file", "tags"])
        writer.writerows([data.paths[row].relative_to(root), ";".join(names[data.Y[row] == 1])] for row in rows)


def tree_memory(pid: int) -> int:
    """Return the resident bytes of a process and all its descendants (Linux)."""
    total, todo = 0, [pid]
    while todo:
        process = todo.pop()
        try:
            status = Path(f"/proc/{process}/status").read_text()
            total += sum(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))
            for task in Path(f"/proc/{process}/task").iterdir():
                todo += [int(child) for child in (task / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


def run_job(photos: Path, labels: Path, truth: Path, out: Path) -> dict[str, float]:
    """Run the command and return MAP and the peak of the summed resident memory."""
    command = [sys.executable, "-c", "from tagloom.cli import main; main()", "annotate", str(photos), "-q"]
    command += ["--labels", str(labels), "--truth", str(truth), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(SAMPLE_SECONDS):
            peak[0] = max(peak[0], tree_memory(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    printed, _ = process.communicate()
    done.set()
    watcher.join()
    if process.returncode != 0:
        raise SystemExit(f"the job failed with code {process.returncode}")
    (line,) = [line for line in printed.splitlines() if "tagloom:" in line]
    return {"MAP": float(line.split()[-1]), "peak memory, all processes, MB": peak[0] / 2**20}


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("annotate").parse_args(argv)
    try:
        root = data_folder("corel5k")
    except DataMissingError as error:
        record("annotate", TITLE, [missing_case("Corel-5K", str(error))], arguments.out, threads=2)
        return
    data = load_corel5k(root)
    photos = root / "images"
    rows = np.random.default_rng(0).permutation(len(data.paths))
    if arguments.quick:
        photos, rows = photos / "test", np.flatnonzero([path.parent.name == "test" for path in data.paths])
    with tempfile.TemporaryDirectory() as scratch:
        labels, truth = Path(scratch) / "labels.csv", Path(scratch) / "truth.csv"
        n_labeled = min(N_LABELED, len(rows) // 2)
        write_labels(labels, data, photos, rows[:n_labeled])
        write_labels(truth, data, photos, rows)

        def job() -> dict[str, float]:
            return run_job(photos, labels, truth, Path(scratch) / "out")

        contenders = [
            Local("tagloom annotate", job, role="ours", runs=1),
            Local("again, nothing changed", job, role="ours", runs=1),
        ]
        entries = compare(contenders, accuracy=lambda result: result, repeats=1, threads=2)
    title = f"{len(rows)} photos, {n_labeled} labelled, 260 words, two threads"
    cases = [case(title, {"n": len(rows), "labelled": n_labeled}, entries, photos=len(rows))]
    record("annotate", TITLE, cases, arguments.out, threads=2)


if __name__ == "__main__":
    main()
