"""How the source is built: what a package keeps to itself, and names that mean one thing."""

import ast
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
