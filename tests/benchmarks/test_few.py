"""What leaves a project with few labels: the figures are those of the file, and the page is made of them."""

import csv

import numpy as np

from benchmarks.few import cells, page
from benchmarks.few.cells import TOY, figures, photos_of, run_cell
from benchmarks.scenarios.situations import Sizes, Work

N = 40


def test_figures_are_those_of_the_file(tmp_path):
    (tmp_path / "work").mkdir()
    work = Work(tmp_path / "work", photos_of(TOY), Sizes(120, N, N, N, 0, 0), seed=0, threads=1)
    with work.project:
        work.list_tags(np.arange(N))
        work.project.train()
        told = figures(work, tmp_path / "out.csv")
        above = work.suggestions().above
        right = work.truth_of(work.suggestions())[above]
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as stream:
        sources = [row["source"] for row in csv.DictReader(stream)]
    assert told["exported"] == sources.count("suggested") == above.sum() > 0
    assert told["right"] == right.sum() > 0
    assert told["before"] >= told["exported"]
    assert told["missing"] == work.truth[N:].sum()


def test_few_labels_let_nothing_out():
    few = run_cell((TOY, 0, 10), photos_of(TOY), {}).test
    assert few["exported"] == few["right"] == 0
    assert few["before"] > few["before_right"] > 0


def test_every_number_of_labels_has_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "SETS", {TOY: 120})
    found = [run_cell((TOY, 0, n), photos_of(TOY), {"commit": "abc"}) for n in (10, N)]
    cells.store_of(tmp_path).commit(found, [])
    text = page.page(tmp_path)
    assert "| 10 | 0 | – |" in text
    assert f"| {N} | {found[1].test['exported']:.0f} |" in text
    assert "- commit abc" in text


def test_without_results_the_page_says_so(tmp_path):
    assert page.page(tmp_path).count("No results yet.") == 1 + len(cells.SETS)
