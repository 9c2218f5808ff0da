def test_a_project_and_what_to_do_next(tagloom, photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = tagloom("init", "photos")
    assert done.code == 0
    assert (photos / ".tagloom" / "tagloom.sqlite").is_file()
    assert "tagloom scan --project photos" in done.out
    monkeypatch.chdir(photos)
    again = tagloom("init", ".")
    assert again.code == 0
    assert again.out.rstrip().endswith("tagloom scan")


def test_a_project_elsewhere(tagloom, photos, tmp_path, monkeypatch):
    done = tagloom("init", photos, "--project", tmp_path / "my project", "--json")
    assert done.json["root"] == str(photos)
    assert done.json["folder"] == str(tmp_path / "my project")
    assert not (photos / ".tagloom").exists()
    assert "--project '" in tagloom("status", "--project", tmp_path / "my project").out
    monkeypatch.setenv("TAGLOOM_PROJECT", str(tmp_path / "my project"))
    shown = tagloom("status")
    assert shown.code == 0
    assert "--project" not in shown.out


def test_no_folder_is_one_line(tagloom, tmp_path):
    done = tagloom("init", tmp_path / "nowhere")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("tagloom: expected a folder of photos")
    assert done.err.count("\n") == 1
