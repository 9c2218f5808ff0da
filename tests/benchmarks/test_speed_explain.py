"""Explanations: a small run agrees with changing a label and solving again."""

import json

from benchmarks.speed import explain


def test_a_quick_run_agrees_with_the_literal_way(tmp_path):
    explain.main(["--quick", "--out", str(tmp_path / "explain.json")])
    (case,) = json.loads((tmp_path / "explain.json").read_text(encoding="utf-8"))["cases"]
    found = {entry["name"]: entry["accuracy"] for entry in case["entries"]}
    literal = found.pop("each label changed, and solved again")
    assert literal["difference"] < 1e-6
    assert len(found) == 3
    assert all(told["rest"] < 1e-6 for told in found.values())
