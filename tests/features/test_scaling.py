import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from tagloom import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.features import GroupScaler

GROUPS = FeatureGroups(["deep", "moments", "mine"], [6, 4, 3])


@pytest.fixture
def X():
    generator = np.random.default_rng(0)
    return np.hstack(
        [
            generator.exponential(size=(40, 6)),
            generator.normal([100, -5, 0, 3], [20, 1, 5, 0.1], size=(40, 4)),
            generator.uniform(size=(40, 3)),
        ]
    ).astype(np.float32)


def test_inner_products_are_a_weighted_sum_of_group_kernels(X):
    weights = {"deep": 3, "moments": 1, "mine": 0.5}
    Z = GroupScaler(GROUPS, weights=weights).fit_transform(X)
    expected = (
        3 * cosine_similarity(np.sqrt(X[:, :6]))
        + cosine_similarity(StandardScaler().fit_transform(X[:, 6:10].astype(float)))
        + 0.5 * cosine_similarity(np.sqrt(X[:, 10:]))
    ) / 4.5
    np.testing.assert_allclose(Z @ Z.T, expected, atol=2e-6)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, atol=1e-6)


def test_choices_are_recorded(X):
    scaler = GroupScaler(GROUPS).fit(X)
    assert json.loads(json.dumps(scaler.choices_)) == scaler.choices_
    assert {name: choice["map"] for name, choice in scaler.choices_.items()} == {
        "deep": "root",
        "moments": "standardize",
        "mine": "root",
    }
    got = [choice["weight"] for choice in scaler.choices_.values()]
    np.testing.assert_allclose(got, np.array([0.55, 0.1, 0.1]) / 0.75)
    assert list(scaler.means_) == list(scaler.scales_) == ["moments"]


def test_default_weights_are_those_of_the_joined_kernel():
    groups = FeatureGroups(["deep", "semantic", "color", "moments", "edges"], [1] * 5)
    scaler = GroupScaler(groups).fit(np.ones((2, 5), dtype=np.float32))
    weights = [choice["weight"] for choice in scaler.choices_.values()]
    np.testing.assert_allclose(weights, [0.55, 0.15, 0.1, 0.1, 0.1])


def test_rows_are_scaled_by_what_was_learned(X):
    scaler = GroupScaler(GROUPS).fit(X[:30])
    whole = scaler.transform(X)
    np.testing.assert_array_equal(scaler.transform(X[30:]), whole[30:])
    np.testing.assert_array_equal(scaler.transform(X[35:36]), whole[35:36])


def test_many_rows_equal_few(X, monkeypatch):
    expected = GroupScaler(GROUPS).fit_transform(X)
    monkeypatch.setattr("tagloom.features.scaling._CHUNK_ROWS", 7)
    np.testing.assert_allclose(GroupScaler(GROUPS).fit_transform(X), expected, atol=1e-6)


def test_float64_gives_the_same(X):
    np.testing.assert_allclose(
        GroupScaler(GROUPS).fit_transform(X.astype(np.float64)), GroupScaler(GROUPS).fit_transform(X), atol=1e-6
    )


def test_a_negative_value_in_a_new_photo(X):
    scaler = GroupScaler(GROUPS).fit(X)
    new = X[:1].copy()
    new[0, 0] = -4.0
    row = scaler.transform(new)[0]
    assert row[0] < 0
    assert row[0] / row[1] == pytest.approx(-2 / np.sqrt(new[0, 1]), rel=1e-5)


@pytest.mark.parametrize("value", [0.0, 1e-30, 0.1, 1e30])
def test_constant_columns_zero_rows_and_extremes_stay_finite(value):
    X = np.full((5, 13), value, dtype=np.float32)
    X[:, 6] = -0.1  # a constant group with a negative column is standardised, hence zero
    Z = GroupScaler(GROUPS).fit_transform(X)
    assert np.isfinite(Z).all()
    assert not Z[:, 6:10].any()
    if value == 0:
        assert not Z.any()
    else:
        np.testing.assert_allclose(np.linalg.norm(Z[:, :6], axis=1) ** 2, 0.55 / 0.75, rtol=1e-5)


def test_one_photo(X):
    assert np.isfinite(GroupScaler(GROUPS).fit_transform(X[:1])).all()


def test_a_weight_of_zero_drops_a_group(X):
    Z = GroupScaler(GROUPS, weights={"deep": 1, "moments": 0, "mine": 0}).fit_transform(X)
    assert not Z[:, 6:].any()
    np.testing.assert_allclose(Z[:, :6], np.sqrt(X[:, :6]) / np.sqrt(X[:, :6].sum(axis=1, keepdims=True)), atol=1e-6)


@pytest.mark.parametrize(
    "weights",
    [
        {"deep": 1},
        {"deep": 1, "moments": 1, "mine": 1, "other": 1},
        {"deep": -1, "moments": 1, "mine": 1},
        {"deep": 0, "moments": 0, "mine": 0},
        {"deep": np.nan, "moments": 1, "mine": 1},
    ],
)
def test_weights_are_checked(X, weights):
    with pytest.raises(InvalidInputError, match="weight"):
        GroupScaler(GROUPS, weights=weights).fit(X)


def test_shapes_and_values_are_checked(X):
    with pytest.raises(InvalidInputError, match="13 columns"):
        GroupScaler(GROUPS).fit(X[:, :12])
    with pytest.raises(ValueError, match="NaN"):
        GroupScaler(GROUPS).fit(np.where(X[3, 3] == X, np.nan, X))
    with pytest.raises(NotFittedError):
        GroupScaler(GROUPS).transform(X)


def test_scikit_learn_conventions(X):
    scaler = GroupScaler(GROUPS, weights={"deep": 1, "moments": 1, "mine": 1})
    # `clone` copies parameters, so equal rather than identical groups come out.
    assert clone(scaler).get_params() == scaler.get_params()
    pipeline = make_pipeline(FunctionTransformer(), GroupScaler()).fit(X)
    assert pipeline.transform(X).shape == X.shape
    assert pipeline[-1].choices_ == {"features": {"map": "standardize", "weight": 1.0}}
