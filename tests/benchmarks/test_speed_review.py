import json

import numpy as np
import pytest

from benchmarks.speed import review, reviewer


def test_frames_that_a_long_task_touches_are_not_free():
    times = [0.0, 100.0, 200.0, 300.0, 400.0]
    found = review.frame_figures(times, [[150.0, 60.0], [310.0, 40.0], [900.0, 500.0]])
    # 150 to 210 touches the second and the third frame; 40 ms is no long task; the last one came after the scrolling.
    assert found == {"frames": 4, "% free of tasks over 50 ms": 50.0, "longest task ms": 60.0}
    assert review.frame_figures(times, [])["% free of tasks over 50 ms"] == 100.0


def test_keys_of_a_tag_are_those_that_tell_it_from_the_others():
    assert reviewer.typed(["sea", "sky", "sun", "sunset", "car"]) == [4, 4, 5, 6, 3]


def test_f1_of_pairs():
    truth = np.array([[True, True], [False, False]])
    assert reviewer.f1(truth, truth) == 1.0
    assert reviewer.f1(truth, ~truth) == 0.0
    assert reviewer.f1(truth, np.array([[True, False], [True, False]])) == 0.5


def test_by_hand_all_keywords_are_right_and_time_ends_the_work():
    truth = np.random.default_rng(0).random((50, 4)) < 0.5
    tally, found = reviewer.by_hand(truth, [3, 4, 5, 6])
    assert (found == truth).all()
    assert tally.n_decisions == truth.sum() + 50
    assert tally.n_keys == (truth * [3, 4, 5, 6]).sum() + 100
    half, part = reviewer.by_hand(truth, [3, 4, 5, 6], tally.minutes / 2)
    assert half.minutes == pytest.approx(tally.minutes / 2, rel=0.1)
    assert not (part & ~truth).any()
    assert 0.3 < part.sum() / truth.sum() < 0.7


@pytest.mark.slow
def test_the_quick_review_measures_the_page(chromium, tmp_path, capsys):
    review.main(["--quick", "--out", str(tmp_path / "review.json")])
    page, learning = json.loads((tmp_path / "review.json").read_text(encoding="utf-8"))["cases"]
    first, scroll, _, accept = page["entries"]
    assert first["accuracy"]["median ms"] > 0
    assert scroll["accuracy"]["% of stops with the right photos"] == 100
    assert accept["accuracy"]["median ms"] <= accept["accuracy"]["worst ms"]
    assert learning["entries"][0]["accuracy"]["median ms"] > 0
    assert "first grid after page load" in capsys.readouterr().out


@pytest.mark.slow
def test_the_quick_reviewer_lists_every_policy(tmp_path, capsys):
    reviewer.main(["--quick", "--out", str(tmp_path / "reviewer.json")])
    (found,) = json.loads((tmp_path / "reviewer.json").read_text(encoding="utf-8"))["cases"]
    *policies, by_hand = found["entries"]
    assert [entry["name"] for entry in policies] == [policy.name for policy in reviewer.POLICIES]
    assert policies[0]["accuracy"]["wrong keywords"] == 0  # whoever looks at everything accepts nothing wrong
    assert by_hand["accuracy"]["F1"] == 1.0
    assert "F1 by hand, as long" in capsys.readouterr().out
