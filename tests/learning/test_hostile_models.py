"""Model files of a project folder that somebody else has made: one clear error, or a model that starts again."""

import numpy as np
import pytest

from tagloom.exceptions import DamagedStoreError, TagloomError
from tagloom.learning.update import Updater


def change(project, make):
    """Put a changed file in the place of the active model's, registered with the right checksum."""
    store, model = project.store, project.store.models.active()
    arrays, info = store.models.load()
    make(arrays, info)
    number = store.models.save(
        arrays,
        info,
        features=model.features,
        labels_digest=model.labels_digest,
        settings=model.settings,
        run=model.run,
    )
    stored = store.suggestions.load()
    store.suggestions.save(
        stored.photo_ids,
        stored.tag_ids,
        stored.scores,
        thresholds=stored.thresholds,
        run=stored.run,
        info=stored.info | {"model": number},
    )


def replace_array(name, make):
    def act(arrays, info):
        arrays[name] = make(arrays[name])

    return act


def replace_header(name, value):
    def act(arrays, info):
        info["header"][name] = value

    return act


@pytest.mark.parametrize(
    ("method", "make"),
    [
        ("ridge", lambda arrays, info: arrays.pop("coef")),
        ("ridge", replace_array("coef", lambda coef: coef[:-1])),
        ("ridge", replace_array("coef", lambda coef: np.full_like(coef, np.nan))),
        ("ridge", replace_array("intercept", lambda values: values.astype(np.int64))),
        ("ridge", replace_array("map/step_tags", lambda tags: np.full(3, 99))),
        ("ridge", lambda arrays, info: info.pop("header")),
        ("ridge", lambda arrays, info: info.update({"class": "os.system"})),
        ("ridge", lambda arrays, info: info.update(details={"strength": "much"})),
        ("ridge", lambda arrays, info: info["details"].update(strength=-1.0)),
        ("ridge", lambda arrays, info: info["details"]["scaler"]["color"].update(map="eval")),
        ("ridge", lambda arrays, info: info["details"]["scaler"]["color"].update(weight="heavy")),
        ("ridge", lambda arrays, info: info["details"]["scaler"].update(color=None)),
        ("ridge", replace_header("tag_ids", [1, 1, 1])),
        ("ridge", replace_header("tag_ids", [2**80, 1, 2])),
        ("ridge", replace_header("kind", "certainty")),
        ("ridge", replace_header("completeness", None)),
        ("ridge", replace_header("group_sizes", [-5])),
        ("harmonic", replace_array("values", lambda values: values[:, :1])),
        ("harmonic", replace_array("photo_ids", np.zeros_like)),
        ("auto", lambda arrays, info: info.update(details=[1, 2])),
        ("auto", lambda arrays, info: arrays.pop("graph/starts")),
    ],
)
def test_a_hostile_model_is_called_damaged(made_up, method, make):
    made = made_up(60, 3)
    made.say(range(30))
    made.project.train(method)
    change(made.project, make)
    made.add_photos(np.random.default_rng(1).gamma(2.0, size=(2, 289)).astype(np.float32))
    with pytest.raises(DamagedStoreError, match="tagloom train"):
        made.project.score_new()
    with pytest.raises(DamagedStoreError, match="tagloom train"):
        made.project.explain(int(made.ids[50]), "tag 1")
    with Updater(made.project.store, made.project.settings) as updater:  # what can be made again is
        assert len(updater.update().tag_ids) == 3
    made.project.train(method)
    assert made.project.score_new().why_not == ""


@pytest.mark.medium
def test_a_hostile_state_of_the_default_method_leaves_a_ridge(made_up):
    made = made_up(60, 3)
    made.say(range(30))
    made.project.train()
    kept = made.project.store.models.load()
    names = (
        *("auto/model/deviations", "auto/model/left_out", "auto/model/rows/0", "auto/model/targets/rows"),
        *("auto/labels/values", "auto/labels/rows", "auto/views/indices"),
    )
    assert set(names) <= kept[0].keys()
    for name in names:
        for make in (lambda one: one[:-1], lambda one: one // 2 * 100 - 50, lambda one: one.astype(np.float64)[None]):
            change(made.project, replace_array(name, make))
            try:
                found = made.project.explain(int(made.ids[50]), "tag 1")
            except TagloomError:
                continue
            assert np.isfinite(found.score)
        change(made.project, lambda arrays, info: (arrays.clear(), arrays.update(kept[0])))
    for part in ("shape", "views", "model", "rest", "parameters", "groups"):
        for value in (None, {"array": "missing"}, {"mapping": [["_finish", 3]]}):
            change(made.project, lambda arrays, info, part=part, value=value: info["details"].update({part: value}))
            found = made.project.explain(int(made.ids[50]), "tag 1")
            assert np.isfinite(found.score)
            change(made.project, lambda arrays, info: info.update(details=kept[1]["details"]))
