"""A network's embedding has its role whatever it is called; the oracle is the same features under the name "deep"."""

import json

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.features import GroupScaler
from tagloom.metrics import average_precision
from tagloom.tuning import AutoAnnotator
from tagloom.tuning.auto.views import default_views, shares_of


def make_problem():
    rng = np.random.default_rng(0)
    truth = (rng.random((160, 6)) < 0.3).astype(np.int8)
    X = np.abs(truth @ rng.standard_normal((6, 20)) + rng.standard_normal((160, 20)))
    Y = truth.copy()
    Y[50:] = -1
    return X, Y, truth


@pytest.mark.parametrize("others", [["color", "edges"], ["semantic", "color"], []])
def test_the_same_features_under_another_name_are_as_good(others):
    X, Y, truth = make_problem()
    sizes = [20 - 4 * len(others), *[4] * len(others)]
    found = []
    for name, embeddings in (("deep", ()), ("my-clip", ("my-clip",))):
        annotator = AutoAnnotator(FeatureGroups([name, *others], sizes, embeddings), random_state=0).fit(X, Y)
        found.append(average_precision(truth[50:], annotator.transduction_[50:]).mean())
        names = [view["view"] for view in annotator.choice_["members"]]
        assert "deep" in names or not others
    assert found[0] == pytest.approx(found[1], abs=1e-3)


def test_a_scaler_weighs_it_as_deep():
    X, _, _ = make_problem()
    deep = GroupScaler(FeatureGroups(["deep", "color"], [16, 4])).fit_transform(X)
    own = GroupScaler(FeatureGroups(["my-clip", "color"], [16, 4], ["my-clip"])).fit_transform(X)
    np.testing.assert_array_equal(own, deep)


def test_several_share_the_role():
    groups = FeatureGroups(["one", "two", "color"], [8, 8, 4], ["two", "one"])
    assert groups.embeddings == ("one", "two")
    assert shares_of(groups.embeddings) == {"semantic": 0.15, "one": 0.25, "two": 0.25}
    scaler = GroupScaler(groups).fit(make_problem()[0])
    assert scaler.choices_["one"]["weight"] == scaler.choices_["two"]["weight"] == pytest.approx(0.275 / 0.65)
    (deep,) = [view for view in default_views(groups.names, groups.embeddings) if view.name == "deep"]
    assert deep.weights == {"one": 0.5, "two": 0.5}


def test_the_role_is_kept():
    X, Y, _ = make_problem()
    groups = FeatureGroups(["my-clip", "color"], [16, 4], ["my-clip"])
    assert groups.select(["color", "my-clip"])[0].embeddings == ("my-clip",)
    assert groups != FeatureGroups(["my-clip", "color"], [16, 4])
    annotator = AutoAnnotator(groups, random_state=0).fit(X, Y)
    arrays, info = annotator.state()
    back = AutoAnnotator.restore(X, arrays, json.loads(json.dumps(info)))
    assert back.groups.embeddings == ("my-clip",)
    np.testing.assert_allclose(back.probabilities_, annotator.probabilities_, atol=1e-9)


def test_an_embedding_has_to_be_a_group():
    with pytest.raises(InvalidInputError, match="embeddings must be among the groups"):
        FeatureGroups(["color"], [4], ["my-clip"])
