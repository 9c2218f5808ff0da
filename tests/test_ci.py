"""What CI calls exists, so that a stage cannot rot unseen on a machine that we do not have."""

import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hiding import TOOLS
from tests.pages import ROOT

FILES = [".github/workflows/ci.yml", ".ci/run", ".ci/wheel", ".ci/bare"]


@pytest.mark.parametrize("name", FILES)
def test_make_targets_exist(name):
    targets = set(re.findall(r"^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    text = re.sub(r"#.*", "", (ROOT / name).read_text(encoding="utf-8"))
    called = re.findall(r"(?:^|run:|&&|bare)\s*make((?: [a-z-]+\b(?!=))+)", text, flags=re.MULTILINE)
    assert called
    assert {word for words in called for word in words.split()} <= targets


def test_all_hidden_tools_are_looked_for_in_the_bare_stage():
    text = (ROOT / ".ci" / "bare").read_text(encoding="utf-8")
    looked_for = re.search(r"^for tool in (.+); do$", text, flags=re.MULTILINE).group(1).split()
    assert all(set(programs) & set(looked_for) for programs in TOOLS.values())


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permission")
@pytest.mark.parametrize("name", FILES[1:])
def test_scripts_can_be_started(name):
    assert os.access(ROOT / name, os.X_OK)


def test_property_tests_try_the_same_examples_unless_fuzzing(pytestconfig):
    def examples():
        tried = []
        given(st.integers())(lambda number: tried.append(number))()
        return tried

    assert (examples() == examples()) == settings.default.derandomize
    assert settings.default.derandomize == (pytestconfig.getoption("hypothesis_profile") in (None, "same"))
