"""The page about figures shows what its examples write."""

import re

import pytest

from tagloom import plotting
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "how-to" / "draw-figures.md").read_text(encoding="utf-8")


def test_pictures_are_those_that_the_examples_save():
    saved = re.findall(r'savefig\("([a-z-]+\.svg)"\)\n```', PAGE)
    shown = re.findall(r"^!\[[^]]+\]\(\.\./figures/(.+)\)$", PAGE, flags=re.MULTILINE)
    assert saved == shown
    assert sorted(saved) == sorted(path.name for path in (ROOT / "docs" / "figures").iterdir())


@pytest.mark.parametrize("name", plotting.__all__)
def test_every_figure_has_a_section(name):
    assert f"`{name}(" in PAGE
    assert f"ax = {name}(" in PAGE
