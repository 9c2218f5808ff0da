"""The default method follows the decisions by itself; the oracle is an annotator in memory that is told the same."""

import numpy as np
import pytest

from tagloom.catalog.extraction import load_rows
from tagloom.learning.labels import read_labels
from tagloom.learning.methods import get_learner, make_annotator
from tagloom.learning.stored_model import AutoModel, load_model
from tagloom.learning.update import Updater


@pytest.fixture
def trained(made_up):
    """Return a trained project of 200 photos, 50 of them labelled, and an annotator fitted on the same."""
    made = made_up(200, 4)
    made.say(range(50))
    made.project.train()
    with made.project.store.lock(), made.project.store.cache() as cache:
        rows = load_rows(made.project.store, cache, made.project.settings)
    annotator = make_annotator(get_learner("auto"), made.project.settings, rows.groups)
    labels = read_labels(made.project.store, rows.ids)
    assert annotator.fit(rows.X, labels.Y).choice_["members"]
    return made, annotator


def labels_of(made):
    return read_labels(made.project.store, made.ids)


def open_updater(made):
    return Updater(made.project.store, made.project.settings)


def test_a_few_decisions_change_their_tag_and_hardly_others(trained):
    made, annotator = trained
    with open_updater(made) as updater:
        before = updater.values
        assert updater.update().tag_ids == ()
        made.say(range(50, 54), [1])
        assert made.tags[1] in updater.update().tag_ids
        annotator.update(labels_of(made).Y)
        np.testing.assert_allclose(updater.values, annotator.probabilities_, atol=2e-4)
        # What scores of one tag are worth tells something of those of others: the map is one for all.
        moved = np.abs(updater.values[60:] - before[60:]).max(axis=0)
        assert moved[[0, 2, 3]].max() < 0.5 * moved[1]
        assert moved[1] > 1e-3


def test_many_decisions_bring_all_probabilities_up_to_date(trained):
    made, annotator = trained
    with open_updater(made) as updater:
        made.say(range(50, 110))
        assert set(updater.update().tag_ids) == set(made.tags.tolist())
        annotator.update(labels_of(made).Y)
        np.testing.assert_allclose(updater.values, annotator.probabilities_, atol=2e-4)


def test_it_is_stored_whole_and_goes_on_from_there(trained):
    made, annotator = trained
    store = made.project.store
    first = store.models.active()
    with open_updater(made) as updater:
        made.say(range(50, 70), [1])
        updater.update()
        model = updater.save()
    assert model == store.models.active().id != first.id
    assert isinstance(load_model(store, store.models.active()), AutoModel)
    assert store.models.active().settings["method"] == "auto"
    annotator.update(labels_of(made).Y)
    with open_updater(made) as updater:
        assert updater.update().tag_ids == ()
        made.say(range(70, 73), [2])
        assert made.tags[2] in updater.update().tag_ids
        annotator.update(labels_of(made).Y)
        np.testing.assert_allclose(updater.values, annotator.probabilities_, atol=5e-4)
        updater.save()
    found = made.project.explain(int(made.ids[150]), "tag 1")
    # By the model itself, not by a stand-in: what it adds up to is its own score.
    total = found.photos_base + sum(one.amount for one in found.photos) + found.photos_other + found.photos_rest
    assert total == pytest.approx(found.score, abs=1e-6)
    assert found.score == pytest.approx(annotator.own_scores_[150, 1], abs=1e-3)


def test_a_new_tag_and_a_tag_taken_back(trained):
    made, annotator = trained
    before = made.project.store.suggestions.load().scores
    (extra,) = made.project.store.tags.add(["something new"])
    with open_updater(made) as updater:
        made.project.store.decisions.decide(made.ids[:20], extra, np.arange(20) % 2)
        assert set(updater.update().tag_ids) == {*made.tags.tolist(), extra}
        assert updater.tag_ids.tolist() == [*made.tags.tolist(), extra]
        assert np.ptp(updater.values[:20, 4]) > 0.01
        annotator.update(labels_of(made).Y, columns=[0, 1, 2, 3, -1])
        np.testing.assert_allclose(updater.values, annotator.probabilities_, atol=2e-4)
        made.project.undo()
        updater.update()
        assert updater.tag_ids.tolist() in (made.tags.tolist(), [*made.tags.tolist(), extra])
        np.testing.assert_allclose(updater.values[:, :4], before, atol=2e-3)


