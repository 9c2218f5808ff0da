"""The page of faults, from the JSON files alone."""

import json
from pathlib import Path
from typing import Any

from benchmarks.faults.tasks import TITLES as TASKS
from benchmarks.report import markdown_table

HERE = Path(__file__).parent
RESULTS = HERE / "results"
HEAD = """# Reliability: kills, full disks, hostile files

{answer}

<details markdown="1">
<summary>Protocol</summary>

Each fault is made on purpose in a process of its own; another one looks at what is left: every decision that was
acknowledged, `tagloom check` with all checksums, every sidecar (the old one or the new one, whole), every photo by its
hash, the active model. Commands that decide many things at once must have done all or nothing; a backup is whole or
not there. Photos that keywords are written into must be the old ones byte for byte, or have the same pixels and the
keywords (read by exiftool), and the store must know them by the content that they have, with features and thumbnails.

To make these results again: `python -m benchmarks.faults all` in a clean clone, on Linux with strace and exiftool, as
root (a small disk is mounted). Each kind of fault is recorded when it is done, and can be run alone, such as
`python -m benchmarks.faults kills`. `--quick` tries everything in small numbers and records nothing. The exit code is
1 if anything is found wrong. `python -m benchmarks.faults report` makes the page from `benchmarks/faults/results/`.

</details>
"""
TITLES = {
    "hostile": "Hostile projects, photos and files",
    "kills": "Kills",
    "trace": "Before each acknowledgement",
    "full-disk": "A full disk",
    "processes": "Writers",
    "filesystems": "Other disks",
}


def faults_page(folder: Path) -> str:
    """Return the page for the results in a folder."""
    lines = [HEAD.format(answer=answer(folder))]
    makers = {
        "hostile": _hostile,
        "kills": _kills,
        "trace": _trace,
        "full-disk": _full_disk,
        "processes": _processes,
        "filesystems": _filesystems,
    }
    for name, title in TITLES.items():
        path = folder / f"{name}.json"
        lines += [f"## {title}", ""]
        if not path.is_file():
            lines += [f"Not run yet: `python -m benchmarks.faults {name}`.", ""]
            continue
        stored = json.loads(path.read_text(encoding="utf-8"))
        if "skipped" in stored:
            lines += [f"Not run: {stored['skipped']}.", ""]
        else:
            lines += [*makers[name](stored), *_verdict(stored["problems"])]
        told = ", ".join(f"{key} {value}" for key, value in sorted(stored["environment"].items()))
        lines += [f"Run with: {told}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def answer(folder: Path) -> str:
    """Return the answer in three lines."""
    found = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in TITLES}
    n_problems = sum(len(stored.get("problems", [])) for stored in found.values())
    kills, hostile = found["kills"], found["hostile"]
    return (
        f"tagloom was killed {kills['n_inside']:,} times at random moments, ran out of disk space, and met "
        f"{hostile['n_cases']:,} hostile projects,\nphotos and files. {n_problems or 'Nothing'} was "
        f"found wrong: no acknowledged label of {kills['n_acknowledged']:,} was lost,\nevery sidecar was whole, and no "
        f"byte changed outside of where it may."
    )


def _title(verb: str) -> str:
    return f"`{TASKS.get(verb, verb)}`"


def _verdict(problems: list[str]) -> list[str]:
    if not problems:
        return ["**Nothing was found wrong.**", ""]
    return [f"**{len(problems)} things were found wrong:**", "", *(f"- {text}" for text in problems), ""]


def _kills(stored: dict[str, Any]) -> list[str]:
    rows = [
        (
            _title(verb),
            f"{item['inside']}",
            " / ".join(map(str, item["thirds"])),
            f"{item['late']}",
            f"{item['seconds']}",
        )
        for verb, item in stored["verbs"].items()
    ]
    header = ("verb", "killed inside", "in its first / second / last third", "done before the kill", "takes s")
    seen = [f"- {name}: {count}" for name, count in stored["seen"].items()]
    return [
        f"{stored['n_inside']} × `kill -9` at random moments inside a verb (seed {stored['seed']}), over "
        f"{stored['lives']} projects, every second one with a rollback journal. {stored['n_acknowledged']} labels were "
        f"acknowledged.",
        "",
        *markdown_table(header, rows),
        "",
        "What the kills left, settled by the next start or removed by `tagloom repair`:",
        "",
        *seen,
        "",
    ]


