"""The quality benchmark as a whole, on made-up photos."""

import numpy as np
import pytest

from benchmarks.quality import active, cells, more, more_page, positive
from benchmarks.quality.cells import Cell, Wanted
from benchmarks.quality.page import page
from benchmarks.quality.sets import TOY
from benchmarks.results import write_json


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "HERE", tmp_path)
    monkeypatch.setattr(cells, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(cells, "COSTS", tmp_path / "results" / "costs.json")
    cells._open.cache_clear()
    return tmp_path


def _wanted(*methods, draws=1, fraction=0.1):
    return Wanted(("toy",), (fraction,), methods, draws)


def test_draws_are_disjoint_nested_and_repeatable():
    _, small = TOY.draw(0.1, 0)
    _, large = TOY.draw(0.25, 0)
    assert set(small.labeled) < set(large.labeled) < set(large.seen)
    assert not set(large.seen) & set(large.new)
    assert len(small.labeled) == 20
    assert set(small.unlabeled) == set(small.seen) - set(small.labeled)
    np.testing.assert_array_equal(TOY.draw(0.1, 0)[1].labeled, small.labeled)
    assert set(TOY.draw(0.1, 1)[1].labeled) != set(small.labeled)


def test_finished_cells_are_not_run_again(folder):
    said = []
    first = cells.run("annotators", _wanted("ridge", "knn"), say=said.append)
    assert [result.method for result in first] == ["ridge", "knn"]
    assert all(0 < result.test["unlabeled/map"] <= 1 for result in first)
    assert cells.run("annotators", _wanted("ridge", "knn"), say=said.append) == []
    assert said[-1] == "annotators: 2 cells, 0 to run"
    more = cells.run("annotators", _wanted("ridge", "knn", draws=2), say=said.append)
    assert [(result.method, result.draw) for result in more] == [("ridge", 1), ("knn", 1)]
    again = cells.run("annotators", _wanted("ridge"), fresh=True, say=said.append)
    assert again[0].test["new/map"] == first[0].test["new/map"]


def test_a_cell_that_fails_says_why_and_is_tried_again(folder, monkeypatch):
    def fail(problem):
        raise ValueError("no such luck")

    method = cells.METHODS["smoothed_ridge"]
    monkeypatch.setitem(cells.METHODS, "smoothed_ridge", type(method)("smoothed_ridge", "", own=fail))
    (failed,) = cells.run("annotators", _wanted("smoothed_ridge"), say=lambda line: None)
    assert failed.error == "ValueError: no such luck"
    monkeypatch.setitem(cells.METHODS, "smoothed_ridge", method)
    (result,) = cells.run("annotators", _wanted("smoothed_ridge"), say=lambda line: None)
    assert not result.error
    assert {"calibrated/best_error", "scores/brier_skill", "accepted/oracle"} <= set(result.test)


def test_keys_tell_cells_apart():
    found = [*Wanted(("toy",)).cells("annotators"), *Wanted(("toy",)).cells("positive")]
    assert len({cell.key for cell in found}) == len(found)


def test_the_plan_takes_finished_sisters_first_and_recorded_costs_else(folder):
    write_json(cells.COSTS, {"annotators/toy/0.1/ridge": 7.0, "annotators/toy/0.1/knn": 5.0})
    (row,) = cells.plan(["annotators"], _wanted("ridge", "knn", "jec", draws=2))
    assert (row.n_cells, row.n_missing, row.seconds, row.n_unknown) == (6, 6, 24.0, 2)
    assert row.n_guessed == 0
    (larger,) = cells.plan(["annotators"], _wanted("ridge", "jec", fraction=0.25))
    assert (larger.n_guessed, larger.n_unknown) == (1, 1)
    assert larger.seconds == pytest.approx(7.0 * 2.5**1.5)
    (done,) = cells.run("annotators", _wanted("ridge"), say=lambda line: None)
    (row,) = cells.plan(["annotators"], _wanted("ridge", "knn", "jec", draws=2))
    assert row.n_missing == 5
    assert row.seconds == pytest.approx(10.0 + done.cpu_fit + done.cpu_inside)


def test_costs_are_measured_without_a_look_at_scores(folder):
    cells.measure_costs("annotators", _wanted("ridge"), say=lambda line: None)
    assert list(cells.read_costs()) == ["annotators/toy/0.1/ridge"]
    assert cells.store_of("annotators").load() == {}
    cell = Cell("annotators", "toy", 0.25, 0, "ridge")
    honest = cells.run_cell(cell, {}).test["unlabeled/map"]
    shuffled = cells.run_cell(cell, {}, shuffled=True).test["unlabeled/map"]
    assert shuffled < honest - 0.1


def test_half_of_the_true_tags_are_hidden_and_nothing_is_denied(folder):
    problem = cells.open_problem(Cell("positive", "toy", 0.25, 0, "smoothed_ridge-no"))
    named = positive.named_labels(problem, 0)
    rows = np.searchsorted(problem.draw.seen, problem.draw.labeled)
    assert set(np.unique(named)) == {-1, 1}
    assert (problem.Y[named[rows] == 1] == 1).all()
    assert 0.3 < (named == 1).sum() / (problem.Y == 1).sum() < 0.7
    assert (np.delete(named, rows, axis=0) == -1).all()
    listed = positive.listed_labels(problem, 0)
    assert (listed[rows] == (named[rows] == 1)).all()
    assert (~(named[rows] == 1).any(axis=1)).any()  # a photo that lost all its tags is one without tags here
    assert (np.delete(listed, rows, axis=0) == -1).all()


@pytest.mark.medium
def test_strategies_start_alike_and_never_ask_for_photos_kept_for_scoring(folder, monkeypatch):
    monkeypatch.setattr(active, "N_STEPS", 2)
    asked = {}
    original = active._ask

    def spy(probabilities, Y, photos, size, strategy, scored, seed):
        found = original(probabilities, Y, photos, size, strategy, scored, seed)
        asked.setdefault(strategy, []).append((np.flatnonzero((Y != -1).any(axis=1)), found))
        assert not scored[found].any()
        return found

    monkeypatch.setattr(active, "_ask", spy)
    problem = cells.open_problem(Cell("active", "toy", 0.1, 0, "random"))
    for strategy in ("random", "cover", "mixed", "representative"):
        found = active.figures(problem, strategy, 0)
        assert list(found) == ["map/0020", "map/0040", "map/0060"]
    starts = [calls[0][0] for calls in asked.values()]
    assert all(np.array_equal(start, starts[0]) for start in starts)
    for calls in asked.values():
        assert not set(calls[1][0]) & set(calls[1][1])


def test_an_empty_page_says_what_is_not_run(tmp_path):
    text = page(tmp_path)
    assert text.count("No results yet.") == 9
    assert text.count("| not run |") == 10


def test_the_page_shows_what_was_run(folder):
    cells.run("annotators", _wanted("ridge", "smoothed_ridge"), say=lambda line: None)
    store = cells.store_of("annotators")
    known = store.load()
    store.commit(known.values(), [])
    text = page(cells.RESULTS)
    ridge = next(cell for cell in known.values() if cell.method == "ridge")
    assert f"| ridge | {ridge.test['new/map']:.3f} (" in text
    assert "smoothed ridge (tagloom), scores" in text


def test_further_draws_follow_those_asked_for_and_stand_beside_them(folder, monkeypatch):
    places = (more.Place("toy", 0.1, ("auto",), 2), more.Place("toy", 0.1, ("auto-no", "auto-unknown"), 1))
    for module in (more, more_page):
        monkeypatch.setattr(module, "PLACES", places)
    say = [].append
    wanted = Wanted(("toy",))
    assert [(cell.draw, cell.method) for cell in wanted.cells("more")] == [
        (TOY.draws, "auto"),
        (TOY.draws + 1, "auto"),
        (TOY.draws, "auto-no"),
        (TOY.draws, "auto-unknown"),
    ]
    asked = {
        "annotators": cells.run("annotators", _wanted("auto"), say=say),
        "positive": cells.run("positive", _wanted("auto-no", "auto-unknown"), say=say),
    }
    assert more_page.more_lines(asked | {"more": []}) == []
    further = cells.run("more", wanted, say=say)
    assert not any(result.error for result in further)
    rows = [line.split(" | ") for line in more_page.more_lines(asked | {"more": further}) if line.startswith("| toy")]
    told = {row[2]: row[3:] for row in rows}
    skills = [result.test["calibrated/brier_skill"] for result in (*asked["annotators"], *further[:2])]
    spelt = [f"{np.mean(part):.3f}" for part in (skills[:1], skills[1:], skills)]
    assert [cell.split()[0] for cell in told["Brier skill"]] == spelt
    no, unknown = (result.test["unlabeled/map"] for result in further[2:])
    assert told["MAP, unknown less no"][1].startswith(f"{unknown - no:.3f} ")
