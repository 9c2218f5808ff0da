"""`benchmarks.scale` on a few photos."""

import json

import pytest

from benchmarks.scale.__main__ import main
from benchmarks.scale.page import draw_figures, page


@pytest.mark.slow
def test_each_verb_is_measured_in_a_process_of_its_own(tmp_path):
    out = tmp_path / "results.json"
    assert main(["240", "--folder", str(tmp_path / "projects"), "--out", str(out)]) == 0
    cells = {cell["step"]: cell for cell in json.loads(out.read_text())}
    assert set(cells) == {"train", "update", "next_photos", "suggest_one", "suggest_json", "open_page", "others"}
    assert not [cell["error"] for cell in cells.values() if "error" in cell]
    assert 0.0 < cells["train"]["map"] <= 1.0
    assert cells["update"]["first look"]["cpu"] <= cells["update"]["one tag"]["cpu"] + 0.01
    assert sum(cells["train"]["stages"].values()) <= cells["train"]["cpu"] + 0.1
    assert all(0.0 < one["map"] <= 1.0 for one in cells["others"]["peers"].values())
    assert "| 240 | " in page(out)
    assert cells["open_page"]["first grid"]["cpu"] > 0.0
    assert cells["suggest_json"]["status"] == 0
    assert cells["suggest_json"]["characters"] > 100 * cells["suggest_one"]["characters"]
    assert all(cell["n"] == 240 and "commit" in cell["environment"] for cell in cells.values())


def test_the_page_says_what_was_recorded(tmp_path, matplotlib):
    assert matplotlib
    stages = ("reading features", "principal components", "graph", "smoothing features", "search", "solving", "scores")
    spent = dict.fromkeys((*stages, "smoothing scores", "storing"), 1.5)
    cells = [
        {"n": n, "step": "train", "cpu": n / 1e4, "map": 0.4, "peak anonymous": 5, "peak rss": 9, "stages": spent}
        | {"environment": {"commit": "abc"}}
        for n in (10_000, 100_000)
    ]
    out = tmp_path / "results.json"
    out.write_text(json.dumps(cells))
    text = page(out)
    assert "| 100,000 | 10 | 1.00 | 5 | 9 | – | 0.400 |" in text
    assert "A plan for a hundred million photos" in text
    assert "commit abc" in text
    assert draw_figures(tmp_path, out)
    assert {file.name for file in tmp_path.glob("*.svg")} == {"scale.svg", "scale-memory.svg"}
    assert "No results yet." in page(tmp_path / "none.json")
