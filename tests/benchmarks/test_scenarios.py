"""Promised beside measured precision: the situations are what they claim, and so are the figures and the page."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.scenarios import cells, page, situations
from benchmarks.scenarios.cells import TOY, figures, run_cell
from benchmarks.scenarios.situations import SITUATIONS, Work
from tagloom.core.labels import UNKNOWN
from tagloom.learning.labels import read_labels
from tests.pages import ROOT

N = cells.TOY_SIZES


@pytest.fixture
def work(tmp_path):
    made = Work(tmp_path, cells.photos_of(TOY), N, seed=0, threads=1)
    with made.project:
        yield made


def said(work):
    """Return what was said, photos and tags in the order of the truth."""
    found = work.project.store.decisions.labels()
    Y = np.full(work.truth.shape, UNKNOWN, dtype=np.int8)
    columns = [int(text.rpartition(" ")[2]) for text in work.project.store.tags.texts(found[1])]
    Y[np.ix_(situations._places(work._ids, found[0]), columns)] = found[2]
    return Y


def test_listed_photos_have_every_yes_and_no(work):
    work.list_tags(work.listed)
    Y = said(work)
    assert (Y[: N.listed] == work.truth[: N.listed]).all()
    assert (Y[N.listed :] == UNKNOWN).all()


def test_named_photos_have_no_noes_and_forgotten_tags_are_unknown(work):
    told = work.generator.random(work.truth.shape) < situations.NAMED
    work.list_tags(work.listed, absent_means="unknown", told=told)
    expected = np.where(work.truth & told, 1, UNKNOWN)
    assert (said(work)[: N.listed] == expected[: N.listed]).all()


def test_photos_given_their_tags_one_by_one_are_listed_by_nobody_else(work):
    work.give_tags(work.later, np.array([0, 2]))
    Y = said(work)
    assert (Y[work.later][:, [0, 2]] == np.where(work.truth[work.later][:, [0, 2]], 1, UNKNOWN)).all()
    assert (Y[:, [1, 3, 4, 5]] == UNKNOWN).all()
    assert (Y[: N.listed] == UNKNOWN).all()


def test_judging_says_the_truth_of_the_likeliest_and_learns_from_it(work):
    situations.listed(work)
    before = work.suggestions()
    work.judge(N.judged)
    Y = said(work)
    judged = (Y != UNKNOWN) & (np.arange(len(Y)) >= N.listed)[:, None]
    assert judged.sum() == N.judged
    assert (Y[judged] == work.truth[judged]).all()
    likeliest = np.where(before.open, before.values, 0.0).max()
    assert before.values[judged].max() == likeliest
    assert read_labels(work.project.store, work._ids).reviewed.any()
    assert (work.suggestions().values != before.values).any()


def test_figures_count_what_is_open_and_above():
    truth = np.array([[1, 0], [1, 1], [0, 1], [1, 0]], dtype=bool)
    values = np.array([[0.9, 0.2], [0.95, 0.6], [0.8, 0.9], [0.7, 0.1]])
    open_ = np.ones((4, 2), dtype=bool)
    open_[1, 0] = False  # decided: no suggestion, and the photo is no longer one of which nothing was said
    found = SimpleNamespace(kind="probability", values=values, open=open_, above=open_ & (values > 0.75))
    told = figures(SimpleNamespace(suggestions=lambda: found, truth_of=lambda _: truth))
    assert (told["above"], told["right"]) == (3.0, 2.0)
    assert told["expected"] == pytest.approx(0.9 + 0.8 + 0.9)
    assert told["tags_expected"] == pytest.approx(values[[0, 2, 3]].sum())
    assert told["tags_true"] == 3.0
    # Photos 0, 2, 3: the first tag is ranked yes, no, yes, the second yes, no, no.
    assert told["map"] == pytest.approx(((1 + 2 / 3) / 2 + 1) / 2)


def test_scores_are_no_probabilities():
    found = SimpleNamespace(kind="score")
    with pytest.raises(BenchmarkError, match="no probabilities"):
        figures(SimpleNamespace(suggestions=lambda: found))


@pytest.mark.medium
def test_every_situation_ends_with_probabilities_and_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "SETS", {TOY: N})
    results = [run_cell((TOY, 0, name), cells.photos_of(TOY), {}) for name in SITUATIONS]
    assert [result.error for result in results] == [""] * len(SITUATIONS)
    assert all(0.0 < result.test["map"] <= 1.0 for result in results)
    cells.store_of(tmp_path).commit(results, [])
    text = page.page(tmp_path)
    assert "No results yet" not in text
    assert f"{N.few} photos labelled with all their tags" in text


def test_without_results_the_page_says_so(tmp_path):
    assert page.page(tmp_path).count("No results yet.") == 1 + 2 * len(cells.SETS)


@pytest.mark.parametrize("name", ["README.md", "docs/explanation/probabilities.md"])
def test_pages_quote_the_recorded_precision(name):
    text = (ROOT / "docs/benchmarks/scenarios.md").read_text(encoding="utf-8")
    low, high, n_scenarios = re.search(r"(\d+) to (\d+) % .* across (\d+) scenarios", text).groups()
    quoted = " ".join((ROOT / name).read_text(encoding="utf-8").replace("[scenarios]", "scenarios").split())
    assert f"measured {low}–{high} % across {n_scenarios} scenarios" in quoted
