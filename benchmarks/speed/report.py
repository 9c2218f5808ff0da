"""The page of timings, from the JSON files alone."""

import json
import re
from pathlib import Path
from typing import Any

HEAD = """# Speed

{answer}

CPU time is that of the process and its children; each figure is the median of five runs taken in turns after a
warm-up, unless the name says otherwise. "vs literal" and "vs best other" say how many times less CPU time it took than
the algorithm as printed in the paper, and than the fastest other tool whatever accuracy that one reached, in the same
run; below 1 it is slower. *Literal* is `benchmarks/literal/`. `python -m benchmarks.speed report`
makes the page from `benchmarks/speed/results/`.
"""
#: Words of recorded names, and how the page spells them.
SPELLED = {"left-out": "leave-one-out", "solved again": "refitted", "anew": "recomputed", "noes": "rejections"}


def speed_page(folder: Path) -> str:
    """Return the page for all results in a folder."""
    lines = [HEAD.format(answer=answer(folder))]
    files = sorted(folder.glob("*.json"))
    for path in files:
        stored = json.loads(path.read_text(encoding="utf-8"))
        lines += benchmark_lines(stored)
    if not files:
        lines.append("No results yet.")
    text = "\n".join(lines).rstrip() + "\n"
    for recorded, spelled in SPELLED.items():
        text = re.sub(rf"\b{recorded}\b", spelled, text)
    return text


def answer(folder: Path) -> str:
    """Return the answer in three lines."""
    path = folder / "annotate.json"
    if not path.is_file():
        return "No results yet."
    case = json.loads(path.read_text(encoding="utf-8"))["cases"][0]
    first, second = case["entries"][:2]
    return (
        f"From photos on disk to keywords and a report, {case['photos']:,} photos of Corel-5K take {first['wall']:.0f} "
        f"seconds on two threads of\na plain computer without a GPU, {case['photos'] / first['wall']:.0f} photos a "
        f"second. Once more, with nothing changed, it takes {second['wall']:.0f} seconds."
    )


def ratios(entries: list[dict[str, Any]]) -> list[dict[str, float]]:
    """Return for each of our entries the ratio of CPU times to the literal one and to the best other tool."""
    literal = [entry["cpu"] for entry in entries if entry["role"] == "literal" and "cpu" in entry]
    others = [entry["cpu"] for entry in entries if entry["role"] == "peer" and "cpu" in entry]
    found = []
    for entry in entries:
        ratio = {}
        if entry["role"] == "ours" and entry.get("cpu"):
            if literal:
                ratio["literal"] = min(literal) / entry["cpu"]
            if others:
                ratio["other"] = min(others) / entry["cpu"]
        found.append(ratio)
    return found


def benchmark_lines(stored: dict[str, Any]) -> list[str]:
    """Return the lines of one benchmark."""
    where = stored["environment"]
    told = ", ".join(f"{key} {value}" for key, value in sorted(where.items()))
    lines = [f"## {stored['title']}", ""]
    for case in stored["cases"]:
        lines += _case(case)
    return [*lines, f"Run with: {told}.", ""]


def _case(case: dict[str, Any]) -> list[str]:
    lines = [f"**{case['title']}**", ""]
    if "skipped" in case:
        return [*lines, f"Not run: {case['skipped']}.", ""]
    entries, photos = case["entries"], case.get("photos")
    accuracies = list(dict.fromkeys(name for entry in entries for name in entry.get("accuracy", {})))
    header = ["", "CPU s", "wall s"]
    header += ["CPU ms/photo", "wall ms/photo", "photos/s"] if photos else []
    header += [*accuracies, "peak MB", "vs literal", "vs best other"]
    # A column in which no row has anything is left out.
    rows = [_row(entry, ratio, accuracies, photos) for entry, ratio in zip(entries, ratios(entries), strict=True)]
    kept = [i for i in range(len(header)) if i < 3 or any(row[i] not in ("–", "") for row in rows)]
    lines += [_table_line([header[i] for i in kept]), "|" + "---|" * len(kept)]
    lines += [_table_line([row[i] for i in kept]) for row in rows]
    lines += ["", *(f"- {name}: {value:.2f} ×" for name, value in case.get("ratios", {}).items())]
    return lines if lines[-1] == "" else [*lines, ""]


def _row(entry: dict[str, Any], ratio: dict[str, float], accuracies: list[str], photos: int | None) -> list[str]:
    n_rest = len(accuracies) + 3 + (3 if photos else 0)
    if "skipped" in entry:
        return [_name(entry), f"not run: {entry['skipped']}", "", *[""] * n_rest]
    cells = [_name(entry), _spell(entry["cpu"]), _spell(entry["wall"])]
    if photos:
        cells += [_spell(1000 * entry["cpu"] / photos), _spell(1000 * entry["wall"] / photos)]
        cells += [_spell(photos / entry["wall"])]
    stated = entry.get("accuracy", {})
    cells += [_spell(stated[name]) if name in stated else "–" for name in accuracies]
    peak = entry.get("peak_memory")
    cells += [f"{peak / 1e6:.0f}" if peak else "–"]
    return cells + [f"{ratio[key]:.1f} ×" if key in ratio else "–" for key in ("literal", "other")]


def _name(entry: dict[str, Any]) -> str:
    """Return the name with what is not as for the others: version, number of runs, share of the work."""
    told = [entry["version"]] if "version" in entry else []
    if not entry.get("warm_up", True):
        told.append("one run without warm-up")
    if "share" in entry:
        done, of = entry["share"]
        told.append(f"{done} of {of} parts, times multiplied by {of / done:.3g}")
    return f"{entry['name']} ({'; '.join(told)})" if told else str(entry["name"])


def _table_line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _spell(value: float) -> str:
    return f"{value:.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}"
