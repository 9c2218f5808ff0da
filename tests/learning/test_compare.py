"""Several methods on the same labels."""

import pytest

from tagloom.exceptions import NothingToScoreError, SettingsError
from tagloom.learning.compare import COMPARED, compare
from tagloom.learning.methods import LEARNERS


class Heard:
    def __init__(self, stop_at=None):
        self.stages, self.stop_at = [], stop_at

    def start(self, stage, total=None):
        self.stages.append(stage)
        if self.stop_at is not None and stage.startswith(self.stop_at):
            raise KeyboardInterrupt

    def advance(self, n=1):
        pass

    def finish(self):
        pass


def test_the_default_methods_are_there():
    assert set(COMPARED) <= set(LEARNERS)


def test_each_method_has_the_figures_of_its_own_evaluation(made_up):
    made = made_up(120, 3)
    made.say(range(60))
    heard = Heard()
    found = made.project.compare(["ridge", "neighbors", "harmonic"], progress=heard)
    assert (found.folds, found.n_labeled, found.n_photos, found.n_tags) == (5, 60, 120, 3)
    for one in found.methods:
        alone = made.project.evaluate(one.method, curve=False, groups=False)
        assert one.map == pytest.approx(alone.mean_figures()[0][1])
        assert (one.low, one.high) == pytest.approx(alone.mean_figures()[0][2:])
        assert one.n_accepted == alone.n_accepted
    maps = [one.map for one in found.methods]
    assert maps == sorted(maps, reverse=True)
    assert any(stage.startswith("neighbors: ") for stage in heard.stages)
    assert made.project.store.models.active() is None


def test_the_distance_to_the_best_is_of_the_same_photos(made_up):
    made = made_up(150, 3)
    made.say(range(80))
    found = made.project.compare(["ridge", "neighbors"])
    best, other = found.methods
    assert (best.behind, best.behind_low, best.behind_high) == (0.0, 0.0, 0.0)
    assert other.behind == pytest.approx(best.map - other.map)
    assert other.behind_low <= other.behind <= other.behind_high
    # Pairs of figures on the same photos differ less than figures of different photos.
    assert other.behind_high - other.behind_low < (best.high - best.low) + (other.high - other.low)


def test_a_method_that_cannot_learn_from_the_features_is_named(made_up):
    made = made_up(80, 3)
    made.say(range(40))
    found = made.project.compare(["topics", "ridge"])
    assert [one.method for one in found.methods] == ["ridge", "topics"]
    assert "needs visual words" in found.methods[1].why_not
    assert found.methods[1].map is None
    with pytest.raises(NothingToScoreError, match="No method could be compared: this method needs visual words"):
        made.project.compare(["topics"])


def test_what_is_finished_is_kept_when_it_is_interrupted(made_up):
    made = made_up(80, 3)
    made.say(range(40))
    found = made.project.compare(["ridge", "harmonic", "neighbors"], progress=Heard("harmonic"))
    assert (found.interrupted, [one.method for one in found.methods]) == (True, ["ridge"])
    with pytest.raises(KeyboardInterrupt):
        made.project.compare(["harmonic"], progress=Heard("harmonic"))


def test_parameters_of_one_method_are_its_own(made_up):
    made = made_up(100, 3, method_parameters={"neighbors": {"n_neighbors": 1}})
    made.say(range(50))
    found = {one.method: one for one in made.project.compare(["neighbors", "ridge"]).methods}
    assert found["neighbors"].parameters == {"n_neighbors": 1}
    assert found["ridge"].parameters == {}


@pytest.mark.parametrize(("names", "message"), [(["ridge", "ridge"], "each method once"), (["magic"], "No method")])
def test_wrong_names_are_told_before_any_work(made_up, names, message):
    made = made_up(20, 2)
    with pytest.raises(SettingsError, match=message):
        compare(made.project.store, made.project.settings, names)


def test_the_figure_has_a_row_for_each_method(made_up, matplotlib):
    made = made_up(80, 3)
    made.say(range(40))
    found = made.project.compare(["ridge", "neighbors", "topics"])
    ax = found.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == [one.method for one in found.methods[:2]]
