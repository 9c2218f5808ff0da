"""Pinned versions: complete, of one mind, each with hashes, and without the address of an index."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PURPOSES = {
    "product": (),
    "develop": ("test", "check", "docs", "plot", "parquet", "raw", "video", "cluster"),
    "audit": ("audit",),
}
NEEDED = {
    purpose: PROJECT["dependencies"] + [item for name in extras for item in PROJECT["optional-dependencies"][name]]
    for purpose, extras in PURPOSES.items()
}
FILES = ["constraints.txt", *(f"requirements/{purpose}.txt" for purpose in PURPOSES)]


def _pins(name):
    """Return {(package, marker): (version, number of hashes)}."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    found = {}
    for line in text.splitlines()[1:]:
        words, *hashes = line.split("--hash=")
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64} *", digest) for digest in hashes)
        pin = Requirement(words.strip())
        (one,) = pin.specifier
        assert one.operator == "=="
        found[canonicalize_name(pin.name), str(pin.marker or "")] = (one.version, len(hashes))
    return found


@pytest.mark.parametrize("name", FILES)
def test_no_index_is_named(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-", text.replace("    --hash", ""), flags=re.MULTILINE)


@pytest.mark.parametrize("purpose", NEEDED)
def test_all_that_is_needed_is_pinned_by_hash_to_a_version_that_is_allowed(purpose):
    pins = _pins(f"requirements/{purpose}.txt")
    assert all(n_hashes for _, n_hashes in pins.values())
    for item in map(Requirement, NEEDED[purpose]):
        versions = [version for (name, _), (version, _) in pins.items() if name == canonicalize_name(item.name)]
        assert versions, f"{item.name} is not in requirements/{purpose}.txt: run make lock LOCK=--keep"
        assert all(item.specifier.contains(version) for version in versions), item


def test_the_files_name_the_same_versions():
    versions = {(name, version) for (name, _), (version, _) in _pins("constraints.txt").items()}
    found = [{(name, version) for (name, _), (version, _) in _pins(file).items()} for file in FILES[1:]]
    assert set().union(*found) == versions
    assert found[0] <= found[1]
