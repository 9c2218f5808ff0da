import numpy as np
import pytest

from tagloom.exceptions import DamagedStoreError, InvalidInputError, StoreError


def _save(store, value, **options):
    return store.models.save(
        {"coef": np.full((2, 3), value)},
        {"tags": ["a"], "value": value},
        features=[["deep", 3]],
        labels_digest="00",
        settings={"method": "SFSS"},
        **options,
    )


def test_models_swap_in(store):
    with pytest.raises(StoreError, match="train one first"):
        store.models.load()
    assert store.models.active() is None
    run = store.runs.start("train", {})
    first, second = _save(store, 1.0, run=run), _save(store, 2.0)
    third = _save(store, 3.0, activate=False)
    assert store.models.active().id == second
    arrays, info = store.models.load()
    assert info == {"tags": ["a"], "value": 2.0}
    np.testing.assert_array_equal(arrays["coef"], np.full((2, 3), 2.0))
    store.models.activate(first)
    model = store.models.active()
    assert (model.id, model.run, model.features, model.settings) == (first, run, [["deep", 3]], {"method": "SFSS"})
    with pytest.raises(InvalidInputError, match="no model"):
        store.models.activate(99)
    assert store.models.active().id == first
    assert store.models.load(third)[1]["value"] == 3.0
    with pytest.raises(StoreError, match="no model has id 99"):
        store.models.load(99)
    assert [item.id for item in store.models.all()] == [third, second, first]
    assert store.check(checksums=True) == []


def test_old_models_go_and_the_active_one_stays(store):
    first = _save(store, 1.0)
    others = [_save(store, float(value), activate=False, n_kept=3) for value in range(2, 8)]
    assert [item.id for item in store.models.all()] == [*others[:-4:-1], first]
    assert store.models.load()[1]["value"] == 1.0
    assert len(list((store.folder / "models").iterdir())) == 4
    assert store.check(checksums=True) == []


def test_a_model_that_cannot_be_written_leaves_the_old_one(store):
    first = _save(store, 1.0)
    with pytest.raises(InvalidInputError):
        store.models.save({"x": np.array(["a"])}, {}, features=[], labels_digest="", settings={})
    with pytest.raises(InvalidInputError):
        store.models.save({"x": np.ones(1)}, {}, features=object(), labels_digest="", settings={})
    assert store.models.active().id == first
    assert [finding.kind for finding in store.check()] == ["orphan"]
    store.repair()
    assert store.check(checksums=True) == []
    assert store.models.load()[1]["value"] == 1.0


def test_suggestions(store):
    assert store.suggestions.load() is None
    rng = np.random.default_rng(0)
    for number in range(4):
        scores = rng.random((12, 4), dtype=np.float32)
        run = store.runs.start("suggest", {"n": number})
        store.suggestions.save(
            np.arange(1, 13), [1, 2, 3, 4], scores, thresholds=0.5, run=run, info={"scale": "probability"}
        )
    found = store.suggestions.load()
    np.testing.assert_array_equal(found.scores, scores)
    np.testing.assert_array_equal(found.thresholds, [0.5] * 4)
    assert (found.run, found.info) == (run, {"scale": "probability"})
    assert len(list((store.folder / "suggestions").iterdir())) == 2
    assert store.suggestions.load(3).run == 3
    with pytest.raises(InvalidInputError, match="newer ones"):
        store.suggestions.load(1)
    with pytest.raises(InvalidInputError, match=r"floats of shape \(12, 3\)"):
        store.suggestions.save(np.arange(12), [1, 2, 3], scores)
    file = next((store.folder / "suggestions").iterdir())
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DamagedStoreError):
        [store.suggestions.load(number) for number in (3, 4)]


def test_old_suggestions_stay_if_the_transaction_around_fails(store):
    for _ in range(2):
        store.suggestions.save([1], [1], np.ones((1, 1)))

    def fail():
        with store.transaction():
            store.suggestions.save([1], [1], np.zeros((1, 1)))
            store.models.activate(99)

    with pytest.raises(InvalidInputError):
        fail()
    assert store.suggestions.load(1).scores[0, 0] == 1.0
    assert store.suggestions.load().scores[0, 0] == 1.0
    with store.transaction():
        store.suggestions.save([1], [1], np.zeros((1, 1)))
        assert len(list((store.folder / "suggestions").iterdir())) == 4
    assert [finding.kind for finding in store.check(checksums=True)] == ["orphan"]
    store.repair()
    assert len(list((store.folder / "suggestions").iterdir())) == 2
