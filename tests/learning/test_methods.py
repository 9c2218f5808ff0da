"""Every method that a person can name: it trains, suggests, explains, is stored and scores new photos."""

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import SettingsError
from tagloom.features import get_descriptor
from tagloom.learning.methods import LEARNERS, all_learners, choose_learner, get_learner, histograms, prepare
from tagloom.learning.stored_model import LinearModel, load_model
from tagloom.project.project import Project
from tagloom.settings import Settings

GROUPS = FeatureGroups(["color", "edges"], [3, 2])
#: What keeps a method that is dear within seconds on 300 photos; the others are as a person gets them.
BUDGETS = {
    "auto": {"budget_seconds": 2.0},
    "lapsvm": {"tol": 1e-4},
    "m3l": {"tol": 0.01, "max_iter": 300},
    "mkl": {"tol": 0.01, "max_iter": 5},
    "nova": {"n_splits": 3, "tol": 1e-3},
    "sbmlr": {"tol": 1e-3},
    "tagprop": {"n_neighbors": 20},
    "tkml": {"max_iter": 2, "n_atoms": 64},
    "topics": {"n_topics": 8, "n_init": 1, "max_iter": 40},
    "topic-mixture": {"n_topics": 8, "n_init": 1, "max_iter": 40},
    "plsa-words": {"n_topics": 8, "n_init": 1, "max_iter": 40},
    "tsvm": {"n_levels": 3, "tol": 1e-3, "max_iter": 20},
    "wtkml": {"max_iter": 2, "n_atoms": 64},
}
#: The five papers' methods and the weighted TKML, and what the papers compare them with.
WANTED = {
    *("sfss", "topics", "lpssvm", "tkml", "wtkml", "nova"),
    *("svm", "lapsvm", "laprls", "tsvm", "mkl", "m3l", "lpp-svm", "jec", "tagprop", "fsnm", "sbmlr", "gllr", "fisher"),
    *("plsa-words", "topic-mixture", "curds-and-whey", "harmonic", "consistency", "ridge"),
}


def put_features(made, first, n, descriptors, seed=0):
    """Store made-up features of descriptors for photos from one on, and what the tags follow from."""
    generator = np.random.default_rng(seed)
    hashes = [f"{number + 1:064x}" for number in range(first, first + n)]
    hidden = np.eye(4)[(np.arange(first, first + n) * 7) % 4]
    with made.project.store.lock(), made.project.store.cache() as cache:
        for name in descriptors:
            size = sum(get_descriptor(name).outputs.values())
            pattern = np.random.default_rng(len(name)).normal(size=(4, size)) * 1.5
            values = np.logaddexp(0.0, hidden @ pattern + generator.normal(size=(n, size)))
            if name == "deep":  # class probabilities, of which a few stand out
                values[:, 1280:] **= 6
                values[:, 1280:] /= values[:, 1280:].sum(axis=1, keepdims=True)
            cache.put(get_descriptor(name).key, hashes, values.astype(np.float32))


@pytest.fixture
def labelled(made_up):
    """Return a function that makes a project of 300 photos, 60 of them labelled, for a method."""

    def make(name, **parameters):
        words = "words" in LEARNERS[name].needs
        groups = "color,semantic" if words else "color,edges"
        made = made_up(300, 4, descriptors=groups, method_parameters={name: {**BUDGETS.get(name, {}), **parameters}})
        made.truth = np.eye(4, dtype=np.int8)[(np.arange(300) * 7) % 4]
        put_features(made, 0, 300, ["color", "deep" if words else "edges"])
        made.say(range(60))
        return made

    return make


def test_all_that_the_papers_name_is_there():
    assert set(all_learners()) >= WANTED
    for learner in LEARNERS.values():
        assert learner.summary
        assert learner.summary == learner.summary.strip()
        assert set(learner.needs) <= {"groups", "words", "kernel", "graph"}
    five = ("sfss", "topics", "lpssvm", "tkml", "nova")
    assert all(LEARNERS[name].paper for name in five)


@pytest.mark.medium
@pytest.mark.parametrize("name", list(LEARNERS))
def test_every_method_goes_all_the_way(labelled, name):
    made = labelled(name)
    project = made.project
    found = project.train(name)
    assert (found.method, found.kind, found.why_scores) == (name, "probability", "")
    stored = project.store.suggestions.load()
    assert stored.scores.shape == (300, 4)
    assert ((stored.scores >= 0) & (stored.scores <= 1)).all()
    # The tags follow from the features: what is suggested is mostly right.
    best = stored.scores[60:].argmax(axis=1)
    assert (best == made.truth[60:].argmax(axis=1)).mean() > 0.6
    assert len(project.suggest(n=1)) > 0
    why = project.explain(int(made.ids[100]), "tag 1")
    assert np.isfinite(why.score)
    assert (why.photos_exact and why.groups_exact) or why.notes
    total = why.photos_base + why.photos_other + why.photos_rest + sum(one.amount for one in why.photos)
    assert abs(total + why.earlier - why.score) < 1e-6
    model = load_model(project.store, project.store.models.active())
    assert (model.header.method, model.header.tag_ids) == (name, tuple(made.tags.tolist()))
    ids = made.add_photos(np.ones((8, 289), dtype=np.float32))
    put_features(made, 300, 8, ["color", "deep" if "words" in LEARNERS[name].needs else "edges"], seed=1)
    scored = project.score_new()
    assert (scored.n_scored, scored.why_not) == (8, "")
    new = project.store.suggestions.load()
    values = new.scores[np.isin(new.photo_ids, ids)]
    assert np.isfinite(values).all()
    truth = (np.arange(300, 308) * 7) % 4
    assert (values.argmax(axis=1) == truth).mean() > 0.6


