"""What a project makes of its tags' names: in training, for new photos, in updates, explained, and from its file."""

from dataclasses import replace

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.features import get_descriptor
from tagloom.features.network.words import class_names, word_log_odds
from tagloom.learning.explain import ProjectExplainer
from tagloom.learning.labels import read_labels
from tagloom.learning.names import Sight, class_probabilities, given_by_names
from tagloom.learning.stored_model import load_model
from tagloom.learning.update import Updater
from tests.made_named import N_NEW, TAGS, Made, N


@pytest.fixture
def made(tmp_path):
    found = Made(tmp_path)
    yield found
    found.project.close()


def test_a_tag_without_examples_is_suggested_by_its_name(made):
    truth = made.truth.copy()
    made.truth[:40, 0] = 0
    made.say(np.arange(40))
    made.project.train()
    made.truth = truth
    assert made.quality(0) > 0.7


def test_a_project_trains_with_log_odds_of_the_names(made):
    made.say(np.arange(40))
    made.project.train()
    store = made.project.store
    model = load_model(store, store.models.active(), n_threads=1)
    annotator = model.restored(made.rows())
    assert model.header.names == tuple((tag,) for tag in TAGS)
    expected = word_log_odds(made.X[:N, 1280:], TAGS).astype(np.float16)
    np.testing.assert_array_equal(annotator._given, expected)
    assert annotator.given_member_.weights()[2] == 0.0
    assert annotator.given_member_.weights().max() > 0.0


def test_an_alias_speaks_for_a_name_that_says_nothing(made):
    made.project.store.tags.alias("zebra crossing horse", int(made.tags[2]))
    made.say(np.arange(40))
    labels = read_labels(made.project.store, made.ids)
    assert labels.names[2] == ("Anna", "zebra crossing horse")
    sight = Sight(made.X[:, 1280:])
    assert sight.telling_name(["Anna", "Pferd", "horse"]) == "horse"
    assert sight.telling_name(["Anna", "2019"]) == "Anna"


def test_new_photos_are_scored_with_names(made):
    truth = made.truth.copy()
    made.truth[:40, 0] = 0
    made.say(np.arange(40))
    made.truth = truth
    made.project.train()
    made.add(N, N + N_NEW)
    assert made.project.score_new().n_scored == N_NEW
    assert made.quality(0, slice(N, N + N_NEW)) > 0.7


def test_an_update_keeps_names_and_takes_those_of_new_tags(made):
    made.say(np.arange(40), [0, 1, 2])
    made.project.train()
    made.say(np.arange(30), [3])
    with Updater(made.project.store, made.project.settings) as updater:
        updater.update()
        annotator = updater.model._annotator
        assert annotator is not None
        expected = word_log_odds(made.X[:N, 1280:], TAGS).astype(np.float16)
        at = [TAGS.index(text) for text in made.project.store.tags.texts(updater.tag_ids)]
        np.testing.assert_allclose(annotator._given, expected[:, at], atol=0.02)
        assert updater.save() is not None
    assert made.quality(3) > 0.5


def test_an_explanation_names_what_the_network_sees(made):
    made.say(np.arange(40))
    made.project.train()
    row = int(np.flatnonzero(made.truth[40:N, 0] & (made.X[40:N, 1280 + class_names().index("zebra")] > 0.6))[0]) + 40
    explainer = ProjectExplainer(made.project.store, made.project.settings)
    found = explainer.explain(int(made.ids[row]), "Zebra")
    assert found.seen[0].name == "zebra"
    assert found.seen[0].amount == pytest.approx(made.X[row, 1280 + class_names().index("zebra")])
    assert found.by_name > 0.0
    assert explainer.explain(int(made.ids[row]), "Anna").by_name is None
    stored = made.project.store.suggestions.load()
    assert found.photos_exact
    assert found.value == pytest.approx(stored.scores[row, list(stored.tag_ids).index(made.tags[0])])


def test_evaluation_knows_the_names(made):
    # What no example shows, names do: the embedding is noise.
    made.X[:, :1280] = np.random.default_rng(3).gamma(1.0, size=(len(made.X), 1280))
    store = made.project.store
    with store.lock(), store.cache() as cache:
        cache.put(get_descriptor("deep").key, [f"{number + 1:064x}" for number in range(N)], made.X[:N])
    made.say(np.arange(60), [0, 2])
    found = {tag.tag: tag.average_precision for tag in made.project.evaluate(curve=False, groups=False).tags}
    assert found["Zebra"] > 0.75 > 0.6 > found["Anna"]


def test_a_model_without_names_in_its_file_still_scores(made):
    made.say(np.arange(40))
    made.project.train()
    store = made.project.store
    model = load_model(store, store.models.active(), n_threads=1)
    rows = made.rows()
    new = replace(rows, ids=np.arange(N_NEW), X=made.X[N:])
    with_names = model.score(new, lambda _: rows)
    model.header = replace(model.header, names=())
    without = model.score(new, lambda _: rows)
    assert with_names.shape == without.shape
    assert not np.array_equal(with_names, without)


def test_features_without_the_networks_classes_have_no_names():
    X = np.zeros((3, 1000), dtype=np.float32)
    assert class_probabilities(X, FeatureGroups(["deep"], [1000])) is None
    assert class_probabilities(X, FeatureGroups(["semantic", "color"], [900, 100])) is None
    assert given_by_names(None, [("zebra",)]) is None
    assert given_by_names(Sight(X), [("Anna",), ("2019",)]) is None
