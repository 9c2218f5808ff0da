"""The page of photo programs, from the JSON files alone."""

import json
from pathlib import Path
from typing import Any

from benchmarks.interop.check import show
from benchmarks.report import markdown_table

RESULTS = Path(__file__).parent / "results"
OWN = "its own sidecars"
TITLES = {"exiftool": "exiftool", "exiv2": "exiv2", "darktable": "darktable", "digikam": "digiKam"}
TITLE = "# Keywords beside other programs"
PROTOCOL = """
<details markdown="1">
<summary>Protocol</summary>

Twenty awkward photos (spaces, Unicode and a leading dash in names; commas, slashes, quotes, markup, emoji, long and
right-to-left keywords, hierarchies) go through each program in both directions. *Read* counts keywords that arrive
exactly, of those that the program's own format can hold: those that it reads back from its own files. *Added* are
keywords that nobody gave. There and back means: the program tags eleven photos; tagloom imports them, adds, removes and
renames, and writes; the program removes and adds; tagloom imports, adds one more and writes again.

To make these results again on Debian: `apt-get install darktable digikam exiftool exiv2 xvfb xdotool dbus`, then
`python -m benchmarks.interop`. As root, `--install` installs them. `--checkout DIR --label NAME` runs another version
of tagloom.

darktable is driven by its Lua interface. digiKam has no interface that assigns tags, so they are set in its database
while it is closed; digiKam itself reads and writes all files. `python -m benchmarks.interop report` makes the page
from `benchmarks/interop/results/`.

</details>
"""


CONNECTED = """
## Connectors

What tagloom offers other programs, and what each was tested against. Each row is the last recorded run of
`python -m benchmarks.interop.NAME`; `benchmarks/interop/results/connectors/` has all figures.
"""
UNTESTED = """
Not tested: public CI alone builds the container image; Immich itself, PhotoPrism and Lightroom do not run here, and the
latter two read sidecars as documented; of digiKam's batch queue only the script was run. There is no plugin for
FiftyOne yet (`tagloom export --format fiftyone` writes datasets), and no face recognition.
"""


def interop_page(folder: Path) -> str:
    """Return the page for the results in a folder."""
    runs = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    labels = sorted(runs, key=lambda label: (label != "before", label))
    lines = [TITLE, ""]
    if not labels:
        return "\n".join([*lines, "No results yet.", ""])
    lines += [answer(runs[labels[-1]]["programs"]), PROTOCOL]
    lines += [*_overview(runs, labels), ""]
    last = labels[-1]
    lines += [f"## What is lost, added or impossible ({last})", "", *_details(runs[last]["programs"]), ""]
    for label in labels:
        told = ", ".join(f"{key} {value}" for key, value in sorted(runs[label]["environment"].items()))
        lines += [f"Run *{label}* with: {told}.", ""]
    lines += _connectors(folder / "connectors")
    return "\n".join(lines).rstrip() + "\n"


def _connectors(folder: Path) -> list[str]:
    rows = []
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        programs = ", ".join(f"{name} {version}" for name, version in sorted(found["programs"].items()))
        commit = found["environment"]["commit"][:7]
        rows.append([found["connector"], f"`{found['command']}`", programs, found["how"], found["result"], commit])
    if not rows:
        return []
    head = ["connector", "command", "with", "against", "result", "commit"]
    return [CONNECTED.strip(), "", *markdown_table(head, rows), UNTESTED]


def answer(programs: dict[str, Any]) -> str:
    """Return the answer in three lines."""
    scores = {
        title: [score for name, score in _flat(programs.get(program, {}).get("checks", {})).items() if name != OWN]
        for program, title in TITLES.items()
    }
    told = [
        f"{title} {sum(score['read'] for score in found)} of {sum(score['wanted'] for score in found)}"
        for title, found in scores.items()
        if found and not any("not driven" in score for score in found)
    ]
    n_added = sum(len(score["added"]) for found in scores.values() for score in found if "added" in score)
    return (
        "Keywords that arrive exactly, of those that the program's own format can hold, there and back, on twenty\n"
        f"awkward photos: {', '.join(told)}. {n_added} keywords arrive in a second form, too."
    )


def _flat(checks: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every score by its title; a check may have several."""
    found = {}
    for title, check in checks.items():
        if "wanted" in check or "not driven" in check:
            found[title] = check
        else:
            found |= {f"{title}: {part}": score for part, score in check.items()}
    return found


def _overview(runs: dict[str, Any], labels: list[str]) -> list[str]:
    rows = []
    for program, title in TITLES.items():
        entries = {label: runs[label]["programs"].get(program, {}) for label in labels}
        versions = {entry["version"] for entry in entries.values() if "version" in entry}
        checks = {label: _flat(entry.get("checks", {})) for label, entry in entries.items()}
        names = list(dict.fromkeys(name for found in checks.values() for name in found))
        shown = f"{title} {', '.join(sorted(versions))}".strip()
        for name in names:
            rows.append([shown, name, *(_cell(checks[label].get(name)) for label in labels)])
        if not names:
            reason = next((entry["skipped"] for entry in entries.values() if "skipped" in entry), "not run")
            rows.append([shown, reason, *("" for _ in labels)])
    return markdown_table(["program", "check", *labels], rows)


def _cell(score: dict[str, Any] | None) -> str:
    if score is None:
        return ""
    if "not driven" in score:
        return "could not be driven"
    text = f"{score['read']}/{score['wanted']}"
    return text + (f", {len(score['added'])} added" if score["added"] else "")


def _details(programs: dict[str, Any]) -> list[str]:
    lines = []
    for program, title in TITLES.items():
        entry = programs.get(program, {})
        if "skipped" in entry:
            lines.append(f"- {title}: {entry['skipped']}.")
        impossible: set[str] = set()
        for name, score in _flat(entry.get("checks", {})).items():
            if "not driven" in score:
                lines.append(f"- {title}, {name}: could not be driven ({score['not driven']}).")
                continue
            if name == OWN:  # its own losses: what its format cannot hold
                impossible |= {f"`{show(keyword)}`" for _, keyword in score["lost"]}
                continue
            if "IPTC" in name:
                impossible |= {f"`{show(keyword)}` in IPTC" for _, keyword in score["cannot hold"]}
            for what in ("lost", "added"):
                if score[what]:
                    told = ", ".join(f"`{show(keyword)}` ({photo})" for photo, keyword in score[what])
                    lines.append(f"- {title}, {name}: {what} {told}.")
        if impossible:
            lines.append(f"- {title} cannot hold: {', '.join(sorted(impossible))}.")
    return lines or ["Nothing."]
