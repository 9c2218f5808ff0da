"""A project with an encoder that reads: suggestions before anything is labelled, training, search and explanations."""

import numpy as np
import pytest
from PIL import Image

from tagloom.learning.explain import ProjectExplainer
from tagloom.project.project import Project
from tests.made_towers import write_export, write_settings

TAGS = ("red", "green", "blue")
N = 30


@pytest.fixture
def project(tmp_path, tokenizers):
    generator = np.random.default_rng(0)
    folder = tmp_path / "photos"
    folder.mkdir()
    for place in range(N):
        pixels = generator.integers(0, 60, (32, 32, 3), dtype=np.uint8)
        pixels[..., place % 3] += 160
        Image.fromarray(pixels).save(folder / f"{place:03d}.png")
    settings = write_settings(write_export(tmp_path / "export"))
    flags = {"descriptors": "deep", "encoder": str(settings), "n_workers": 1, "n_threads": 1}
    found = Project.init(folder, flags=flags)
    found.scan()
    yield found
    found.close()


def best(project, tag):
    """Return the numbers of the photos that a tag is likeliest for."""
    stored, texts = project.store.suggestions.load(), project.store.tags
    column = list(stored.tag_ids).index(texts.add([tag])[0])
    order = np.argsort(-stored.scores[:, column], kind="stable")
    return {int(place) % 3 for place in order[: N // 3]}


def test_words_speak_before_and_beside_labels(project):
    first = project.suggest_first(list(TAGS))
    assert first.source == "vocabulary"
    assert not first.unknown
    assert [best(project, tag) for tag in TAGS] == [{0}, {1}, {2}]
    found = project.search("red", n=5)
    assert {int(photo.photo[:3]) % 3 for photo in found.photos} == {0}
    assert {match.by for photo in found.photos for match in photo.matches} <= {"network", "suggestion", "tag"}
    store = project.store
    ids, tags = store.photos.table().ids, store.tags.add(list(TAGS))
    store.decisions.decide(np.repeat(ids[:6], 3), np.tile(tags, 6), np.tile(np.eye(3, dtype=np.int8), (2, 1)).ravel())
    project.train()
    assert [best(project, tag) for tag in TAGS] == [{0}, {1}, {2}]
    explained = ProjectExplainer(store, project.settings).explain(int(ids[9]), "red")
    assert explained.by_name is not None
    assert explained.seen


def test_a_sentence_is_compared_as_one(project):
    project.extract()
    assert project.search("red photo", n=3).terms == ("red photo",)
    assert project.search("002 red", n=3).terms == ("002", "red")
