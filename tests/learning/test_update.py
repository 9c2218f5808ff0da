"""Updates against fits from scratch."""

import threading

import numpy as np
import pytest
from scipy.special import logit

from tagloom.catalog.extraction import load_rows
from tagloom.exceptions import InvalidInputError, PhotosError
from tagloom.features.scaling import GroupScaler
from tagloom.learning import stored_model
from tagloom.learning.labels import read_labels
from tagloom.learning.stored_model import load_model
from tagloom.learning.update import Updater
from tagloom.methods import RegularizedLeastSquares
from tagloom.project.project import Project


def _cold(project, strength, *, smoothing=0.5):
    """Return tags and scores of a fit from scratch."""
    store = project.store
    with store.lock(), store.cache() as cache:
        rows = load_rows(store, cache, project.settings)
    labels = read_labels(store, rows.ids)
    X = GroupScaler(rows.groups).fit_transform(rows.X)
    fitted = RegularizedLeastSquares(strength, smoothing=smoothing, n_neighbors=project.settings.n_neighbors)
    return labels, fitted.fit(X, labels.Y).transduction_


def _strength(project):
    return load_model(project.store, project.store.models.active()).strength


def test_starts_from_nothing_and_follows_single_decisions(made_up):
    made = made_up()
    made.say(range(8))
    with Updater(made.project.store, made.project.settings) as updater:
        assert updater.values.shape == (120, 0)
        first = updater.update()
        assert first.tag_ids == tuple(made.tags)
        assert updater.kind == "score"
        assert updater.save() is not None
        strength = _strength(made.project)
        _, scores = _cold(made.project, strength)
        np.testing.assert_allclose(updater.values, scores, atol=1e-4 * scores.std())

        made.say([10, 11], [2])
        before = updater.values
        second = updater.update()
        assert second.tag_ids == (made.tags[2],)
        _, scores = _cold(made.project, strength)
        np.testing.assert_allclose(updater.values, scores, atol=1e-4 * scores.std())
        assert np.array_equal(updater.values[:, [0, 1, 3]], before[:, [0, 1, 3]])
        assert not np.array_equal(updater.values[:, 2], before[:, 2])
        assert updater.update().tag_ids == ()


def test_whole_photos_entrywise_labels_and_undo(made_up):
    made = made_up(200, 6)
    made.say(range(10))
    with Updater(made.project.store, made.project.settings) as updater:
        updater.update()
        for rows, columns in (([20, 21, 22], None), ([30, 31], [0, 4]), ([33], [5])):
            made.say(rows, columns)
            updater.update()
        made.project.undo()
        updater.update()
        assert updater.kind == "score"
        updater.save()
        _, scores = _cold(made.project, _strength(made.project))
        np.testing.assert_allclose(updater.values, scores, atol=1e-4 * scores.std())


def test_probabilities_of_an_update_are_the_maps_of_the_scores(made_up):
    made = made_up(300, 5)
    made.say(range(60))
    trained = made.project.train("smoothed-ridge")
    assert trained.kind == "probability"
    with Updater(made.project.store, made.project.settings) as updater:
        assert updater.kind == "probability"
        assert updater.update().tag_ids == ()
        made.say(range(60, 66))
        assert len(updater.update().tag_ids) == 5
        labels, scores = _cold(made.project, _strength(made.project))
        hidden = labels.said[:, 0] == -1
        for tag in range(5):
            # A rising map of the scores, and a good one of the truth.
            order = np.argsort(scores[hidden, tag])
            assert (np.diff(updater.values[hidden, tag][order]) >= -1e-5).all()
        truth = made.truth[hidden]
        clipped = np.clip(updater.values[hidden], 1e-6, 1 - 1e-6)
        loss = -np.where(truth == 1, np.log(clipped), np.log1p(-clipped)).mean()
        base = made.truth[:66].mean(axis=0)
        assert loss < -np.where(truth == 1, np.log(base), np.log(1 - base)).mean()


def test_started_from_nothing_with_enough_labels_there_is_one_threshold_for_all(made_up):
    made = made_up(300, 4)
    made.say(range(60), [0, 1, 2])
    with Updater(made.project.store, made.project.settings) as updater:
        updater.update()
        assert updater.kind == "probability"
        limit = updater.thresholds[0]
        assert 0 < limit < 1
        made.say(range(60), [3])
        assert updater.update().tag_ids == (made.tags[3],)
        assert updater.thresholds.tolist() == [limit] * 4
        made.project.undo()
        assert updater.update().tag_ids == (made.tags[3],)
        assert np.array_equal(updater.tag_ids, made.tags[:3])
        assert updater.values.shape == (300, 3)


