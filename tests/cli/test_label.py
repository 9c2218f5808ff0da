import os
import pwd
import shutil
import subprocess
import sys

SCRIPT = """
import sys
from tagloom.cli import main
try:
    main(["label", "scene_00000.jpg", "--add", "sea", *sys.argv[1:]])
except SystemExit as end:
    assert not end.code
heavy = {"pydantic", "numpy", "scipy", "sklearn", "PIL", "cv2", "faiss", "onnx", "onnxruntime", "rich", "lxml"}
heavy &= set(sys.modules)
assert not heavy, heavy
assert not any(name.startswith(("tagloom.features", "tagloom.metadata", "tagloom.methods")) for name in sys.modules)
"""


def test_add_remove_clear(tagloom, project):
    done = tagloom(
        "label", "scene_00000.jpg", "scene_00001.jpg", "--add", "sea", "-a", "Places|Coast", "--remove", "snow"
    )
    assert done.code == 0
    assert done.out.startswith("2 photos, ")
    assert "new tags: Places|Coast" in done.out
    again = tagloom("label", "scene_00000.jpg", "scene_00001.jpg", "--add", "sea", "--json").json
    assert (again["batch"], again["n_decisions"]) == (None, 0)
    cleared = tagloom("label", "scene_00000.jpg", "--clear", "sea", "--json").json
    assert (cleared["n_decisions"], cleared["batch"]["who"]) == (1, "tester")
    assert tagloom("label", "scene_00000.jpg", "--add", "sea", "-q").out == ""


def test_a_name_is_relative_to_the_current_folder(tagloom, project, monkeypatch):
    (project / "sub").mkdir()
    (project / "scene_00000.jpg").rename(project / "sub" / "scene_00001.jpg")
    tagloom("scan", "-q")
    monkeypatch.chdir(project / "sub")
    tagloom("label", "scene_00001.jpg", "--add", "here")
    rows = tagloom("history", "--photo", project / "sub" / "scene_00001.jpg", "--json").json["actions"]
    assert rows[0]["label"].endswith("+here")


def test_all_or_nothing(tagloom, project):
    for wrong in (
        ["nowhere.jpg", "--add", "sea"],
        ["scene_00000.jpg", "nowhere.jpg", "--add", "fresh"],
        ["scene_00000.jpg"],
        ["scene_00000.jpg", "--add", "sea", "--remove", "sea"],
        ["scene_00000.jpg", "--add", "unheard", "--known-tags"],
        ["scene_00000.jpg", "--remove", "unheard"],
    ):
        done = tagloom("label", *wrong)
        assert (done.code, done.out) == (1, "")
        assert done.err.count("\n") == 1
    assert not {"fresh", "unheard"} & {tag["text"] for tag in tagloom("tags", "--json").json["tags"]}


def test_it_imports_nothing_heavy(project):
    for more in ([], ["--project", "."], ["--json", "--remove", "snow", "-q"]):
        subprocess.run([sys.executable, "-c", SCRIPT, *more], check=True, cwd=project, stdout=subprocess.DEVNULL)


def test_a_name_without_its_folder_is_not_left_in_the_dark(tagloom, project):
    (project / "2023").mkdir()
    (project / "scene_00003.jpg").rename(project / "2023" / "IMG_0001.JPG")
    (project / "scene_00004.jpg").unlink()
    tagloom("scan", "-q")
    done = tagloom("label", "2024/img_0001.jpg", "--add", "sea")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "Did you mean '2023/IMG_0001.JPG'?" in done.err
    assert "was not there at the last scan" in tagloom("label", "scene_00004.jpg", "--add", "sea").err
    assert "If the file is new: tagloom scan" in tagloom("label", "other.jpg", "--add", "sea").err


