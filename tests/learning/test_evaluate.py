"""Evaluations of a project, on made-up scenes with cheap features."""

import json
import shutil

import numpy as np
import pytest

from tagloom.catalog.extraction import load_rows
from tagloom.datasets import write_scenes
from tagloom.exceptions import InvalidInputError
from tagloom.features.scaling import GroupScaler
from tagloom.learning.methods import get_learner
from tagloom.metrics import average_precision
from tagloom.project.project import Project
from tagloom.tuning.evaluation.evaluation import deal_folds, score_held_out

pytestmark = pytest.mark.medium

LIGHT = {"descriptors": "color,edges", "n_workers": 1, "n_threads": 1, "n_neighbors": 5, "method": "ridge"}


def make_photos(folder, n):
    write_scenes(folder, n, size=(96, 64), labeled=0.6, random_state=0)
    with Project.init(folder, flags=LIGHT) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        project.extract()
    return folder


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return make_photos(tmp_path_factory.mktemp("scenes") / "photos", 40)


@pytest.fixture(scope="module")
def many_photos(tmp_path_factory):
    """Make photos enough for a share of right suggestions that is more than chance."""
    return make_photos(tmp_path_factory.mktemp("scenes") / "photos", 120)


def test_figures_of_a_project(photos):
    with Project.open(photos, flags=LIGHT) as project:
        found = project.evaluate(folds=4, n_more=10)
        assert project.store.models.active() is None
        with project.store.cache() as cache:
            rows = load_rows(project.store, cache, project.settings)
        _, tag_ids, Y = project.store.decisions.labels(rows.ids)
        tags = project.store.tags.texts(tag_ids)
    assert (found.method, found.folds, found.n_photos, found.n_labeled) == ("ridge", 4, 40, 24)
    assert found.map_low < found.map < found.map_high
    X = GroupScaler(rows.groups).fit_transform(rows.X)
    held_out = score_held_out(get_learner("ridge").make(5, rows.groups), X, Y, deal_folds(X, Y, 4, 0))
    figures = dict(zip(tags, average_precision(held_out.labels, held_out.scores), strict=True))
    assert {one.tag for one in found.tags} == set(tags)
    for one in found.tags:
        if one.average_precision is None:
            assert np.isnan(figures[one.tag])
        else:
            assert one.average_precision == pytest.approx(figures[one.tag])
            assert one.low <= one.high
    shown = [one.average_precision for one in found.tags if one.average_precision is not None]
    assert shown == sorted(shown, reverse=True)
    assert len(found.curve) == 4
    assert found.curve[-1].map == pytest.approx(found.map)
    assert found.forecast.n_more == 10
    assert {one.name for one in found.groups} == set(rows.groups.names)
    assert sum(item.count for item in found.reliability) > 0
    text = json.dumps(found.as_dict(), allow_nan=False)
    assert json.loads(text)["forecast"]["n_more"] == 10


@pytest.mark.parametrize("method", ["ridge", "auto"])
def test_suggestions_are_accepted_as_in_training(many_photos, method):
    with Project.open(many_photos, flags=LIGHT | {"precision": 0.8}) as project:
        found = project.evaluate(method, folds=4, curve=False, groups=False)
    assert found.wanted_precision == 0.8
    assert found.n_accepted > 50
    assert 0.5 <= found.threshold < 1.0
    assert found.precision_low < found.precision <= found.precision_high
    assert found.precision_low < 0.8 < found.precision_high


def test_of_too_few_labels_each_tag_has_its_own_threshold(photos, tmp_path):
    with Project.open(shutil.copytree(photos, tmp_path / "photos"), flags=LIGHT) as project:
        project.undo()
        project.label(project.store.photos.table().ids[:6].tolist(), add=["x"])
        project.label(project.store.photos.table().ids[6:12].tolist(), remove=["x"])
        found = project.evaluate("ridge", folds=3, curve=False, groups=False)
    assert (found.wanted_precision, found.threshold) == (None, None)


def test_parts_can_be_left_out(photos):
    with Project.open(photos, flags=LIGHT) as project:
        found = project.evaluate("neighbors", folds=3, curve=False, groups=False)
    assert (found.method, found.curve, found.forecast, found.groups) == ("neighbors", (), None, ())


def test_groups_are_compared_for_the_method_that_chooses_too(photos):
    with Project.open(photos, flags=LIGHT) as project:
        found = project.evaluate("auto", folds=2, curve=False)
    assert found.method == "auto"
    assert {one.name for one in found.groups} == {"color", "edges"}
    assert all(one.low <= one.gain <= one.high and 0.0 < one.alone < 1.0 for one in found.groups)


def test_nothing_said_nothing_measured(photos, tmp_path):
    copy = tmp_path / "photos"
    shutil.copytree(photos, copy, ignore=shutil.ignore_patterns(".tagloom"))
    with Project.init(copy, flags=LIGHT) as project:
        project.scan()
        with pytest.raises(InvalidInputError, match="tagloom import"):
            project.evaluate()