def _trace(stored: dict[str, Any]) -> list[str]:
    header = ("verb", "journal", "acknowledgements", "**not durable when acknowledged**", "seen before them")
    rows = [
        (
            _title(case["verb"]),
            case["journal"],
            f"{case['n_acknowledged']}",
            f"**{case['n_violations']}**",
            "; ".join(f"{step} × {n}" for step, n in case["proven"].items()),
        )
        for case in stored["cases"]
    ]
    return [
        "A kill cannot see a missing `fsync`: the system keeps what was written. So each verb is run under `strace`, "
        "and at every acknowledgement (a line on standard output, or the return of the call that replaces a file) all "
        "written data must be synchronised, before the rename where there is one, and the folder after it; so must the "
        "folder of everything that was made, and of a sidecar that was removed.",
        "",
        *markdown_table(header, rows),
        "",
        f"A control that synchronises no folder is found out {stored['control']['n_found']} times. "
        f"strace {stored['strace']}.",
        "",
    ]


def _full_disk(stored: dict[str, Any]) -> list[str]:
    header = ("command", "enough kB", "fill levels", "refused", "worked", "says")
    rows = [
        (
            _title(verb),
            f"{case['bytes_enough'] / 1000:.0f}",
            f"{case['n_levels']}",
            f"{case['n_failed']}",
            f"{case['n_worked']}",
            next(iter(case["lines"]), "–").removeprefix("tagloom: ").replace("|", "\\|"),
        )
        for verb, case in stored["cases"].items()
    ]
    return [
        "A tmpfs with all but a little space taken, from none left to enough for the command, evenly. It must "
        "work, or say why not and end with exit code 1; with space again the project opens, is "
        "sound, and the same command works.",
        "",
        *markdown_table(header, rows),
        "",
    ]


def _processes(stored: dict[str, Any]) -> list[str]:
    header = ("journal", "labels acknowledged", "lost", "s", "labels/s")
    rows = [
        (case["journal"], *(f"{case[key]}" for key in ("n_labels", "n_lost", "seconds", "per_second")))
        for case in stored["cases"]
    ]
    return [
        f"{stored['n_processes']} processes make {stored['n']} labels each at the same time, one call of "
        f"`Project.label` per label. None may see an error.",
        "",
        *markdown_table(header, rows),
        "",
    ]


def _hostile(stored: dict[str, Any]) -> list[str]:
    header = ("what", "family", "cases", "verbs", "runs", "refused", "**violations**", "longest s", "most MB")
    keys = ("kind", "family", "n_cases", "n_verbs", "n_runs", "n_refused", "n_violations", "longest", "largest_mb")
    rows = [
        tuple(f"**{item[key]}**" if key == "n_violations" else f"{item[key]}" for key in keys)
        for item in stored["families"]
    ]
    return [
        f"{stored['n_cases']} projects, photos, sidecars and import files as a stranger who means harm could make "
        f"them, {stored['n_runs']} commands. The rule: no byte changes outside the project folder and the photos' "
        f"sidecars, no process takes more than {stored['memory_limit_mb']:.0f} MB, none runs longer than "
        f"{stored['deadline']:.0f} s ({stored['seconds_per_mb']:.0f} s more for each MB of a file to import), and each "
        f"command works or fails with one line of error.",
        "",
        *markdown_table(header, rows),
        "",
        *_later(stored),
    ]


def _later(stored: dict[str, Any]) -> list[str]:
    """Name the later commits that some of the cases are from."""
    commits = [f"`{each['commit'][:12]}`" for each in stored.get("again", [])]
    return [f"Some cases are from later commits: {', '.join(commits)}.", ""] if commits else []


def _filesystems(stored: dict[str, Any]) -> list[str]:
    rows = [
        (
            name,
            case.get("skipped")
            or ", ".join(f"{verb} {'refused' if code else 'worked'}" for verb, code in case["codes"].items()),
        )
        for name, case in stored["cases"].items()
    ]
    return [
        "A project from `init` to `undo` on disks unlike the usual ones.",
        "",
        *markdown_table(("disk", "commands"), rows),
        "",
    ]