def test_a_training_at_work_is_left_alone(made_up):
    made = made_up()
    made.say(range(30))
    with Updater(made.project.store, made.project.settings) as updater:
        updater.update()
        with Project.open(made.project.root) as other, other.store.lock():
            assert updater.save() is None
        assert updater.save() is not None


def test_a_new_tag_gets_a_column_from_few_examples(made_up):
    made = made_up(300, 5)
    made.say(range(60), [0, 1, 2, 3])
    made.project.train("smoothed-ridge")
    with Updater(made.project.store, made.project.settings) as updater:
        updater.update()
        before = updater.values
        positive = np.flatnonzero(made.truth[:60, 4] == 1)[:8]
        made.say(positive, [4])
        assert updater.update().tag_ids == (made.tags[4],)
        assert np.array_equal(updater.tag_ids, made.tags)
        assert np.array_equal(updater.values[:, :4], before)
        unseen = np.arange(60, 300)
        ranked = unseen[np.argsort(-updater.values[unseen, 4])][:30]
        assert made.truth[ranked, 4].mean() > 2 * made.truth[unseen, 4].mean()
        assert ((updater.values[:, 4] > 0) & (updater.values[:, 4] < 1)).all()
        made.project.undo()
        assert made.tags[4] in updater.update().tag_ids
        assert np.array_equal(updater.tag_ids, made.tags[:4])
        assert updater.update().tag_ids == ()


def test_a_tag_given_to_many_photos_at_random_is_not_likely_elsewhere(made_up):
    made = made_up(400, 4)
    made.say(range(60), [0, 1, 2])
    made.project.train("harmonic")
    random = np.random.default_rng(0).permutation(np.arange(60, 400))
    given, others = random[:100], random[100:]
    made.project.store.decisions.decide(made.ids[given], made.tags[3], 1)
    with Updater(made.project.store, made.project.settings) as updater:
        before = updater.predictions
        updater.update()
        assert np.array_equal(updater.values[:, :3], before.values)
        # It is on 100 of the 160 photos of which anything was said.
        assert updater.values[others, 3].mean() < 0.7
        assert np.quantile(updater.values[others, 3], 0.9) < 0.85


def test_the_penalty_of_a_stand_in_is_chosen_once(made_up, monkeypatch):
    made = made_up(200, 3)
    made.say(range(50))
    made.project.train("harmonic")
    chosen = []
    real = stored_model.choose_strength
    monkeypatch.setattr(
        stored_model, "choose_strength", lambda X, Y, **more: chosen.append(real(X, Y, **more)) or chosen[-1]
    )
    store, settings = made.project.store, made.project.settings
    for rows, n_chosen in ((range(50, 60), 1), (range(60, 70), 1), (range(70, 140), 2)):  # at last twice as many
        made.say(rows, [1])
        with Updater(store, settings) as updater:
            updater.update()
            updater.save()
        assert len(chosen) == n_chosen
    assert store.suggestions.load().info["strength"] == chosen[-1]


def test_what_is_saved_is_what_the_next_one_starts_from(made_up):
    made = made_up(200, 4)
    made.say(range(40))
    made.project.train("smoothed-ridge")
    made.say(range(40, 45))
    result = made.project.update()
    store = made.project.store
    assert result.model == store.models.active().id
    assert len(result.tag_ids) == 4
    assert made.project.status().n_new_decisions == 0
    stored = store.suggestions.load()
    assert stored.info["model"] == result.model
    with (
        Project.open(made.project.root, flags=made.project.flags) as other,
        Updater(other.store, other.settings) as updater,
    ):
        assert np.array_equal(updater.values, stored.scores)
        assert updater.update().tag_ids == ()
        assert updater.save() is None
        made.say([50], [1])
        assert updater.update().tag_ids == (made.tags[1],)
    # The graph is held by the first model alone.
    holders = [model.settings["holds_graph"] for model in store.models.all()]
    assert holders == [False, True]


def test_a_model_trained_meanwhile_keeps_its_suggestions(made_up):
    made = made_up()
    made.say(range(30))
    with Updater(made.project.store, made.project.settings) as updater:
        updater.update()
        model = made.project.train("ridge").model
        assert updater.save() is None
    assert made.project.store.suggestions.load().info["model"] == model


