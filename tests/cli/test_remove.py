import io


def test_it_asks(tagloom, project, monkeypatch):
    for answer in ("", "n\n", "maybe\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        done = tagloom("remove", "--json")
        assert (done.code, done.out) == (1, "")
        assert "nothing was removed" in done.err
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    done = tagloom("remove")
    assert done.code == 0
    assert not (project / ".tagloom").exists()
    assert len(list(project.glob("*.jpg"))) == 20


def test_without_asking_and_only_what_is_ours(tagloom, project):
    foreign = project / ".tagloom" / "thesis.txt"
    foreign.write_text("mine")
    refused = tagloom("remove", "--yes")
    assert refused.code == 1
    assert "thesis.txt" in refused.err
    foreign.unlink()
    assert tagloom("remove", "--yes", "--json").json["n_files"] > 0
