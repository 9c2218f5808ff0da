import re

import pytest


def test_amounts_sum_to_the_score(tagloom, project):
    found = tagloom("explain", "scene_00000.jpg", "sky", "--json", "-n", 3).json
    assert (found["photo"], found["tag"], len(found["photos"])) == ("scene_00000.jpg", "sky", 3)
    by_photos = sum(item["amount"] for item in found["photos"])
    by_photos += found["photos_base"] + found["photos_other"] + found["photos_rest"]
    by_groups = sum(item["amount"] for item in found["groups"]) + found["groups_base"] + found["groups_rest"]
    assert by_photos == pytest.approx(found["score"], abs=1e-6)
    assert by_groups == pytest.approx(found["score"], abs=1e-6)


def test_the_amounts_of_the_table_sum_to_the_score(tagloom, project):
    shown = tagloom("explain", "scene_00000.jpg", "sky", "--photos", 2).out
    score = float(re.search(r"score (-?[\d.]+)", shown).group(1))
    by_photos, by_groups = shown.split("By feature groups")
    for table in (by_photos, by_groups):
        amounts = [float(text) for text in re.findall(r"[+-]\d+\.\d{4}(?=\s*$)", table, re.MULTILINE)]
        assert len(amounts) >= 2
        assert sum(amounts) == pytest.approx(score, abs=1e-3)


def test_errors(tagloom, project):
    for wrong in (["nowhere.jpg", "sky"], ["scene_00000.jpg", "unheard"]):
        done = tagloom("explain", *wrong)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert tagloom("explain", "scene_00000.jpg").code == 2
    assert tagloom("explain", "scene_00000.jpg", "sky", "-n", -1).code == 2


def test_without_a_model(tagloom, photos):
    tagloom("init", photos)
    done = tagloom("explain", "scene_00000.jpg", "sky", "--project", photos)
    assert done.code == 1
    assert "tagloom train" in done.err


def test_after_an_update_the_model_from_before_has_a_row(tagloom, project):
    tagloom("train", "--method", "consistency", "-q")
    for number in range(10, 16):
        tagloom("label", f"scene_{number:05d}.jpg", "--add", "sky")
    tagloom("update", "-q")
    found = tagloom("explain", "scene_00018.jpg", "sky", "--json").json
    assert found["earlier"] != 0.0
    assert abs(found["photos_rest"]) < 1e-3
    shown = tagloom("explain", "scene_00018.jpg", "sky").out
    assert shown.count("the model before the update") == 2
    assert f"{found['earlier']:+.4f}" in shown
