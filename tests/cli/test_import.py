def test_a_labels_file(tagloom, project):
    (project / "more.csv").write_text("file,tags\nscene_00000.jpg,sea;new one\nnowhere.jpg,sea\n")
    done = tagloom("import", "more.csv", "--absent-means", "unknown", "--json")
    assert done.code == 0
    assert done.json["absent_means"] == "unknown"
    assert done.json["created"] == ["new one"]
    assert done.json["unmatched"] == ["nowhere.jpg"]
    assert "nothing was changed" in tagloom("import", "more.csv", "--absent-means", "unknown").out
    table = tagloom("import", "labels.csv", "--absent-means", "unknown")
    assert table.code == 0
    assert "a tag not named means" in table.out


def test_what_a_person_said_stays_and_is_shown(tagloom, project):
    (project / "more.csv").write_text("file,tags\nscene_00000.jpg,sea\n")
    tagloom("label", "scene_00000.jpg", "--remove", "sea")
    done = tagloom("import", "more.csv")
    assert "left as it was: scene_00000.jpg: sea (there: yes)" in done.out


def test_photos_and_folders(tagloom, project):
    tagloom("write", "-q")
    found = tagloom("import", "--from-photos", "--json", "-q").json
    assert (found["absent_means"], found["n_photos"]) == ("unknown", 10)
    assert tagloom("import", "--from-photos", "--no-sidecars", "--json", "-q").json["n_photos"] == 0
    (project / "trips" / "alps").mkdir(parents=True)
    (project / "scene_00000.jpg").rename(project / "trips" / "alps" / "a.jpg")
    tagloom("scan", "-q")
    assert tagloom("import", "--from-folders", "--json").json["created"] == ["trips|alps"]
    flat = tagloom("import", "--from-folders", "--flat", "--skip", "trips", "--json").json
    assert flat["created"] == ["alps"]


def test_errors(tagloom, project):
    for wrong in ([], ["labels.csv", "--from-photos"]):
        assert tagloom("import", *wrong).code == 2
    for wrong in (["nowhere.csv"], ["labels.csv", "--format", "yaml"], ["labels.csv", "--absent-means", "maybe"]):
        done = tagloom("import", *wrong)
        assert (done.code, done.out) == (1, "")
        assert done.err.count("\n") == 1
