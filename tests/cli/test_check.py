import os


def test_findings_have_their_own_exit_code(tagloom, project):
    clean = tagloom("check", "--checksums")
    assert (clean.code, clean.out) == (0, "no damage found\n")
    orphan = project / ".tagloom" / "models" / f"{'0' * 32}.safetensors"
    orphan.write_bytes(b"lost")
    found = tagloom("check", "--json")
    assert found.code == 1
    assert [item["kind"] for item in found.json["findings"]] == ["orphan"]
    assert "tagloom repair" in tagloom("check").out
    assert "orphan" in tagloom("repair").out
    assert not orphan.exists()
    assert tagloom("check").code == 0
    assert tagloom("repair", "--json").json == {"findings": []}


def test_missing_photos_are_findings(tagloom, project):
    os.remove(project / "scene_00000.jpg")
    tagloom("scan", "-q")
    done = tagloom("check")
    assert done.code == 1
    assert "missing" in done.out


def test_damage_is_one_line(tagloom, project):
    (project / ".tagloom" / "tagloom.sqlite").write_bytes(b"no database" * 1000)
    done = tagloom("check")
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