def test_bare_names_mean_photos_anywhere_as_in_a_labels_file(tagloom, project, monkeypatch):
    for folder, scene, name in (("a", 3, "ONE.JPG"), ("a", 4, "two.jpg"), ("b", 5, "two.jpg")):
        (project / folder).mkdir(exist_ok=True)
        (project / f"scene_0000{scene}.jpg").rename(project / folder / name)
    tagloom("scan", "-q")
    assert tagloom("label", "ONE.JPG", "--add", "sea", "--json").json["n_decisions"] == 1
    assert tagloom("label", "one.jpg", "--add", "sea", "--json").json["n_decisions"] == 0  # the same photo
    several = tagloom("label", "two.jpg", "--add", "sea")
    assert (several.code, several.err.count("\n")) == (1, 1)
    assert "'two.jpg' could be any of 2 photos: 'a/two.jpg', 'b/two.jpg'" in several.err
    # The photo in the current folder goes first, and a new file there is not taken for another photo of that name.
    monkeypatch.chdir(project / "b")
    assert tagloom("label", "two.jpg", "--add", "sea", "--json").json["n_decisions"] == 1
    shutil.copy("two.jpg", "ONE.JPG")
    assert "If the file is new: tagloom scan" in tagloom("label", "ONE.JPG", "--add", "new").err


def test_long_keywords_do_not_flood_the_terminal(tagloom, project):
    long = "x" * 1500
    assert len(tagloom("label", "scene_00000.jpg", "--add", long).out) < 250
    assert len(tagloom("tags").out) < len(tagloom("tags", "-v").out)
    assert "x" * 100 not in tagloom("tags").out
    assert "x" * 100 not in tagloom("history").out
    assert long in tagloom("tags", "--json").out


def test_who_is_at_work_without_variables(tagloom, project, monkeypatch):
    for name in ("TAGLOOM_WHO", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    tagloom("label", "scene_00000.jpg", "--add", "fresh")
    expected = pwd.getpwuid(os.getuid()).pw_name
    assert tagloom("history", "--json").json["actions"][0]["who"] == expected


def test_messages_name_what_there_is(tagloom, project):
    assert "flag --neighbors" in tagloom("train", "--neighbors", 0).err
    assert "flag --groups" in tagloom("train", "--groups", "").err
    assert "no action has the number 9999" in tagloom("undo", 9999).err
    assert "photos is a folder without metadata.jsonl" in tagloom("import", ".").err


def test_a_typing_error_is_asked_about_and_new_makes_it_anyway(tagloom, project):
    tagloom("label", "scene_00000.jpg", "--add", "zebra")
    done = tagloom("label", "scene_00001.jpg", "--add", "zebr")
    assert done.code == 1
    assert "did you mean 'zebra'?" in done.err
    assert "--new" in done.err
    assert "zebr" not in {tag["text"] for tag in tagloom("tags", "--json").json["tags"]}
    made = tagloom("label", "scene_00001.jpg", "--add", "zebr", "--new")
    assert "new tags: zebr" in made.out
    assert "tagloom tags merge zebr zebra" in tagloom("tags").out


def test_another_spelling_means_the_same_tag(tagloom, project):
    tagloom("label", "scene_00000.jpg", "--add", "Zebra")
    done = tagloom("label", "scene_00001.jpg", "--add", "ZEBRA")
    assert '"ZEBRA" is the tag "Zebra"' in done.out
    (zebra,) = [tag for tag in tagloom("tags", "--json").json["tags"] if tag["text"].lower() == "zebra"]
    assert (zebra["text"], zebra["n_yes"]) == ("Zebra", 2)


def test_a_list_is_pointed_out_with_the_command_that_splits_it(tagloom, project):
    done = tagloom("label", "scene_00000.jpg", "--add", "pier, quay")
    command = "tagloom tags split 'pier, quay' --separator \",\""
    assert f'"pier, quay" looks like 2 tags. To split it: {command}' in done.out
    assert done.out.startswith("1 photo, 1 new decision (action ")
    assert 'new tags: "pier, quay"\n' in done.out  # one tag, and shown as one
    assert tagloom("label", "scene_00001.jpg", "--add", "pier, quay").out.count("\n") == 1  # said once
    assert tagloom("label", "scene_00000.jpg", "--add", "oak, elm", "--json").json["hints"]
    assert "looks like" not in tagloom("label", "scene_00000.jpg", "--add", "ash, yew", "--new").out
    both = tagloom("label", "scene_00000.jpg", "--add", "walrus", "--add", "walrsu").out
    assert "looks like" in both
