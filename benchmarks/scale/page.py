"""The page of what collections of any size cost, from the recorded cells alone."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.results import environment_lines

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
FIGURES = {"scale.svg": "Processor time of training", "scale-memory.svg": "Memory of training"}
Cell = dict[str, Any]
#: Steps with one figure each, by what they are called.
VERBS = {"next_photos": "`next`", "suggest_one": "`suggest` of one photo", "suggest_json": "`suggest --json` of all"}
UPDATE = {
    "open": "open the model",
    "first look": "20 photos decided for one tag: until the first screen",
    "one tag": "the same: until all photos are scored",
    "all tags": "20 photos decided for all 100 tags",
    "save": "save",
}
PEERS = {
    "logistic regression": "logistic regression, its C by cross-validation",
    "votes": "votes of the 15 nearest labelled photos",
    "label spreading": "label spreading (scikit-learn)",
}

#: What is asked of the page, in this order.
REQUESTS = {
    "until it listens": "until it listens",
    "first grid": "the first grid: the project, an order of all photos, 60 cells",
    "lens of a tag": "a tag's photos, likeliest first, and 60 cells",
    "teach": "Teach for the first time: 50 photos to label",
    "teach again": "Teach again",
}
METHODS = ("ridge", "smoothed-ridge", "harmonic", "laprls", "sfss", "lpssvm", "tkml", "nova")

# The plan for a hundred million photos.

PLANNED, PART, MACHINES, CORES, BUSY = 100_000_000, 1_000_000, 10, 16, 0.8
#: Stages of a training that grow with the photos, and bytes a photo that each reads or moves: of 512 + 64 columns,
#: 255 coordinates, 22 links and 100 tags, as in the benchmark.
PLAN = {
    "reading features": 576 * 4,
    "principal components": 255 * 4,
    "graph": 255 * 4 * 24 // 8,
    "smoothing features": 255 * 4 * 8,
    "scores": 255 * 4 * 2,
    "smoothing scores": 100 * 4 * 2,
    "storing": 100 * 4 * 2,
}


def read_results(path: Path = RESULTS) -> list[Cell]:
    """Return the recorded cells."""
    found: list[Cell] = json.loads(path.read_text()) if path.is_file() else []
    return sorted(found, key=lambda cell: (cell["n"], cell["step"]))


def page(path: Path = RESULTS, figures: Sequence[str] = tuple(FIGURES)) -> str:
    """Return the page."""
    cells = read_results(path)
    lines = [
        "# From ten thousand photos to a million",
        "",
        *answer(cells),
        "",
        "Photos are made up: embeddings of 512 columns and colours of 64, from a mixture whose parts share tags, with",
        "saved seeds. A project of them has 100 tags and 1,000 labelled photos. Each verb runs in a process of its own",
        "on one thread. *Anonymous* memory is what cannot be given back: large arrays are files, and pages of a file",
        "are. MAP is over up to 100,000 photos without labels. Times are those of the processor, as the machine had",
        "other work, too. Made by `python -m benchmarks.scale SIZE...` from `benchmarks/scale/results.json`; edit",
        "nothing here.",
        "",
        *(f"![{title}]({name})" for name, title in FIGURES.items() if name in figures),
        "",
        "## Training",
        "",
        *_training(cells),
        "",
        "*Exponent*: that of the processor time since the size before.",
        "",
        "## After a decision, and other verbs",
        "",
        *_verbs(cells),
        "",
        "## The page",
        "",
        *_opened(cells),
        "",
        "## Other methods in a project",
        "",
        *_methods(cells),
        "",
        "## Other programs' methods on the same labels",
        "",
        *_peers(cells),
        "",
        *_plan(cells),
        "",
        *environment_lines([SimpleNamespace(environment=cell["environment"]) for cell in cells]),  # type: ignore[misc]
    ]
    return "\n".join(lines).rstrip() + "\n"


def answer(cells: Sequence[Cell]) -> list[str]:
    """Return the answer in three lines."""
    trained = _of(cells, "train")
    if not trained:
        return ["No results yet."]
    first, last = trained[0], trained[-1]
    update = next((cell for cell in reversed(_of(cells, "update")) if "first look" in cell), None)
    lines = [
        f"Training takes {last['cpu']:.0f} processor seconds and {last['peak anonymous']:,} MB of anonymous memory",
        f"with {last['n']:,} photos, at the same quality as with {first['n']:,} (MAP {last['map']:.3f} and "
        f"{first['map']:.3f}).",
    ]
    if update is not None:
        lines.append(
            f"With {update['n']:,} photos a page shows the likeliest photos of a tag {update['first look']['cpu']:.1f} "
            f"processor seconds after a decision, and all are scored after {update['one tag']['cpu']:.1f}."
        )
    return lines


def _of(cells: Sequence[Cell], step: str) -> list[Cell]:
    return [cell for cell in cells if cell["step"] == step and "error" not in cell]


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)] if rows else ["Not run."]


def _training(cells: Sequence[Cell]) -> list[str]:
    rows, before = [], None
    for cell in _of(cells, "train"):
        exponent = "–"
        if before is not None:
            exponent = f"{np.log(cell['cpu'] / before['cpu']) / np.log(cell['n'] / before['n']):.2f}"
        sizes = [f"{cell[name]:,}" if name in cell else "–" for name in ("peak anonymous", "peak rss", "disk")]
        rows.append([f"{cell['n']:,}", f"{cell['cpu']:.0f}", exponent, *sizes, f"{cell['map']:.3f}"])
        before = cell
    return _table(["photos", "processor s", "exponent", "anonymous MB", "resident MB", "on disk MB", "MAP"], rows)


def _verbs(cells: Sequence[Cell]) -> list[str]:
    sizes = sorted({cell["n"] for cell in cells if cell["step"] in ("update", *VERBS)})
    by_step = {(cell["step"], cell["n"]): cell for cell in cells if "error" not in cell}
    rows = []
    for key, title in UPDATE.items():
        found = [by_step.get(("update", n), {}).get(key) for n in sizes]
        rows.append([title, *("–" if one is None else f"{one['cpu']:.1f} s" for one in found)])
    for step, title in VERBS.items():
        found = [by_step.get((step, n)) for n in sizes]
        rows.append([title, *("–" if one is None else f"{one['cpu']:.1f} s" for one in found)])
    return _table(["processor seconds", *(f"{n:,} photos" for n in sizes)], rows)


def _opened(cells: Sequence[Cell]) -> list[str]:
    opened = _of(cells, "open_page")
    rows = [
        [title, *(f"{cell[key]['wall']:.1f} s, {cell[key]['cpu']:.1f} s" for cell in opened)]
        for key, title in REQUESTS.items()
        if opened
    ]
    if opened:
        sizes = (f"{cell['memory']['anonymous']:,}, {cell['memory']['rss']:,} MB" for cell in opened)
        rows.append(["anonymous and resident memory then", *sizes])
    note = [
        "",
        "Right after the page has opened, the model is still being read: *Teach* waits two seconds for features at",
        "most and picks at random then.",
    ]
    header = ["seconds, and those of the processor", *(f"{cell['n']:,} photos" for cell in opened)]
    return [*_table(header, rows), *(note if rows else [])]


def _methods(cells: Sequence[Cell]) -> list[str]:
    rows, elsewhere = [], []
    at = {cell["n"]: cell["environment"].get("python") for cell in _of(cells, "train")}
    for cell in sorted(cells, key=lambda cell: cell["n"]):
        name = cell["step"].removeprefix("train ")
        if name not in METHODS:
            continue
        if cell["environment"].get("python") != at.get(cell["n"]):
            elsewhere.append(f"`{name}`")
        if "error" in cell:
            rows.append([f"{cell['n']:,}", f"`{name}`", "–", "–", "–", f"{' '.join(cell['error'])}"])
            continue
        sizes = [f"{cell[key]:,}" for key in ("peak anonymous", "peak rss")]
        rows.append([f"{cell['n']:,}", f"`{name}`", f"{cell['cpu']:.0f}", *sizes, f"{cell['map']:.3f}"])
    note = ["", f"On another, slower machine than `auto`: {', '.join(elsewhere)}."]
    header = ["photos", "method", "processor s", "anonymous MB", "resident MB", "MAP"]
    return [*_table(header, rows), *(note if elsewhere else [])]


def _peers(cells: Sequence[Cell]) -> list[str]:
    own = {cell["n"]: cell for cell in _of(cells, "train")}
    rows = []
    for cell in _of(cells, "others"):
        if cell["n"] in own:
            trained = own[cell["n"]]
            rows.append([f"{cell['n']:,}", "`auto`", f"{trained['cpu']:.0f}", f"{trained['map']:.3f}"])
        for name, title in PEERS.items():
            if (found := cell["peers"].get(name)) is not None:
                rows.append([f"{cell['n']:,}", title, f"{found['cpu']:.0f}", f"{found['map']:.3f}"])
    note = [
        "",
        "`auto` includes reading features, the graph, probabilities and storing; the others learn and score in memory.",
        "The made-up tags are nearly linear in the embedding, which suits logistic regression; on photos it is behind",
        "([keywords from few labels](quality.md)). Label spreading compares all pairs: it is tried with few photos.",
    ]
    return [*_table(["photos", "method", "processor s", "MAP"], rows), *(note if rows else [])]


def _plan(cells: Sequence[Cell]) -> list[str]:
    measured = [cell for cell in _of(cells, "train") if "stages" in cell]
    if not measured:
        return []
    cell = measured[-1]
    rows, total, moved = [], 0.0, 0.0
    for name, n_bytes in PLAN.items():
        per_million = cell["stages"][name] * 1e6 / cell["n"]
        if name == "graph":  # a list is compared with a fixed number of others, and has √n photos
            per_million *= (PART / cell["n"]) ** 0.5
        hours, size = per_million * PLANNED / 1e6 / 3600, n_bytes * PLANNED / 1e12
        total, moved = total + hours, moved + size
        rows.append([name, f"{per_million:.0f}", f"{hours:.1f}", f"{size:.2f}"])
    rows.append(["together", "", f"{total:.1f}", f"{moved:.2f}"])
    fixed = cell["stages"]["search"] + cell["stages"]["solving"]
    return [
        "## A plan for a hundred million photos, on paper",
        "",
        f"Not run. Each stage is blocks of rows, measured at {cell['n']:,} photos on one thread and added up for",
        f"{PLANNED:,} photos as {PLANNED // PART} parts of {PART:,}. Links between parts are not searched for: a photo",
        "has its neighbours in its own part, so parts are drawn by k-means and not by date. The search over candidates",
        f"needs labelled photos and those around them alone: {fixed:.0f} s at this size, once.",
        "",
        *_table(["stage", "processor s a million", "processor hours", "TB read or moved"], rows),
        "",
        f"{MACHINES} machines of {CORES} cores at {BUSY:.0%} take "
        f"{total / (MACHINES * CORES * BUSY):.1f} hours, features extracted before: "
        f"{PLANNED * 576 * 4 / 1e9:,.0f} GB of rows and",
        f"{PLANNED * 100 * 4 / 1e9:,.0f} GB of probabilities are on disk. Extraction takes longer than all of this:",
        "see [Speed](speed.md) for what a photo costs.",
    ]


def draw_figures(folder: Path, path: Path = RESULTS) -> bool:
    """Draw processor time and memory of training over the number of photos; False without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    from matplotlib.figure import Figure

    matplotlib.use("svg")
    # A fixed salt and no date: the same results give the same file.
    matplotlib.rcParams["svg.hashsalt"] = "scale"
    cells = read_results(path)
    trained, others = _of(cells, "train"), _of(cells, "others")
    sizes = [cell["n"] for cell in trained]
    time = {"auto": (sizes, [cell["cpu"] for cell in trained])}
    for name in PEERS:
        known = [(cell["n"], cell["peers"][name]["cpu"]) for cell in others if name in cell["peers"]]
        if known:
            time[name] = ([n for n, _ in known], [cpu for _, cpu in known])
    keys = {"anonymous": "peak anonymous", "resident, with mapped files": "peak rss"}
    memory = {title: (sizes, [cell[key] for cell in trained]) for title, key in keys.items()}
    for name, y_name, series in (
        ("scale.svg", "processor seconds", time),
        ("scale-memory.svg", "MB at the peak", memory),
    ):
        figure = Figure(figsize=(5.0, 3.6), layout="constrained")
        axes = figure.subplots()
        for title, (x, y) in series.items():
            axes.plot(x, y, marker="o", label=title)
        axes.set(xscale="log", yscale="log", xlabel="photos", ylabel=y_name)
        axes.legend()
        figure.savefig(folder / name, metadata={"Date": None})
    return True
