import pytest
from PIL import Image


def _sidecars(folder):
    return sorted(path.name for path in folder.glob("*.xmp"))


def test_a_dry_run_then_sidecars_then_back(tagloom, project):
    tagloom("label", "scene_00000.jpg", "--add", "Places|Coast")
    plan = tagloom("write", "--dry-run")
    assert plan.code == 0
    assert "+ Places|Coast" in plan.out
    assert _sidecars(project) == []
    done = tagloom("write", "--json", "-q").json
    assert done["counts"] == {"written": len(_sidecars(project))}
    assert done["n_suggested"] == 0
    assert "unchanged" in tagloom("write", "-q").out
    undone = tagloom("undo", "--json").json
    assert undone["n_files"] == done["counts"]["written"]
    assert _sidecars(project) == []


def test_a_dry_run_lists_every_item_of_every_field_and_what_a_field_spells_differently(tagloom, project):
    tagloom("label", "scene_00000.jpg", "--add", "AC/DC", "--add", "Places|Coast")
    plan = tagloom("write", "--dry-run", "scene_00000.jpg")
    for line in (
        "scene_00000.jpg.xmp, dc:subject: + AC/DC  + Coast  + Places",
        "scene_00000.jpg.xmp, lr:hierarchicalSubject: + AC/DC  + Places|Coast",
        "scene_00000.jpg.xmp, digiKam:TagsList: + AC\\DC  + Places/Coast",
    ):
        assert all(part in plan.out for part in line.split("  "))
    note = "scene_00000.jpg: 'AC/DC' is written to digiKam:TagsList as 'AC\\DC': '/' separates levels there"
    assert note in plan.err
    done = tagloom("write", "scene_00000.jpg")
    assert note in done.err
    assert "dc:subject" not in done.out


def test_suggestions_only_if_asked(tagloom, project):
    name = tagloom("suggest", "--json", "-n", 1).json["suggestions"][0]["photo"]
    assert tagloom("write", name, "--dry-run", "--json").json["files"] == []
    asked = tagloom("write", name, "--dry-run", "--threshold", -1e9, "--uncalibrated")
    assert "~ " in asked.out
    assert tagloom("write", "--suggested", "--uncalibrated", "--dry-run", "--json").json["n_suggested"] > 0


@pytest.mark.parametrize("options", [("--suggested",), ("--threshold", -1e9)])
def test_scores_that_are_not_calibrated_stay_in_the_project(tagloom, project, options):
    done = tagloom("write", "--dry-run", *options)
    assert "not calibrated yet: label 10 more photos" in done.out
    told = tagloom("write", "--dry-run", "--json", *options).json
    assert told["n_suggested"] == 0
    assert "--uncalibrated" in told["withheld"]


def test_a_file_that_fails_is_said_and_the_others_are_written(tagloom, project):
    tagloom("label", "scene_00000.jpg", "scene_00001.jpg", "--add", "sea")
    (project / "scene_00000.jpg.xmp").write_text("<broken")
    done = tagloom("write", "-q")
    assert done.code == 1
    assert done.err.startswith("tagloom: scene_00000.jpg: ")
    assert done.err.count("\n") == 1
    assert "scene_00001.jpg.xmp" in _sidecars(project)


def test_embedding_needs_exiftool(tagloom, project, monkeypatch):
    monkeypatch.setenv("PATH", "")
    done = tagloom("write", "--embed", "-q")
    assert done.code == 1
    assert "exiftool" in done.err


def test_iptc_is_for_photos(tagloom, project):
    done = tagloom("write", "--iptc", "-q")
    assert done.code != 0
    assert "--embed" in done.err


@pytest.mark.medium
def test_embedding_falls_back_to_sidecars(tagloom, project, exiftool):
    Image.new("RGB", (40, 30), "red").save(project / "red.gif")
    tagloom("scan", "-q")
    tagloom("label", "red.gif", "scene_00000.jpg", "--add", "sea")
    done = tagloom("write", "red.gif", "scene_00000.jpg", "--embed")
    assert done.code == 0, done.err
    assert "1 sidecar instead" in done.out + done.err
    assert _sidecars(project) == ["red.gif.xmp"]


@pytest.mark.medium
def test_embedding(tagloom, project, exiftool):
    before = (project / "scene_00000.jpg").read_bytes()
    tagloom("label", "scene_00000.jpg", "--add", "sea")
    done = tagloom("write", "scene_00000.jpg", "--embed", "--json", "-q")
    assert done.json["counts"] == {"written": 1}
    assert (project / "scene_00000.jpg").read_bytes() != before
    assert tagloom("undo").code == 0
    assert (project / "scene_00000.jpg").read_bytes() == before
