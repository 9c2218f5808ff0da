def test_newest_first(tagloom, project):
    tagloom("label", "scene_00000.jpg", "--add", "fresh")
    tagloom("undo")
    rows = tagloom("history", "--json").json["actions"]
    assert [row["kind"] for row in rows] == ["undo", "decide", "decide"]
    assert rows[1]["who"] == "tester"
    assert rows[1]["undone"] is True
    table = tagloom("history", "-n", 2).out
    assert "undone" in table
    assert "import labels.csv" not in table
    assert len(tagloom("history", "--photo", "scene_00000.jpg", "--json").json["actions"]) >= 1
    assert tagloom("history", "--photo", "nowhere.jpg").code == 1


def test_nothing_yet(tagloom, photos):
    tagloom("init", photos)
    assert tagloom("history", "--project", photos).out == "No actions yet\n"
