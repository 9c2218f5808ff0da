def test_only_changed_tags_are_learnt_again(tagloom, project):
    tagloom("train", "-q")
    tagloom("label", "scene_00000.jpg", "scene_00001.jpg", "--add", "fresh")
    done = tagloom("update", "--json", "-q")
    assert (done.code, done.err) == (0, "")
    assert done.json["tags"] == ["fresh"]
    assert len(done.json["tag_ids"]) == 1
    assert tagloom("status", "--json").json["model"] == done.json["model"]
    found = tagloom("suggest", "scene_00002.jpg", "-n", 0, "--json").json["suggestions"]
    assert "fresh" in {row["tag"] for row in found}


def test_table_and_nothing_to_do(tagloom, project):
    tagloom("train", "-q")
    tagloom("label", "scene_00000.jpg", "--add", "fresh", "--add", "new")
    shown = tagloom("update", "--threads", 1).out
    assert "tags updated" in shown
    assert "updated: fresh, new" in shown
    assert "Nothing new to learn" in tagloom("update").out
    assert tagloom("update", "-q").out == ""
    assert tagloom("update", "--json").json["tags"] == []


def test_without_features_it_is_an_error(tagloom, photos):
    tagloom("init", photos)
    done = tagloom("update", "--project", photos)
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