@pytest.mark.medium
def test_parameters_reach_the_method_and_its_model(labelled):
    made = labelled("sfss", sparsity=0.3)
    made.project.train("sfss")
    model = load_model(made.project.store, made.project.store.models.active())
    assert model.header.parameters == {"sparsity": 0.3}
    first = made.project.store.suggestions.load().scores
    other = labelled("sfss", sparsity=30.0)
    other.project.train("sfss")
    assert np.abs(other.project.store.suggestions.load().scores - first).max() > 1e-3


@pytest.mark.medium
def test_a_boosted_or_curved_model_is_not_stored_as_a_line(made_up):
    for given, kind in (({}, True), ({"boost": "curds_and_whey"}, False), ({"kernel": "rbf"}, False)):
        made = made_up(120, 4, method_parameters={"nova": {**given, **BUDGETS["nova"]}})
        made.say(range(60))
        made.project.train("nova")
        model = load_model(made.project.store, made.project.store.models.active())
        assert isinstance(model, LinearModel) == kind


@pytest.mark.medium
def test_a_ridge_with_parameters_is_that_ridge(labelled):
    made = labelled("ridge", regularization=5.0)
    found = made.project.train("ridge")
    assert found.is_linear
    model = load_model(made.project.store, made.project.store.models.active())
    assert model.header.parameters == {"regularization": 5.0}


def test_a_foreign_project_sets_no_parameters(made_up, tmp_path, monkeypatch):
    made = made_up(20, 2)
    folder = made.project.folder
    (folder / "tagloom.toml").write_text("[method.nova]\nmax_iter = 1000000000\n")
    made.project.close()
    with Project.open(folder) as own:
        assert own.settings.parameters_of("nova") == {"max_iter": 10**9}
    monkeypatch.setenv("TAGLOOM_CONFIG", str(tmp_path / "another-user"))
    with Project.open(folder) as foreign:
        assert foreign.settings.parameters_of("nova") == {}
        assert foreign.settings.ignored == ("method_parameters",)


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("nova", {"penalt": "scad"}, "Method nova has no parameter 'penalt'. Did you mean penalty?"),
        ("nova", {"penalty": "l3"}, "Parameter penalty of method nova must be one of 'lasso', .*, got 'l3'"),
        ("nova", {"groups": "x"}, "Method nova has no parameter 'groups'"),
        ("svm", {"C": 0}, "Parameter C of method svm must be a number above 0, got 0"),
        ("svm", {"C": True}, "must be a number above 0, got True"),
        ("svm", {"kernel": "precomputed"}, "must be one of 'rbf', 'linear', 'chi2', 'intersection', got 'precomputed'"),
        ("lpp-svm", {"reducer__energy": 2}, "must be a number above 0 to 1, got 2"),
        ("tkml", {"weighted": "yes"}, "must be true or false, got 'yes'"),
        ("curds-and-whey", {"n_splits": 1}, "must be a whole number from 2 on, got 1"),
    ],
)
def test_a_parameter_that_does_not_fit_says_so(method, given, message):
    with pytest.raises(SettingsError, match=message) as found:
        choose_learner(Settings(method_parameters={method: given}), method)
    assert str(found.value).endswith(f"Run: tagloom methods {method}")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("name", list(LEARNERS))
def test_every_parameter_takes_its_own_default(name):
    for one in get_learner(name).takes():
        assert one.expected
        if one.expected != "a value that the method knows":
            chosen = get_learner(name).with_parameters({one.name: one.default})
            assert chosen.make(5, GROUPS).get_params(deep=True)[one.name] == one.default


def test_none_is_a_value_where_it_may_be():
    learner = get_learner("nova").with_parameters({"boost": "none", "group_weights": "none"})
    made = learner.make(5, GROUPS)
    assert (made.boost, made.group_weights) == (None, "none")


def test_a_method_that_is_not_there_has_a_neighbour():
    with pytest.raises(SettingsError, match=r"No method 'nvoa'. Did you mean nova\? Run: tagloom methods"):
        get_learner("nvoa")


def test_kernels_of_histograms_get_histograms():
    learner = get_learner("svm")
    assert learner.features is prepare
    assert learner.with_parameters({"kernel": "chi2"}).features is histograms
    assert get_learner("lpp-svm").with_parameters({"reducer__kernel": "intersection"}).features is histograms
    X = np.array([[1.0, 1.0, 2.0, -1.0, 0.0], [0.0, 0.0, 0.0, 1.0, 2.0]], dtype=np.float32)
    found = histograms(X, GROUPS)
    np.testing.assert_allclose(found, [[0.25, 0.25, 0.5, 0, 0], [0, 0, 0, 0.5, 0.5]])
