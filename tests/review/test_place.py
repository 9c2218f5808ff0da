import shutil

import pytest

from tagloom.catalog.identity import last_port, project_identity, remember_port
from tagloom.store.project import ProjectStore


@pytest.fixture
def folder(tmp_path):
    with ProjectStore(tmp_path / "one" / ".tagloom"):
        return tmp_path / "one" / ".tagloom"


def _identity(folder):
    with ProjectStore(folder, make=False) as store:
        return project_identity(store)


def test_a_project_is_the_same_at_every_start(folder, tmp_path):
    first = _identity(folder)
    assert first == _identity(folder)
    (tmp_path / "link").symlink_to(folder.parent)
    assert first == _identity(tmp_path / "link" / ".tagloom")
    assert str(tmp_path) not in first


def test_a_copy_and_a_project_made_anew_are_others(folder, tmp_path):
    first = _identity(folder)
    assert _identity(shutil.copytree(folder.parent, tmp_path / "copy") / ".tagloom") != first
    assert _identity(folder) == first
    shutil.rmtree(folder)
    with ProjectStore(folder):
        pass
    assert _identity(folder) != first


def test_the_port_is_kept(folder):
    with ProjectStore(folder, make=False) as store:
        assert last_port(store) == 0
        remember_port(store, 40_000)
    with ProjectStore(folder, make=False) as store:
        assert last_port(store) == 40_000


@pytest.mark.parametrize("kept", ["40000", -1, 70_000, 1.5, True])
def test_a_port_that_makes_no_sense_is_none(folder, kept):
    with ProjectStore(folder, make=False) as store:
        store.settings.set("review_port", kept)
        assert last_port(store) == 0
