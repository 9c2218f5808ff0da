"""What the review page shows of tags: which are listed, and the names of those that are not."""

import os

import numpy as np
import pytest

from tagloom.datasets import write_scenes
from tagloom.project.project import Project
from tagloom.review.session import ReviewSession


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "photos"
    write_scenes(folder, 4, size=(48, 32), labeled=0.5, random_state=0)
    with Project.init(folder, flags={"n_workers": 1, "n_threads": 1}) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        yield project


def test_tags_in_use_are_listed_and_others_keep_their_names(project):
    store = project.store
    with ReviewSession(project, with_looks=False) as session:

        def listed():
            return {item["text"] for item in session.overview()["tags"] if item["listed"]}

        def known():
            return {item["id"]: item["text"] for item in session.overview()["tags"]}

        photo, before = int(session.photos.ids[0]), listed()
        assert before == {item.text for item in store.tags.all() if item.n_yes + item.n_no}
        assert before
        number = session.add_tag("zzyx")["id"]
        assert (listed(), known()[number]) == (before, "zzyx")
        session.decide([photo], [number], 0)  # "has it not" is a decision, too
        assert listed() == before | {"zzyx"}
        session.undo()
        assert (listed(), known()[number]) == (before, "zzyx")
        session.redo()
        assert listed() == before | {"zzyx"}
        session.decide([photo], [number], -1)
        assert listed() == before
        session.change_tag(number, "alias", "zzy")
        assert listed() == before | {"zzyx"}
        session.undo()
        assert listed() == before
        session.change_tag(number, "parent", next(other for other in known() if other != number))
        assert listed() == before | {"zzyx"}


def test_a_tag_that_is_suggested_is_listed_whatever_stands(project):
    with ReviewSession(project, with_looks=False) as session:
        state = session.state
        number = session.add_tag("only suggested")["id"]
        values = np.full((len(session.photos), 1), 0.9, dtype=np.float32)
        for limit, is_listed in ((0.5, True), (0.95, False)):
            state.set_values(session.photos.ids, np.asarray([number]), values, np.asarray([limit]), kind="probability")
            (found,) = (item for item in session.overview()["tags"] if item["id"] == number)
            assert found["listed"] is is_listed


def test_a_tag_of_photos_that_are_gone_is_listed(project):
    photos = project.store.photos.table()
    photo = int(photos.ids[0])
    project.label([photo], add=["only there"])
    os.unlink(project.root / os.fsdecode(photos.paths[0]))
    project.scan()
    with ReviewSession(project, with_looks=False) as session:
        assert photo not in session.photos.ids
        (found,) = (item for item in session.overview()["tags"] if item["text"] == "only there")
    assert (found["listed"], found["n_yes"]) == (True, 0)


def test_counts_are_those_of_the_list_of_tags_implications_included(project):
    one, other = (item.id for item in project.tags()[:2])
    project.store.tags.imply(one, other)
    project.store.decisions.decide(project.store.photos.table().ids, one, 1)
    project.store.decisions.decide(project.store.photos.table().ids, other, -1)
    stored = {item.id: (item.n_yes, item.n_no) for item in project.tags()}
    assert stored[other] == stored[one] == (4, 0)
    with ReviewSession(project, with_looks=False) as session:
        shown = {item["id"]: (item["n_yes"], item["n_no"]) for item in session.overview()["tags"] if item["listed"]}
    assert shown == stored
