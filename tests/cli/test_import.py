import os

import pytest


def test_a_labels_file(tagloom, project):
    (project / "more.csv").write_text("file,tags\nscene_00000.jpg,sea;new one\nnowhere.jpg,sea\n")
    done = tagloom("import", "more.csv", "--absent-means", "unknown", "--json")
    assert done.code == 0
    assert done.json["absent_means"] == "unknown"
    assert done.json["created"] == ["new one"]
    assert done.json["unmatched"] == ["nowhere.jpg"]
    assert "nothing changed" in tagloom("import", "more.csv", "--absent-means", "unknown").out
    table = tagloom("import", "labels.csv", "--absent-means", "unknown")
    assert table.code == 0
    assert "a tag that is not listed is" in table.out


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


def test_photos_and_folders_that_say_nothing(tagloom, project):
    done = tagloom("import", "--from-folders")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "no photo lies in a folder that names a keyword" in done.err
    done = tagloom("import", "--from-photos")
    assert done.code == 0  # nothing is wrong: other programs may give them some later
    assert "No photo and no sidecar has a keyword" in done.out


def test_errors(tagloom, project):
    for wrong in ([], ["labels.csv", "--from-photos"]):
        assert tagloom("import", *wrong).code == 2
    for wrong in (["nowhere.csv"], ["labels.csv", "--format", "yaml"], ["labels.csv", "--absent-means", "maybe"]):
        done = tagloom("import", *wrong)
        assert (done.code, done.out) == (1, "")
        assert done.err.count("\n") == 1


def test_spellings_are_one_tag_and_no_photo_is_denied_its_own(tagloom, project):
    (project / "more.csv").write_text(
        'file,tags\nscene_00000.jpg,Hound\nscene_00001.jpg,HOUND\nscene_00002.jpg,huond\nscene_00003.jpg,"a, b"\n'
    )
    done = tagloom("import", "more.csv")
    assert '"HOUND" is the tag "Hound"' in done.out
    assert "tagloom tags merge huond Hound" in done.out
    assert """tagloom tags split 'a, b' --separator \",\"""" in done.out
    (hound,) = [tag for tag in tagloom("tags", "--json").json["tags"] if tag["text"].lower() == "hound"]
    assert hound["n_yes"] == 2
    assert tagloom("tags", "split", "a, b").code == 0
    texts = {tag["text"]: tag["n_yes"] for tag in tagloom("tags", "--json").json["tags"]}
    assert (texts["a"], texts["b"]) == (1, 1)
    assert "a, b" not in texts


def test_a_separator_splits_while_importing(tagloom, project):
    (project / "more.csv").write_text('file,tags\nscene_00000.jpg,"airplane, plane, sky"\nscene_00001.jpg,sky\n')
    known = {tag["text"] for tag in tagloom("tags", "--json").json["tags"]}
    done = tagloom("import", "more.csv", "--separator", ",", "--json").json
    assert set(done["created"]) == {"airplane", "plane", "sky"} - known
    assert done["hints"] == []


def test_a_file_with_bad_rows_is_imported_whole_or_not_at_all(tagloom, project):
    (project / "more.csv").write_text(
        "file,tags,state\nscene_00000.jpg,brand new,yes\nscene_00001.jpg,sea,maybe\nscene_00002.jpg,a,b,c,d\n"
    )
    before = tagloom("status", "--json").json
    done = tagloom("import", "more.csv")
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
    assert "more.csv, line 3: the state of 'sea'" in done.err
    assert (
        "(1 more problems). Nothing was imported: correct the file, or import the rest with --skip-bad-rows" in done.err
    )
    assert tagloom("status", "--json").json == before
    done = tagloom("import", "more.csv", "--skip-bad-rows", "--json")
    assert done.code == 0
    assert done.json["created"] == ["brand new"]
    assert len(done.json["problems"]) == 2
    (project / "again.csv").write_text((project / "more.csv").read_text().replace("brand new", "newer"))
    assert "rows skipped" in tagloom("import", "again.csv", "--skip-bad-rows").out


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (
            "x.csv",
            "file,tags\nnowhere.jpg,sea\n",
            "that are not in the project, such as 'nowhere.jpg'; the project has for example",
        ),
        ("x.csv", "file,tags\nscene_00000.jpg,\n", "lists photos (1) but no keyword"),
        ("x.csv", "file,tag,source\nscene_00000.jpg,sea,suggested\n", "add --include-suggested"),
        ("x.json", '{"images": [{"id": 1, "file_name": "a.jpg"}]}', "holds no keyword of a photo (read as coco"),
        ("x.json", '{"images": [], "annotations": [{"image_id": 1, "caption": "A dog."}]}', "holds captions"),
        ("x.xml", '<annotations><track id="0" label="cat"/></annotations>', "export of a video"),
        ("x.jsonl", "", "holds no keyword of a photo"),
        ("x.tar", "", "tar file"),
    ],
)
def test_an_import_of_nothing_says_why(tagloom, project, name, text, why):
    (project / name).write_text(text)
    before = tagloom("status", "--json").json
    done = tagloom("import", name)
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
    assert why in done.err
    assert tagloom("status", "--json").json == before


def test_hostile_files_are_one_line(tagloom, project):
    os.mkfifo(project / "pipe.csv")
    (project / "tag.jsonl").write_text('{"file": "scene_00000.jpg", "tags": ["' + "x" * (20 << 20) + '"]}')
    for wrong in (["pipe.csv"], ["tag.jsonl"], ["/dev/zero", "--format", "webdataset"]):
        done = tagloom("import", *wrong)
        assert (done.code, done.out) == (1, "")
        assert done.err.count("\n") == 1
        assert len(done.err) < 500
