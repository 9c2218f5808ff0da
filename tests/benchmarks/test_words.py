"""What names of tags say: the figures of a cell are those of its formula, and the page is made of the cells."""

import numpy as np
import pytest

from benchmarks.datasets import Dataset
from benchmarks.results import CellResult
from benchmarks.words import cells, page
from benchmarks.words.cells import AUTO, BOTH, LOGISTIC, MIXED, NAMES, PROBE, run_cell
from tagloom.core.groups import FeatureGroups
from tagloom.features.network.words import class_names, word_log_odds


@pytest.fixture
def photos():
    """Photos of zebras and volcanoes, as the network would see them."""
    truth = np.zeros((40, 2), dtype=np.int8)
    truth[:20, 0] = truth[15:35, 1] = 1
    semantic = np.full((40, 1000), 1e-5, dtype=np.float32)
    for column, name in enumerate(("zebra", "volcano")):
        semantic[truth[:, column] == 1, class_names().index(name)] = 0.4
    X = np.hstack([truth.astype(np.float32), semantic])
    return Dataset(X, truth, FeatureGroups(["deep", "semantic"], [2, 1000]), tags=("zebra", "volcanoes"))


def test_names_alone_find_what_the_network_sees(photos):
    found = run_cell(("msrc_v2", 0, 0, NAMES), photos, {}).test
    assert (found["map"], found["tags"]) == (1.0, 2.0)


def test_logistic_regression_counts_tags_with_examples_apart(photos):
    found = run_cell(("msrc_v2", 12, 0, LOGISTIC), photos, {}).test
    assert found["tags_of_examples"] <= found["tags"] == 2.0
    assert found["map"] > 0.8


def test_names_help_auto_in_the_same_draw(photos):
    with_names, without = (run_cell(("msrc_v2", 4, 0, method), photos, {}).test for method in (BOTH, AUTO))
    assert with_names["map"] >= without["map"]
    assert with_names["tags_of_examples"] == without["tags_of_examples"]


def test_sure_ones_are_counted(photos):
    found = run_cell(("msrc_v2", 0, 0, NAMES), photos, {}).test
    semantic = word_log_odds(photos.X[:, 2:], photos.tags) >= np.log(4.0)
    assert found["sure"] == semantic.sum()
    assert found["sure_right"] == (semantic & (photos.Y == 1)).sum()


def test_the_page_is_made_of_the_cells(tmp_path, photos):
    cells.store_of(tmp_path).commit([run_cell(("msrc_v2", 0, 0, NAMES), photos, {"commit": "abc"})], [])
    text = page.page(tmp_path)
    assert "| 0 | 1.000 | – | – | – | – | – |" in text
    assert "- commit abc" in text


def test_without_results_the_page_says_so(tmp_path):
    assert page.page(tmp_path).count("No results yet.") == 1 + len(cells.SETS)


@pytest.mark.parametrize("method", [PROBE, MIXED])
def test_rivals_learn_from_few_labels(photos, method):
    found = run_cell(("msrc_v2", 12, 0, method), photos, {}).test
    assert found["map"] > 0.8
    assert "brier" not in found


def test_names_lead_where_nothing_is_labelled(photos):
    mixed = run_cell(("msrc_v2", 0, 0, MIXED), photos, {}).test
    assert mixed["map"] == run_cell(("msrc_v2", 0, 0, NAMES), photos, {}).test["map"]


def test_the_headline_takes_the_rival_that_is_best_on_average():
    def cell(draw, method, whole, examples):
        found = {"map": whole, "map_of_examples": examples}
        return CellResult(f"{draw}{method}", "coco_free", "15", draw, method, {}, found)

    made = [cell(draw, method, 0.4, 0.5) for draw in range(3) for method in cells.RIVALS[1:]]
    made += [cell(draw, cells.RIVALS[0], 0.5, 0.2) for draw in range(3)]
    made += [cell(draw, BOTH, 0.6, 0.6) for draw in range(3)]
    found = page.headline(made, "map_of_examples")
    assert found.mean == pytest.approx(found.low) == pytest.approx(found.high) == pytest.approx(0.2)
    assert page.headline(made, "map").where.endswith(f"against {cells.RIVALS[0]}")
    assert page.headline(made[:-3], "map") is None
