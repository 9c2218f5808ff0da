"""Suggestions before any photo is labelled, and what the first labels make of them."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError, LabelsFileError, StoreError
from tagloom.features.network.everyday import EVERYDAY_WORDS
from tagloom.features.network.words import word_log_odds, word_weights
from tagloom.learning.explain import ProjectExplainer
from tagloom.learning.first import everyday_words, needs_first, read_vocabulary
from tagloom.learning.labels import read_labels
from tagloom.learning.names import Sight
from tagloom.learning.stored_model import AutoModel, NameModel, load_model
from tagloom.learning.update import Updater
from tagloom.metrics import average_precision
from tests.made_named import N_NEW, Made, N


@pytest.fixture
def made(tmp_path):
    found = Made(tmp_path, tags=())
    yield found
    found.project.close()


def stored_of(made):
    stored = made.project.store.suggestions.load()
    return stored, made.project.store.tags.texts(stored.tag_ids)


def test_everyday_words_are_known():
    assert word_weights(EVERYDAY_WORDS).known.all()
    assert len(set(EVERYDAY_WORDS)) == len(EVERYDAY_WORDS) > 200


def test_an_untouched_project_has_suggestions_of_what_its_photos_show(made):
    assert needs_first(made.project.store)
    found = made.project.suggest_first()
    assert found.source == "everyday"
    tags = {one.tag: one for one in found.tags}
    assert {"zebra", "volcano"} <= set(tags)
    seen = made.truth[:N, 0] * (made.X[:N, 1280:].max(axis=1) > 0.3)
    assert tags["zebra"].n_photos == pytest.approx(seen.sum(), rel=0.5)
    rows = made.project.suggest(n=1)
    assert len(rows) == N
    assert {row.kind for row in rows} == {"score"}


def test_a_vocabulary_is_what_is_suggested(made):
    found = made.project.suggest_first(["Zebra", "Animals|Pizza", "Anna", "zebra"])
    assert found.source == "vocabulary"
    assert {one.tag for one in found.tags} == {"Zebra", "Animals|Pizza", "Anna"}
    assert found.unknown == ("Anna",)
    stored, tags = stored_of(made)
    values = stored.scores[:, tags.index("Zebra")]
    expected = 1.0 / (1.0 + np.exp(-word_log_odds(made.X[:N, 1280:], ["zebra"])[:, 0]))
    np.testing.assert_allclose(values, expected, atol=1e-6)
    assert (stored.scores[:, tags.index("Anna")] == 0.0).all()
    assert average_precision(made.truth[:N, [0]], values[:, None])[0] > 0.7


def test_the_tags_of_a_project_come_before_everyday_words(made):
    tags = made.project.store.tags.add(["volcanoes"])
    made.project.store.tags.alias("Vulkan", int(tags[0]))
    found = made.project.suggest_first()
    assert (found.source, [one.tag for one in found.tags]) == ("tags", ["volcanoes"])


def test_nothing_leaves_the_project_by_default(made, tmp_path):
    made.project.suggest_first(["Zebra"])
    done = made.project.export(tmp_path / "out.csv")
    assert done.n_suggested == 0
    assert "not calibrated" in done.withheld
    assert made.project.export(tmp_path / "all.csv", uncalibrated=True).n_suggested > 0
    assert made.project.write(dry_run=True, accepted_only=False).n_suggested == 0


def test_new_photos_are_suggested_by_name_too(made):
    made.project.suggest_first(["Zebra"])
    made.add(N, N + N_NEW)
    assert made.project.score_new().n_scored == N_NEW
    stored, _ = stored_of(made)
    assert average_precision(made.truth[N:, [0]], stored.scores[N:])[0] > 0.5


def test_an_explanation_without_labels_names_what_the_network_sees(made):
    made.project.suggest_first(["Zebra"])
    stored, _ = stored_of(made)
    row = int(np.argmax(stored.scores[:, 0]))
    found = ProjectExplainer(made.project.store, made.project.settings).explain(int(made.ids[row]), "Zebra")
    assert found.seen[0].name == "zebra"
    assert found.value == pytest.approx(stored.scores[row, 0])
    assert found.by_name > 1.0


def test_the_first_labels_keep_the_other_suggestions(made):
    made.project.suggest_first(["Zebra", "volcano", "pizza"])
    stored, texts = stored_of(made)
    tag = int(stored.tag_ids[texts.index("Zebra")])
    chosen = [int(np.flatnonzero(made.truth[:N, 0] == 1)[0]), int(np.flatnonzero(made.truth[:N, 0] == 0)[0])]
    with Updater(made.project.store, made.project.settings) as updater:
        assert isinstance(updater.model, NameModel)
        made.project.store.decisions.decide(made.ids[chosen], np.full(2, tag), np.array([1, 0]))
        updater.update()
        assert isinstance(updater.model, AutoModel)
        assert set(updater.tag_ids.tolist()) == set(stored.tag_ids.tolist())
        columns = [list(updater.tag_ids).index(stored.tag_ids[texts.index(name)]) for name in ("volcano", "pizza")]
        found = average_precision(made.truth[:N, [3, 1]], updater.values[:, columns])
        assert found.min() > 0.6
        assert np.isfinite(updater.thresholds).all()
        made.project.store.decisions.decide(made.ids[chosen], np.full(2, stored.tag_ids[columns[0]]), np.array([1, 0]))
        updater.update()
        assert len(updater.tag_ids) == 3
        assert updater.save() is not None
    assert isinstance(load_model(made.project.store, made.project.store.models.active()), AutoModel)


def test_training_keeps_a_vocabulary_that_was_given_and_no_everyday_words(made):
    made.project.suggest_first(["Zebra", "volcano"])
    stored, texts = stored_of(made)
    tag = int(stored.tag_ids[texts.index("Zebra")])
    made.project.store.decisions.decide(made.ids[:30], np.full(30, tag), made.truth[:30, 0])
    made.project.train()
    trained, now = stored_of(made)
    assert set(now) == {"Zebra", "volcano"}
    values = trained.scores[30:, [now.index("volcano")]]
    assert average_precision(made.truth[30:N, [3]], values)[0] > 0.6
    assert not needs_first(made.project.store)
    with pytest.raises(StoreError, match="has labels or a model already"):
        made.project.suggest_first(["pizza"])


def test_everyday_words_end_with_training(made):
    made.project.suggest_first()
    stored, texts = stored_of(made)
    tag = int(stored.tag_ids[texts.index("zebra")])
    made.project.store.decisions.decide(made.ids[:30], np.full(30, tag), made.truth[:30, 0])
    made.project.train()
    assert stored_of(made)[1] == ["zebra"]


def test_of_words_for_the_same_photos_one_is_kept(made):
    found = everyday_words(Sight(made.X[:N, 1280:]), ["volcano", "zebra", "zebras"])
    assert sorted(found) in (["volcano", "zebra"], ["volcano", "zebras"])


def test_without_the_networks_classes_there_is_a_message(made_up):
    made = made_up(20)
    with pytest.raises(StoreError, match="the feature group 'semantic'"):
        made.project.suggest_first(["zebra"])


def test_names_that_say_nothing_alone_have_a_message(made):
    with pytest.raises(StoreError, match="knows none of these names"):
        made.project.suggest_first(["Anna", "2019"])


def test_a_vocabulary_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("# mine\nZebra\n\n  dog  \nzebra\nAnimals|Cat\n", encoding="utf-8")
    assert [tag.casefold() for tag in read_vocabulary(path)] == ["zebra", "dog", "animals|cat"]
    path.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="names no tag"):
        read_vocabulary(path)
    with pytest.raises(LabelsFileError):
        read_vocabulary(tmp_path / "none.txt")


@pytest.mark.parametrize("stored", [7, [1], {"tags": 3, "to_train": True}, {"tags": ["x", 999], "to_train": True}])
def test_what_a_strange_project_offers_is_ignored(made, stored):
    tag = int(made.project.store.tags.add(["Zebra"])[0])
    made.project.store.settings.set("offered_tags", stored)
    made.project.store.decisions.decide(made.ids[:30], np.full(30, tag), made.truth[:30, 0])
    assert read_labels(made.project.store, made.ids).tags == ["Zebra"]
