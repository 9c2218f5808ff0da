"""The reference pages follow from the code: they are up to date, and every public name is on one of them."""

import importlib
import re

import pytest

from tests.pages import ROOT
from tools.reference import GALLERY, PACKAGES, pages

PAGES = pages()
API = "\n".join(text for path, text in PAGES.items() if path.parent.name == "api")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_page_is_up_to_date(path):
    assert path.read_text(encoding="utf-8") == PAGES[path], "run: python tools/reference.py"


@pytest.mark.parametrize("package", [*PACKAGES, "tagloom.methods.baselines"])
def test_every_public_name_has_an_entry(package):
    module = importlib.import_module(package)
    documented = [_thing(name) for name in re.findall(r"^::: ([\w.]+)$", API, re.MULTILINE)]
    for name in module.__all__:
        thing = getattr(module, name)
        assert name == "__version__" or any(thing is each for each in documented), f"{package}.{name}"


def test_no_name_has_two_entries():
    names = re.findall(r"^::: ([\w.]+)$", API, re.MULTILINE)
    assert len(names) == len(set(names)) > 200


def _thing(path):
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", GALLERY)
def test_scripts_of_the_gallery_are_short(name):
    """What they do is checked where the examples of all pages are run; tests/test_public.py."""
    assert len((ROOT / "docs" / "gallery" / f"{name}.py").read_text(encoding="utf-8").splitlines()) < 60
