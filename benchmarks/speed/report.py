"""The page of timings, from the JSON files alone."""

import json
from pathlib import Path
from typing import Any

HEAD = """# Speed

Made by `python -m benchmarks.speed report` from `benchmarks/speed/results/`; edit nothing here.

CPU time is that of the process and its children; each figure is the median of runs taken in turns after a warm-up.
"vs literal" and "vs best other" say how many times less CPU time it took than the algorithm as printed in the paper,
and than the fastest other tool, in the same run; below 1 it is slower. *Literal* is `benchmarks/literal/`.
"""


def speed_page(folder: Path) -> str:
    """Return the page for all results in a folder."""
    lines = [HEAD]
    files = sorted(folder.glob("*.json"))
    for path in files:
        stored = json.loads(path.read_text(encoding="utf-8"))
        lines += _benchmark(stored)
    if not files:
        lines.append("No results yet.")
    return "\n".join(lines).rstrip() + "\n"


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


def _benchmark(stored: dict[str, Any]) -> list[str]:
    where = stored["environment"]
    told = ", ".join(f"{key} {value}" for key, value in sorted(where.items()))
    lines = [f"## {stored['title']}", ""]
    for case in stored["cases"]:
        lines += _case(case)
    return [*lines, f"Run with: {told}.", ""]


def _case(case: dict[str, Any]) -> list[str]:
    header = ["", "CPU s", "wall s", case["accuracy_name"] or "accuracy", "peak MB", "vs literal", "vs best other"]
    lines = [f"**{case['title']}**", "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for entry, ratio in zip(case["entries"], ratios(case["entries"]), strict=True):
        if "skipped" in entry:
            cells = [entry["name"], f"not run: {entry['skipped']}", *[""] * 5]
        else:
            peak = entry.get("peak_memory")
            cells = [
                entry["name"],
                _spell(entry["cpu"]),
                _spell(entry["wall"]),
                f"{entry['accuracy']:.3g}" if "accuracy" in entry else "–",
                f"{peak / 1e6:.0f}" if peak else "–",
                f"{ratio['literal']:.1f} ×" if "literal" in ratio else "–",
                f"{ratio['other']:.1f} ×" if "other" in ratio else "–",
            ]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _spell(seconds: float) -> str:
    return f"{seconds:.3g}"
