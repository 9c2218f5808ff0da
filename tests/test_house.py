"""How the source is built: what a package keeps to itself, and names that mean one thing."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import tagloom

ROOT = Path(tagloom.__file__).parent
SOURCE = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}
MODULES = {path: ".".join(("tagloom", *path.relative_to(ROOT).with_suffix("").parts)) for path in SOURCE}


def imported(tree):
    """Yield the full name of everything of tagloom that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("tagloom"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tagloom"):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def owner(name):
    """Return the package that a private name belongs to; None for a public one."""
    parts = name.split(".")
    private = [at for at, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
    if not private:
        return None
    package = parts[: private[0]]
    while not (ROOT.parent / Path(*package)).is_dir():
        package.pop()
    return ".".join(package)


def test_private_names_are_imported_only_inside_their_package():
    wrong = [
        f"{MODULES[path]} imports {name}"
        for path, tree in SOURCE.items()
        for name in imported(tree)
        if (home := owner(name)) is not None and home != "tagloom" and not MODULES[path].startswith(f"{home}.")
    ]
    assert not wrong


def test_no_two_public_classes_share_a_name():
    homes = defaultdict(list)
    for path, tree in SOURCE.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(MODULES[path])
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


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
    users = {name for tree in SOURCE.values() for name in imported(tree)}
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
