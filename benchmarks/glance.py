"""The page of results at a glance: the answers of the other pages, from the same recorded results."""

from pathlib import Path

from benchmarks import experiment as experiments
from benchmarks.datasets import ROOT
from benchmarks.experiment import read_expected, read_experiment
from benchmarks.faults.report import RESULTS as FAULTS
from benchmarks.faults.report import answer as faults_answer
from benchmarks.quality import page as quality_page
from benchmarks.quality.analysis import Table
from benchmarks.results import read_cells
from benchmarks.runner import finished
from benchmarks.scale import page as scale_page
from benchmarks.scenarios import page as scenarios_page
from benchmarks.scenarios.cells import HERE as SCENARIOS
from benchmarks.speed.report import answer as speed_answer
from benchmarks.summary import DATA_MISSING, Summary, statuses
from benchmarks.words import page as words_page
from benchmarks.words.cells import HERE as WORDS

BENCHMARKS = ROOT / "benchmarks"
PAPERS = {"sfss": "SFSS", "topics": "Laplacian topic model", "lpssvm": "LPSSVM", "tkml": "TKML", "nova": "NOVA"}


def page() -> str:
    """Return the page."""
    quality = Table(read_cells(BENCHMARKS / "quality" / "results" / "annotators.json"))
    scenarios = Table(read_cells(SCENARIOS / "results.json"))
    lines = [
        "# Results at a glance",
        "",
        "Every figure on this page comes from recorded results, with the commit that produced them; the pages linked",
        "here have all of them, including losses.",
        "",
        *_part("Few labels and names", words_page.answer(read_cells(WORDS / "results.json")), "words"),
        *_part("Features without names", quality_page.answer(quality), "quality"),
        "![Mean average precision](quality.svg)",
        "",
        *_part("Probabilities", scenarios_page.answer(scenarios), "scenarios"),
        *_part("Speed", [speed_answer(BENCHMARKS / "speed" / "results")], "speed"),
        *_part("Large collections", scale_page.answer(scale_page.read_results()), "scale"),
        *_part("Reliability", [faults_answer(FAULTS)], "faults"),
        "## Reproduction of the papers",
        "",
        "Published values that come out within 0.01 under the paper's own protocol. Data that are not public cannot be",
        "compared; what did not reproduce is published as it is.",
        "",
        "| paper | published values | with public data | reproduced |",
        "|---|---|---|---|",
        *(_reproduced(name, title) for name, title in PAPERS.items()),
        "",
        "[How they are made](index.md) explains the two protocols.",
    ]
    return "\n".join(lines).rstrip() + "\n"


def _part(title: str, answer: list[str], name: str) -> list[str]:
    return [f"## {title}", "", *answer, "", f"[All results]({name}.md)", ""]


def _reproduced(name: str, title: str) -> str:
    folder: Path = experiments.PAPERS / name
    experiment = read_experiment(folder)
    known = {cell.key: cell for cell in read_cells(folder / "results.json")}
    rows = statuses(Summary(experiment, finished(experiment, known)), read_expected(folder))
    compared = [row for row in rows if row["status"] != DATA_MISSING]
    n_reproduced = sum(row["status"] == "reproduced" for row in compared)
    figures = [len(rows), len(compared), n_reproduced] if rows else ["none", "–", "–"]
    return f"| [{title}]({name}.md) | {' | '.join(map(str, figures))} |"