@pytest.mark.parametrize("method", ["harmonic", "sfss"])
def test_other_models_are_blended_for_changed_tags_only(made_up, method):
    made = made_up(200, 4)
    made.say(range(50))
    made.project.train(method)
    with Updater(made.project.store, made.project.settings) as updater:
        before = updater.values
        assert updater.update().tag_ids == ()
        made.say(range(50, 70), [1])
        assert updater.update().tag_ids == (made.tags[1],)
        assert np.array_equal(updater.values[:, [0, 2, 3]], before[:, [0, 2, 3]])
        hidden = np.arange(70, 200)
        moved = logit(updater.values[hidden, 1]) - logit(before[hidden, 1])
        assert np.abs(moved).max() > 1e-3
        assert np.corrcoef(updater.values[hidden, 1], before[hidden, 1])[0, 1] > 0.5
        model = updater.save()
    assert model == made.project.store.models.active().id
    stored = made.project.store.suggestions.load()
    assert (stored.info["model"], stored.info["method"]) == (model, method)


def test_a_second_session_blends_with_the_model_and_not_with_the_first(made_up):
    made = made_up(200, 3)
    made.say(range(50))
    made.project.train("harmonic")
    store, settings = made.project.store, made.project.settings
    with Updater(store, settings) as whole:
        with Updater(store, settings) as first:
            made.say(range(50, 60), [1])
            first.update()
            first.save()
        made.say(range(60, 70), [1])
        whole.update()
        with Updater(store, settings) as second:
            assert second.update().tag_ids == (made.tags[1],)
            np.testing.assert_allclose(second.values[:, 1], whole.values[:, 1], rtol=1e-3)


def test_a_model_of_scores_tells_probabilities_once_they_can_be_told(made_up):
    made = made_up(200, 3)
    made.say(range(12))
    assert made.project.train("auto").kind == "score"
    with Updater(made.project.store, made.project.settings) as updater:
        made.say([12])
        updater.update()
        assert updater.kind == "score"
        made.say(range(13, 50))
        updater.update()
        assert updater.kind == "probability"
        updater.save()
    assert made.project.store.models.active().settings["method"] == "auto"


def test_looks_move_the_probabilities_of_a_blended_tag(made_up):
    made = made_up(300, 3)
    made.say(range(60))
    made.project.train("harmonic")
    store = made.project.store
    with Updater(store, made.project.settings) as updater:
        open_rows = np.arange(60, 300)
        for row in open_rows[np.argsort(-updater.values[open_rows, 0])][:16]:
            store.decisions.decide([made.ids[row]], [made.tags[0]], [int(made.truth[row, 0])], origin="suggested")
        updater.update()
        left = np.setdiff1d(open_rows, np.flatnonzero(read_labels(store, updater.photo_ids).said[:, 0] != -1))
        expected, actual = updater.values[left, 0].sum(), made.truth[left, 0].sum()
        assert 0.5 * actual < expected < 1.6 * actual


def test_photos_that_came_since_have_every_tag_solved(made_up):
    made = made_up(100, 3)
    made.say(range(40))
    made.project.train("smoothed-ridge")
    made.add_photos(np.abs(np.random.default_rng(1).normal(size=(10, 289))).astype(np.float32))
    with Updater(made.project.store, made.project.settings) as updater:
        assert updater.values.shape == (110, 3)
        assert np.isfinite(updater.values).all()
        assert len(updater.update().tag_ids) == 3
        assert updater.values[100:].std() > 0


def test_readers_never_see_half_of_an_update(made_up):
    made = made_up(200, 3)
    made.say(range(8))
    with Updater(made.project.store, made.project.settings) as updater:
        updater.update()
        seen, stop = [], threading.Event()

        def read():
            while not stop.is_set():
                numbers = updater.predictions
                seen.append(numbers.values.shape == (200, len(numbers.tag_ids)) == (200, len(numbers.thresholds)))

        thread = threading.Thread(target=read)
        thread.start()
        for row in range(8, 14):
            made.project.label(int(made.ids[row]), add=f"new {row}")
            updater.update()
        stop.set()
        thread.join()
        assert len(updater.tag_ids) == 9
        assert seen
        assert all(seen)


def test_without_labels_or_features_there_is_a_sentence(made_up, tmp_path):
    made = made_up()
    with Updater(made.project.store, made.project.settings) as updater, pytest.raises(InvalidInputError, match="label"):
        updater.update()
    (tmp_path / "none").mkdir()
    with Project.init(tmp_path / "none") as project, pytest.raises(PhotosError, match="extract"):
        Updater(project.store, project.settings)
