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


def test_a_project_below_is_named(tagloom, photos, tmp_path, monkeypatch):
    tagloom("init", photos)
    monkeypatch.chdir(photos)
    done = tagloom("init", "..")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert f"{str(photos)!r}, a folder below '..', has a project already; work there: cd" in done.err
    assert "tagloom init .. --project DIR" in done.err
    assert not (tmp_path / ".tagloom").exists()
    assert tagloom("init", "..", "--project", tmp_path / "whole").code == 0
    assert tagloom("init", ".").code == 0  # its own project is no other


def test_a_project_above_is_named(tagloom, photos):
    tagloom("init", photos)
    (photos / "2024" / "summer").mkdir(parents=True)
    done = tagloom("init", photos / "2024" / "summer")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert f"belong to the project of {str(photos)!r}, a folder above; work there: cd" in done.err
    assert not (photos / "2024" / "summer" / ".tagloom").exists()


def test_a_store_of_features_is_no_project(tagloom, photos, tmp_path):
    from tagloom.store.project import ProjectStore

    with ProjectStore(photos / ".tagloom", photos):
        pass
    assert tagloom("init", tmp_path).code == 0
