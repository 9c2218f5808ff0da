"""Points of the plane by class."""

import numpy as np
import pytest

from tagloom.datasets import make_moons
from tagloom.exceptions import InvalidInputError
from tagloom.methods import HarmonicPropagation
from tagloom.plotting import plot_embedding_classes

POINTS = np.array([[0.0, 0], [1, 0], [2, 0], [3, 1], [4, 1]])


def entries(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def places(ax):
    """Points of each collection that has some, by size."""
    drawn = {}
    for collection in ax.collections:
        if hasattr(collection, "get_sizes") and len(collection.get_offsets()):
            drawn.setdefault(int(collection.get_sizes()[0]), []).append(np.asarray(collection.get_offsets()).tolist())
    return drawn


def test_labelled_points_are_large_and_others_small():
    given = np.array([True, False, False, True, False])
    ax = plot_embedding_classes(POINTS, [0, 0, 1, 1, -1], labeled=given, names=["sun", "sky"])
    assert places(ax) == {12: [[[1, 0]], [[2, 0]]], 70: [[[0, 0]], [[3, 1]]], 8: [[[4, 1]]]}
    assert entries(ax) == ["sun", "sky", "no label", "label given"]
    assert ax.get_aspect() == 1
    assert ax.get_label() == "5 points by class: sun 2, 1 of them labelled; sky 2, 1 of them labelled."


def test_all_known_labels_count_as_given_by_default():
    ax = plot_embedding_classes(POINTS, [0, 0, 2, -1, -1])
    assert list(places(ax)) == [70, 8]
    assert entries(ax) == ["class 0", "class 2", "no label"]


def test_classes_differ_in_shape_and_colour():
    first, second = (
        item for item in plot_embedding_classes(POINTS, [0, 0, 0, 1, 1]).collections if len(item.get_offsets())
    )
    assert first.get_paths()[0].vertices.shape != second.get_paths()[0].vertices.shape
    assert first.get_facecolor().tolist() != second.get_facecolor().tolist()


def test_combinations_of_tags_are_classes():
    Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [-1, -1]])
    assert entries(plot_embedding_classes(POINTS, Y)) == ["no tag", "tag 1", "tag 0", "tag 0 + tag 1", "no label"]
    ax = plot_embedding_classes(POINTS, Y, names=["sea", "sky"])
    assert entries(ax)[1:4] == ["sky", "sea", "sea + sky"]


def test_regions_are_the_classes_of_the_grid():
    def boundary(grid):
        return np.digitize(grid[:, 0], [1.5, 3.5])

    ax = plot_embedding_classes(POINTS, [0, 0, 1, 1, -1], boundary=boundary, resolution=21)
    (image,) = ax.images
    codes = np.asarray(image.get_array())
    left, right, bottom, top = image.get_extent()
    step = (right - left) / 21
    centres = left + step * (np.arange(21) + 0.5)
    np.testing.assert_array_equal(codes, np.tile(np.digitize(centres, [1.5, 3.5]), (21, 1)))
    assert left < 0 < 4 < right
    assert bottom < 0 < 1 < top
    assert entries(ax) == ["class 0", "class 1", "class 2", "no label"], "a class of the grid alone has a name too"
    lines = [item for item in ax.collections if not hasattr(item, "get_sizes") or not len(item.get_sizes())]
    crossings = sorted({round(float(x), 1) for line in lines for path in line.get_paths() for x in path.vertices[:, 0]})
    assert len(lines) == 2
    np.testing.assert_allclose([crossings[0], crossings[-1]], [1.5, 3.5], atol=step)


def test_an_annotator_predicts_the_regions():
    X, Y = make_moons(40, random_state=0)
    model = HarmonicPropagation(n_neighbors=5).fit(X, Y)
    ax = plot_embedding_classes(X, Y, boundary=model.predict, resolution=8)
    ax.figure.draw_without_rendering()
    assert len(np.unique(ax.images[0].get_array())) > 1


def test_points_in_one_place_and_regions_of_one_class_can_be_drawn():
    ax = plot_embedding_classes(np.ones((3, 2)), [0, 0, -1], boundary=lambda grid: np.zeros(len(grid)), resolution=3)
    ax.figure.draw_without_rendering()
    assert (np.asarray(ax.images[0].get_array()) == 0).all()


def test_points_without_any_label_can_be_drawn():
    assert entries(plot_embedding_classes(POINTS, np.full(5, -1))) == ["no label"]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.ones((5, 3)), np.zeros(5)), {}, "two coordinates"),
        ((np.empty((0, 2)), []), {}, "points is empty"),
        ((POINTS, np.zeros(4)), {}, r"labels: expected shape \(5,\) or \(5, tags\), got \(4,\)"),
        ((POINTS, np.full(5, 0.5)), {}, "labels: expected integers"),
        ((POINTS, np.full(5, -2)), {}, "labels: expected integers"),
        ((POINTS, [[1, -1]] * 5), {}, "known in part has no class; row 0"),
        ((POINTS, np.arange(5)), {"names": ["a", "b"]}, "names has 2 names, and there is a class or tag 2"),
        ((POINTS, np.zeros(5)), {"labeled": [1, 0, 0, 0, 0]}, "labeled must be 5 booleans, got dtype int64"),
        ((POINTS, np.zeros(5)), {"boundary": lambda grid: grid[:5, 0]}, "what boundary returns: expected shape"),
        ((POINTS, np.zeros(5)), {"boundary": lambda grid: np.zeros((len(grid), 2))}, "got 2 per point"),
        ((POINTS, np.zeros(5)), {"boundary": lambda grid: -np.ones(len(grid))}, "got 1 per point, smallest -1"),
        ((POINTS, np.zeros(5)), {"boundary": lambda grid: grid[:, 0], "resolution": 1}, "resolution must be at least"),
    ],
)
def test_what_does_not_fit_is_told(arguments, options, message):
    with pytest.raises(InvalidInputError, match=message):
        plot_embedding_classes(*arguments, **options)