def test_a_large_action_that_is_undone_leaves_nothing_behind(trained):
    made, _ = trained
    with open_updater(made) as updater:
        before, limit = updater.values, updater.thresholds
        made.say(range(50, 180))
        updater.update()
        assert np.abs(updater.values - before).max() > 0.05
        made.project.undo()
        updater.update()
        np.testing.assert_allclose(updater.values, before, atol=2e-3)
        np.testing.assert_allclose(updater.thresholds, limit, atol=2e-2)


def test_what_is_suggested_is_the_same_after_it_was_saved(trained):
    made, _ = trained
    with open_updater(made) as updater:
        made.say(range(50, 54), [1])
        updater.update()
        suggested = updater.values > updater.thresholds
        updater.save()
        np.testing.assert_array_equal(updater.values > updater.thresholds, suggested)
    with open_updater(made) as updater:
        np.testing.assert_array_equal(updater.values > updater.thresholds, suggested)


def test_photos_that_came_since_are_learnt_from_by_the_same_members(trained):
    made, annotator = trained
    made.add_photos(np.random.default_rng(1).gamma(2.0, size=(5, 289)).astype(np.float32))
    with open_updater(made) as updater:
        made.say(range(50, 70), [1])
        updater.update()
        assert len(updater.photo_ids) == 205
        assert np.isfinite(updater.values).all()
        own = updater.model._annotator
        assert [one.candidate for one in own.model_.members] == [one.candidate for one in annotator.model_.members]
        np.testing.assert_allclose(updater.values, own.probabilities_, atol=1e-6)
        model = updater.save()
    assert made.project.store.models.active().id == model
    with open_updater(made) as updater:
        assert updater.update().tag_ids == ()


def test_what_was_said_of_suggestions_is_followed_as_in_a_training(trained):
    made, _ = trained
    with open_updater(made) as updater:
        # None of those that were looked at had the tag, against all expectation.
        decisions = made.project.store.decisions
        decisions.decide(made.ids[60:90], made.tags[1], np.zeros(30, dtype=int), origin="suggested")
        updater.update()
        updated = updater.values[100:, 1]
        made.project.train()
    after = made.project.store.suggestions.load().scores
    assert np.corrcoef(updated, after[100:, 1])[0, 1] > 0.9
    assert abs(float(updated.mean() - after[100:, 1].mean())) < 0.05


def test_the_likeliest_photos_are_shown_before_all_are_scored(trained):
    made, _ = trained
    seen = []
    with open_updater(made) as updater:
        updater.first_look = lambda tags, _: seen.append((tags.tolist(), updater.values))
        before = updater.values
        made.say(range(50, 54), [1])
        updater.update()
        ((tags, first),) = seen
        assert tags == [made.tags[1]]
        np.testing.assert_array_equal(first[:, [0, 2, 3]], before[:, [0, 2, 3]])
        np.testing.assert_array_equal(first[:54, 1], before[:54, 1])
        moved = np.abs(updater.values[54:, 1] - before[54:, 1])
        assert np.abs(first[54:, 1] - updater.values[54:, 1]).max() < 0.3 * moved.max()


@pytest.fixture
def single(monkeypatch):
    """Let any project be one of many photos: in single precision, with arrays that are kept."""
    monkeypatch.setattr("tagloom.tuning.auto.views.DOUBLE_ENTRIES", 10)


def opened_values(made):
    with open_updater(made) as updater:
        updater.update()
        return updater.values


@pytest.mark.usefixtures("single")
def test_with_what_is_kept_no_features_are_read_and_the_same_is_learnt(made_up, monkeypatch):
    made = made_up(200, 4)
    made.say(range(50))
    made.project.train()
    kept = list((made.project.folder / "kept").iterdir())
    assert kept
    made.say(range(50, 54), [1])
    with monkeypatch.context() as patched:
        patched.setattr("tagloom.features.engine.ExtractionEngine.rows", None)
        expected = opened_values(made)
    others = np.full(10, np.nan, dtype=np.float32).tobytes()
    for change in (  # other numbers, half a file, none
        lambda file: file.write_bytes(file.read_bytes()[:-40] + others),
        lambda file: file.write_bytes(file.read_bytes()[:1000]),
        lambda file: file.unlink(),
    ):
        for file in kept:
            change(file)
        np.testing.assert_allclose(opened_values(made), expected, atol=1e-6)


@pytest.mark.usefixtures("single")
def test_what_no_model_needs_is_kept_no_longer(made_up):
    made = made_up(200, 4)
    made.say(range(50))
    made.project.train()
    folder = made.project.folder / "kept"
    before = {file.name for file in folder.iterdir()}
    made.say(range(50, 60))
    made.project.update()
    after = {file.name for file in folder.iterdir()}
    assert before & after  # coordinates
    assert len(after) == len(before)
    assert made.project.store.check(checksums=True) == []
