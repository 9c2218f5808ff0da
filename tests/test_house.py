"""How the source is built: what a package keeps to itself, and names that mean one thing."""

import ast
import re
from pathlib import Path

import tagloom
from tools.house import House

ROOT = Path(tagloom.__file__).parent
HOUSE = House(ROOT)
SOURCE = HOUSE.trees
MODULES = {path: name for name, path in HOUSE.modules.items()}


def test_private_names_are_imported_only_inside_their_package():
    assert HOUSE.private_imports() == []


def test_private_attributes_are_taken_only_where_they_are_defined():
    assert HOUSE.reached_attributes() == []


def test_other_packages_are_imported_by_their_faces():
    assert HOUSE.past_faces() == []


def test_no_module_imports_itself_round_about():
    assert HOUSE.circles() == []


def test_no_two_public_classes_share_a_name():
    assert HOUSE.shared_names() == {}


TABLES = [ROOT / package / "constants.py" for package in ("tuning", "learning")]


def is_number(node):
    """Tell whether an expression is a number, or several: what somebody has tuned, or could."""
    leaves = [leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)]
    return bool(leaves) and all(type(leaf) in (int, float) for leaf in leaves)


def constants(path):
    """Yield name and line of every constant of a module that is a number."""
    for node in SOURCE[path].body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for name in (name for target in targets if target for name in ast.walk(target)):
            if isinstance(name, ast.Name) and name.id.isupper() and is_number(node.value):
                yield name.id, node.lineno


def test_tuned_constants_stand_in_the_table_of_their_package():
    packages = [path.parent for path in TABLES]
    elsewhere = {
        f"{MODULES[path]}.{name}"
        for path in SOURCE
        if path not in TABLES and any(package in path.parents for package in packages)
        for name, _ in constants(path)
    }
    versions = {"tagloom.tuning.auto.annotator.FORMAT", "tagloom.learning.stored_evaluation.FORMAT"}
    assert elsewhere == versions | {"tagloom.learning.next_photos._SEED"}


def test_every_tuned_constant_says_what_chose_it_and_is_used():
    origins = {"corel", "corel, caltech", "quality", "scenarios", "speed", "memory"}
    origins |= {"rounding", "usual", "reason", "no record"}
    users = {
        f"{HOUSE.home(f'{module}.{name}')}.{name}"
        for path in SOURCE
        for module, names in HOUSE.imports(path)
        for name in names
    }
    for path in TABLES:
        lines = path.read_text(encoding="utf-8").splitlines()
        loaded = {
            node.id for node in ast.walk(SOURCE[path]) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        for name, line in constants(path):
            # A constant without a comment shares that of the one before.
            comment = next(text for text in reversed(lines[: line - 1]) if text.startswith("#:"))
            assert (found := re.search(r"\[([a-z, ]+)\]$", comment)), name
            assert found[1] in origins, name
            assert f"{MODULES[path]}.{name}" in users or name in loaded, name
