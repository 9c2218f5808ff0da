"""A small project that is scanned, labelled and trained once, and a way to run commands in this process."""

import json
import shutil
from dataclasses import dataclass
from functools import cache

import pytest
import typer.main

from tagloom.cli import main
from tagloom.datasets import write_scenes
from tagloom.project.project import Project

LIGHT = {"TAGLOOM_DESCRIPTORS": "color", "TAGLOOM_METHOD": "ridge", "TAGLOOM_N_WORKERS": "1", "TAGLOOM_N_THREADS": "1"}


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def _light(monkeypatch):
    """Cheap features, a wide terminal, a known name, and no project from outside."""
    for name, value in (LIGHT | {"COLUMNS": "200", "TAGLOOM_WHO": "tester"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TAGLOOM_PROJECT", raising=False)


# A process builds its tree of commands once. Here hundreds of commands run in one, and most are shorter than that.
built_once = cache(typer.main.get_command)


@pytest.fixture
def tagloom(capsys, monkeypatch):
    """Return a function that runs a command line and returns exit code, standard output and standard error."""
    monkeypatch.setattr(typer.main, "get_command", built_once)

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(item) for item in arguments])
        out, err = capsys.readouterr()
        return Done(end.value.code or 0, out, err)

    return run


@pytest.fixture(scope="session")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "photos"
    write_scenes(folder, 20, size=(96, 64), labeled=0.5, random_state=0)
    return folder


@pytest.fixture(scope="session")
def trained(scenes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "photos"
    shutil.copytree(scenes, folder)
    flags = {"descriptors": "color", "method": "ridge", "n_workers": 1, "n_threads": 1}
    with Project.init(folder, flags=flags) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        project.train()
    return folder


@pytest.fixture
def photos(scenes, tmp_path):
    """Return a folder of photos without a project."""
    return shutil.copytree(scenes, tmp_path / "photos")


@pytest.fixture
def project(trained, tmp_path, monkeypatch):
    """Return a folder of photos with a trained project, and make it the current folder."""
    folder = shutil.copytree(trained, tmp_path / "photos")
    monkeypatch.chdir(folder)
    return folder
