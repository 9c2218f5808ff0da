"""`benchmarks.scale` on a few photos."""

import json

import pytest

from benchmarks.scale.__main__ import main


@pytest.mark.medium
def test_each_verb_is_measured_in_a_process_of_its_own(tmp_path):
    out = tmp_path / "results.json"
    assert main(["240", "--folder", str(tmp_path / "projects"), "--out", str(out)]) == 0
    cells = {cell["step"]: cell for cell in json.loads(out.read_text())}
    assert set(cells) == {"train", "update", "next_photos", "suggest_one", "suggest_json"}
    assert not [cell["error"] for cell in cells.values() if "error" in cell]
    assert 0.0 < cells["train"]["map"] <= 1.0
    assert cells["update"]["one tag"]["cpu"] >= 0.0
    assert cells["suggest_json"]["status"] == 0
    assert cells["suggest_json"]["characters"] > 100 * cells["suggest_one"]["characters"]
    assert all(cell["n"] == 240 and "commit" in cell["environment"] for cell in cells.values())
