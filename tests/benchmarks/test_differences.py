from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.differences import differences_of, draw_differences, table_of_differences
from benchmarks.errors import BenchmarkError
from benchmarks.regions import _lookup, draw_regions, region_panel
from benchmarks.summary import Column


def make_view(pairs):
    return SimpleNamespace(name="v", options={"data": ["d"], "metric": ["unlabeled/map"], "pairs": pairs})


class Columns:
    """A summary in which method "b" is 0.1 better than "a" in one condition, and level in the other."""

    def paper(self, _data, condition, method, _metric):
        values = {0: 0.5, 1: 0.6, 2: 0.4}
        if method == "b":
            values = {
                draw: value + (0.1 if condition == "n 1" else (-1) ** draw * 0.1) for draw, value in values.items()
            }
            values[7] = 9.0  # a draw that the other has not
        return Column(0.0, 0.0, (), values)

    def honest(self, _data, condition, method, _metric):
        return Column(0.0, 0.0, (), {0: 0.5 if method == "a" else 0.4}) if condition == "n 1" else None


EXPERIMENT = SimpleNamespace(
    name="e",
    methods=[SimpleNamespace(name=name, title=name.upper()) for name in "ab"],
    data=[SimpleNamespace(name="d", split={"n": [1, 2]}), SimpleNamespace(name="other", split={})],
)


def test_verdicts_by_hand():
    paper, honest = differences_of(make_view([["b", "a"]]), EXPERIMENT, Columns())
    np.testing.assert_allclose(paper.means, [0.1, 0.1 / 3])
    np.testing.assert_allclose(paper.errors, [0.0, np.std([0.1, -0.1, 0.1], ddof=1) / np.sqrt(3)], atol=1e-12)
    assert paper.verdicts() == ["better", "level"]
    # One draw: the sign alone.
    assert (honest.conditions, honest.verdicts()) == (["n 1"], ["worse"])
    header, rows = table_of_differences(make_view([["b", "a"]]), EXPERIMENT, Columns())
    assert header[-3:] == ["better in", "level in", "worse in"]
    assert rows[0][2:] == ["B against A", "paper's protocol", "n 1 (+0.100)", "n 2 (+0.033)", "–"]
    assert rows[1][3:] == ["honest", "–", "–", "n 1 (-0.100)"]
    view = make_view([["b", "a"]])
    view.options["columns"] = ["honest"]
    assert [item.column for item in differences_of(view, EXPERIMENT, Columns())] == ["honest"]


def test_unknown_methods_are_named():
    with pytest.raises(BenchmarkError, match="'c'"):
        differences_of(make_view([["c", "a"]]), EXPERIMENT, Columns())


def test_the_figure_has_a_panel_for_each_data(matplotlib):
    figure = draw_differences(make_view([["b", "a"]]), EXPERIMENT, Columns())
    assert [axes.get_title() for axes in figure.axes] == ["d, unlabeled/map"]
    assert draw_differences(make_view([]), EXPERIMENT, Columns()).axes


def test_regions_are_kept_and_drawn(matplotlib):
    points = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    labeled = np.array([True, True, False, False])
    panels = [
        region_panel(
            title,
            points,
            np.array([0, 1, 0, 1]),
            labeled,
            ["left", "right"],
            lambda grid: (grid[:, 0] > 1.05).astype(int),
            9,
        )
        for title in "abcd"
    ]
    assert panels[0]["regions"] == ["000001111"] * 9
    assert _lookup(panels[0])(np.array([[-5.0, 0.0], [0.5, 0.2], [1.6, 0.9], [9.0, 9.0]])).tolist() == [0, 0, 1, 1]
    figure = draw_regions(panels)
    assert [axes.get_title() for axes in figure.axes] == list("abcd")
    assert [axes.get_legend() is None for axes in figure.axes] == [True, True, True, False]
