import subprocess
import sys
from importlib import metadata

import pytest

from tagloom.exceptions import InvalidInputError, ModelError
from tagloom.features import (
    ColorDescriptor,
    EdgeDescriptor,
    available_descriptors,
    available_groups,
    get_descriptor,
    registry,
    resolve_descriptors,
)
from tagloom.features.network import faces


@pytest.fixture
def installed(monkeypatch):
    """Return a function that pretends another package brought entry points."""

    def install(**values):
        points = {name: metadata.EntryPoint(name, value, registry.ENTRY_POINT_GROUP) for name, value in values.items()}
        monkeypatch.setattr(registry, "_entry_points", lambda: points)

    return install


def test_built_in():
    assert available_descriptors()[:3] == ("deep", "color", "edges")
    groups = available_groups()
    assert {group for group, name in groups.items() if group != name} == {"semantic", "moments", "audio:mfcc"}
    assert (groups["semantic"], groups["moments"]) == ("deep", "color")
    assert set(groups) == {"semantic", "moments", "audio:mfcc", *available_descriptors()} - {"audio"}


def test_parameters_are_passed_on():
    assert get_descriptor("edges", threshold=30.0).parameters["threshold"] == 30
    with pytest.raises(InvalidInputError, match="'edges' cannot be made with \\['colour'\\]"):
        get_descriptor("edges", colour=1)


def test_unknown_names_list_what_there_is():
    with pytest.raises(InvalidInputError, match="no descriptor 'sift'; there are deep, color, edges, "):
        get_descriptor("sift")
    with pytest.raises(InvalidInputError, match=r"groups: deep, semantic, color, .*; descriptors: deep"):
        resolve_descriptors(["sift"])


def test_default_set():
    descriptors, groups = resolve_descriptors(None)
    assert [one.name for one in descriptors] == ["deep", "color", "edges"]
    assert groups == ["deep", "semantic", "color", "moments", "edges"]


def test_groups_share_their_descriptor():
    descriptors, groups = resolve_descriptors(["moments", "edges", "color"])
    assert [one.name for one in descriptors] == ["color", "edges"]
    assert groups == ["moments", "edges", "color"]
    assert resolve_descriptors("moments")[1] == ["moments"]


def test_a_descriptor_gives_all_its_groups():
    given = ColorDescriptor(size=100)
    descriptors, groups = resolve_descriptors([given])
    assert descriptors == [given]
    assert groups == ["color", "moments"]


def test_one_group_from_two_descriptors_is_an_error():
    with pytest.raises(InvalidInputError, match="'edges' would come from two descriptors"):
        resolve_descriptors(["edges", EdgeDescriptor(threshold=10.0)])


def test_entry_points(installed):
    installed(
        extra="tagloom.features.classic.edges:EdgeDescriptor", another="tagloom.features.classic.color:ColorDescriptor"
    )
    assert available_descriptors()[:3] == ("deep", "color", "edges")
    assert available_descriptors()[-2:] == ("another", "extra")
    assert isinstance(get_descriptor("extra", size=99), EdgeDescriptor)
    # A group stays with its first descriptor; the name of the other gives all groups of the other.
    assert available_groups()["edges"] == "edges"
    assert resolve_descriptors(["extra"])[1] == ["edges"]


def test_an_entry_point_does_not_replace_a_built_in_one(installed):
    installed(edges="tagloom.features.classic.color:ColorDescriptor")
    assert isinstance(get_descriptor("edges"), EdgeDescriptor)
    assert available_descriptors().count("edges") == 1


def test_broken_entry_points(installed):
    installed(gone="no_such_package.module:Thing", wrong="builtins:dict")
    with pytest.raises(InvalidInputError, match=r"'gone' .* cannot be loaded: ModuleNotFoundError"):
        get_descriptor("gone")
    with pytest.raises(InvalidInputError, match=r"gives a dict, which lacks name, version, outputs, .*key"):
        get_descriptor("wrong")
    # They are in nobody's way.
    assert available_groups()["moments"] == "color"
    assert resolve_descriptors(["edges"])[1] == ["edges"]
    with pytest.raises(InvalidInputError, match="cannot be loaded"):
        resolve_descriptors(["gone"])


def test_a_group_whose_package_is_not_installed_is_listed(monkeypatch):
    """Asking what there is must not ask for the key, which names the model's file."""
    monkeypatch.setattr(faces, "DETECTOR_PACKAGE", "no_such_package")
    assert available_groups()["faces"] == "faces"
    descriptor = get_descriptor("faces")
    assert list(descriptor.outputs) == ["faces"]
    with pytest.raises(ModelError, match="no_such_package"):
        _ = descriptor.key
    assert resolve_descriptors(["deep", "color", "gist"])[1] == ["deep", "color", "gist"]
    with pytest.raises(ModelError, match="leave the group out"):
        resolve_descriptors(["faces"])


def test_the_entry_points_of_this_environment_are_read():
    assert set(registry._entry_points()) == {
        point.name for point in metadata.entry_points(group=registry.ENTRY_POINT_GROUP)
    }


def test_names_cost_no_heavy_import():
    code = (
        "import sys, tagloom.features as f; f.available_descriptors(); f.resolve_descriptors(None); "
        "print([name for name in ('onnx', 'onnxruntime', 'sklearn', 'faiss') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
