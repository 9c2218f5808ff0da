import io
from typing import get_args

import pytest

from tagloom.tuning.queries import QueryStrategy


def _labeled(tagloom):
    return {row["photo"] for row in tagloom("suggest", "--json", "-n", 0).json["suggestions"]}


def test_names_one_per_line_that_label_takes(tagloom, project):
    done = tagloom("next", "-n", 3)
    names = done.out.splitlines()
    assert len(names) == 3
    assert set(names) <= _labeled(tagloom)  # suggestions are for unlabelled photos
    assert "Unlabelled photos" in done.err
    assert tagloom("label", *names, "--add", "seen").code == 0
    again = tagloom("next", "-n", 100, "-q")
    assert again.err == ""
    assert len(again.out.splitlines()) == 7
    assert not set(again.out.splitlines()) & set(names)


def test_names_that_do_not_fit_on_a_line_go_through(tagloom, project):
    unlabelled = tagloom("next", "-n", 100, "-q").out.splitlines()
    odd = ["new\nline.jpg", "new\\nline.jpg", "100%\x07.jpg", "no\u00a0break.jpg"]
    for number, name in enumerate(odd):
        (project / unlabelled[number]).rename(project / name)
    tagloom("scan", "-q")
    names = tagloom("next", "-n", 100, "-q").out.splitlines()
    assert len(names) == 10
    assert {"bytes://new%0Aline.jpg", "new\\nline.jpg", "bytes://100%25%07.jpg"} <= set(names)
    assert tagloom("label", *names, "--add", "odd").code == 0
    assert tagloom("next", "-n", 100, "-q").out == ""


def test_json(tagloom, project):
    found = tagloom("next", "--json").json
    assert found["photos"] == tagloom("next", "-q").out.splitlines()
    assert (len(found["photo_ids"]), found["n_unlabeled"]) == (10, 10)
    assert found["strategy"] in get_args(QueryStrategy)


def test_a_terminal_gets_a_table(tagloom, project, monkeypatch):
    names = tagloom("next", "-q").out.splitlines()
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stdout", terminal)
    tagloom("next", "-q")
    shown = terminal.getvalue()
    assert "10 of 10 unlabelled" in shown
    assert all(name in shown for name in names)


def test_strategies(tagloom, project):
    assert sorted(tagloom("next", "--strategy", "cover", "-q").out.split()) == sorted(_labeled(tagloom))
    done = tagloom("next", "--strategy", "best")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert all(name in done.err for name in get_args(QueryStrategy))
    done = tagloom("next", "--strategy", "rare")  # ten labelled photos: the model's numbers are scores
    assert (done.code, done.out) == (1, "")
    assert "tagloom train" in done.err


@pytest.mark.parametrize("wrong", [["-n", 0], ["-n", "many"], ["extra"]])
def test_wrong_usage(tagloom, project, wrong):
    assert tagloom("next", *wrong).code == 2


def test_nothing_there_yet(tagloom, tmp_path):
    tagloom("init", tmp_path)
    done = tagloom("next", "--project", tmp_path)
    assert (done.code, done.out) == (0, "")
    assert "no readable photo" in done.err
