"""The last evaluation of a project: kept, read again, and never in the way."""

import json
import logging

import numpy as np
import pytest

from tagloom.exceptions import WriteError
from tagloom.learning.labels import read_labels
from tagloom.learning.stored_evaluation import LastEvaluation, keep_evaluation, last_evaluation
from tests.made_evaluation import make_evaluation


@pytest.fixture
def made(made_up):
    """Return a project of which two photos are decided."""
    made = made_up(4, 2)
    made.say([0, 1])
    return made


def _keep(made, **changes):
    store = made.project.store
    keep_evaluation(store, make_evaluation(**changes), read_labels(store, made.ids))


@pytest.mark.parametrize("changes", [{}, {"curve": (), "forecast": None, "groups": (), "notes": (), "map": 1}])
def test_it_comes_back_as_it_was(made, changes):
    assert made.project.last_evaluation() is None
    _keep(made, map=0.25)
    _keep(made, **changes)
    last = made.project.last_evaluation()
    assert last.evaluation == make_evaluation(**changes)
    assert (last.is_current, last.n_further) == (True, 0)
    assert "on all your decisions" in last.note
    assert json.loads(json.dumps(last.as_dict()))["evaluation"]["method"] == "ridge"


def test_what_was_kept_before_a_field_came_is_read(made):
    _keep(made, n_repeated=1, repeated_map=0.7, repeated_map_low=0.6, repeated_map_high=0.8)
    names = ("n_repeated", "repeated_map", "repeated_map_low", "repeated_map_high")
    _tamper(made, lambda kept: [kept["evaluation"].pop(name) for name in names])
    assert made.project.last_evaluation().evaluation == make_evaluation()


def test_decisions_make_it_old_and_undo_makes_it_current_again(made):
    _keep(made)
    made.say([2])
    last = made.project.last_evaluation()
    assert (last.is_current, last.n_further) == (False, 2)
    assert "before 2 further decisions." in last.note
    made.project.undo()
    assert made.project.last_evaluation().is_current
    made.say([2], [0])
    assert "before 5 further decisions." in made.project.last_evaluation().note


def test_notes_of_one_decision_and_of_none():
    found = make_evaluation()
    assert LastEvaluation(evaluation=found, n_further=1).note.endswith("before 1 further decision.")
    assert LastEvaluation(evaluation=found).note.endswith("before tags were changed.")


def _tamper(made, change):
    """Change what is kept, as another version or a bad disk would."""
    store = made.project.store
    kept = store.runs.all("evaluate")[0].result
    change(kept)
    with store.transaction():
        store.runs.end(store.runs.start("evaluate", store.runs.all("evaluate")[0].settings), kept)


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: kept.update(format=2),
        lambda kept: kept.clear(),
        lambda kept: kept.update(evaluation=[]),
        lambda kept: kept["evaluation"].pop("recall"),
        lambda kept: kept["evaluation"].update(novelty=1),
        lambda kept: kept["evaluation"].update(map="high"),
        lambda kept: kept["evaluation"].update(map=None),
        lambda kept: kept["evaluation"].update(folds=2.5),
        lambda kept: kept["evaluation"].update(n_photos=True),
        lambda kept: kept["evaluation"].update(tags={}),
        lambda kept: kept["evaluation"]["tags"][0].update(tag=7),
        lambda kept: kept["evaluation"]["groups"].append(None),
        lambda kept: kept["evaluation"]["forecast"].pop("gain"),
    ],
)
def test_what_cannot_be_read_is_a_note(made, change):
    _keep(made)
    _tamper(made, change)
    last = made.project.last_evaluation()
    assert last.evaluation is None
    assert "tagloom evaluate" in last.note
    _keep(made)
    assert made.project.last_evaluation().evaluation is not None


@pytest.mark.parametrize("column", ["result", "settings"])
@pytest.mark.parametrize("text", ["{", "[]", "null"])
def test_damaged_text_is_a_note(made, column, text):
    _keep(made)
    with made.project.store.database.write() as connection:
        connection.execute(f"UPDATE runs SET {column} = ?", (text,))
    assert last_evaluation(made.project.store).evaluation is None


def test_figures_are_worth_more_than_keeping_them(made_up, monkeypatch, caplog):
    made = made_up(30, 2)
    made.say(range(12))

    def refuse(*_):
        raise WriteError(28, "disk full")

    monkeypatch.setattr(made.project.store.runs, "start", refuse)
    with caplog.at_level(logging.WARNING, logger="tagloom"):
        found = made.project.evaluate("ridge", folds=2, curve=False, groups=False)
    assert found.n_labeled == 12
    assert "could not be kept" in caplog.text
    assert made.project.last_evaluation() is None


def test_evaluate_keeps_what_it_returns(made_up):
    made = made_up(40, 2)
    made.say(range(24))
    found = made.project.evaluate("ridge", folds=2, n_more=5)
    last = made.project.last_evaluation()
    assert last.evaluation == found
    assert last.is_current
    assert found.forecast is not None
    assert np.isfinite(last.at)
