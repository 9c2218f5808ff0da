"""Measure how a Python package is built: how large it is, how its modules hang together, what reaches into what.

Usage: ``python tools/house.py [PACKAGE …]``: folders of packages (default: src/tagloom here), one column for each.

Internal imports are statements that import from the package itself, wherever they stand. Figures of other packages are
per 1,000 lines, blank ones and comments included: skrub has 9.5, skglm 12.9. A module is imported by whoever uses a
name that its package makes public, or names it in a string for another process.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
#: What the standard library, and scikit-learn for its estimators, call private and mean for everybody.
GIVEN = {"_replace", "_asdict", "_fields", "_make", "_exit", "_getframe", "_validate_params"}
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def is_private(name: str) -> bool:
    """Tell whether a name is private: it starts with one underscore."""
    return name.startswith("_") and not name.startswith("__")


class House:
    """One package, read once: its modules by their names, and what its packages make public."""

    def __init__(self, root: Path) -> None:
        self.root, self.name = root, root.name
        self.trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.py"))}
        self.modules = {self.dotted(path): path for path in self.trees}
        self.faces: dict[str, dict[str, str]] = defaultdict(dict)
        for path in sorted(root.rglob("__init__.py*")):
            for module, names in self.imports(path):
                self.faces[self.dotted(path)] |= {name: f"{module}.{name}" for name in names}

    def dotted(self, path: Path) -> str:
        """Return the name that a module is imported by."""
        parts = (self.name, *path.relative_to(self.root).with_suffix("").parts)
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def imports(self, path: Path, top: bool = False) -> Iterator[tuple[str, list[str]]]:
        """Yield module and names of each statement that imports from this package; ``top``: those run on import."""
        here = self.dotted(path).split(".")
        tree = self.trees.get(path) or ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body if top else ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from ((item.name, []) for item in node.names if item.name.split(".")[0] == self.name)
            elif isinstance(node, ast.ImportFrom):
                up = here[: len(here) + (path.stem == "__init__") - node.level] if node.level else []
                module = ".".join([*up, *([node.module] if node.module else [])])
                if module.split(".")[0] == self.name:
                    yield module, [item.name for item in node.names]

    def home(self, name: str) -> str:
        """Return the module in which a dotted name lies, followed through what packages make public."""
        while name and name not in self.modules:
            module, _, last = name.rpartition(".")
            name = self.faces.get(module, {}).get(last, module)
        return name

    def needed(self, path: Path, top: bool = False) -> set[str]:
        """Return the modules that a module imports, or names for another process; ``top``: those imported with it."""
        found = {self.home(f"{m}.{name}") for m, names in self.imports(path, top) for name in names or [""]}
        texts = (str(node.value) for node in ast.walk(self.trees[path]) if isinstance(node, ast.Constant) and not top)
        found |= {self.home(text.replace(":", ".")) for text in texts if re.fullmatch(rf"{self.name}[.\w]+:?\w+", text)}
        return found - {self.dotted(path), self.name, ""}

    def circles(self) -> list[str]:
        """Return the modules that import themselves round about, before any of their functions is called."""
        above = {name: self.needed(path, top=True) for name, path in self.modules.items()}
        while low := [name for name, needs in above.items() if not needs & above.keys()]:
            above = {name: needs for name, needs in above.items() if name not in low}
        return sorted(above)

    def code_lines(self, path: Path) -> int:
        """Count the lines that are neither blank nor comment nor docstring."""
        told: set[int] = set()
        for node in ast.walk(self.trees[path]):
            if isinstance(node, (ast.Module, *DEFINITIONS)) and ast.get_docstring(node, clean=False) is not None:
                told.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
        spans = (range(token.start[0], token.end[0] + 1) for token in tokens if token.type not in SILENT)
        return len({line for span in spans for line in span} - told)

    def single_importers(self) -> dict[str, str]:
        """Return the modules, packages apart, that exactly one other needs, and which."""
        users = defaultdict(list)
        for name, path in self.modules.items():
            for module in self.needed(path):
                users[module].append(name)
        return {m: users[m][0] for m, path in self.modules.items() if path.stem != "__init__" and len(users[m]) == 1}

    def shared_names(self) -> dict[str, list[str]]:
        """Return the public classes defined more than once, and where."""
        homes = defaultdict(list)
        for module, path in self.modules.items():
            for node in self.trees[path].body:
                if isinstance(node, ast.ClassDef) and not is_private(node.name):
                    homes[node.name].append(module)
        return {name: where for name, where in homes.items() if len(where) > 1}

    def past_faces(self) -> list[str]:
        """Return the imports from a file of another package of nothing but what that package's face has."""
        past = []
        for here, path in self.modules.items():
            for module, names in self.imports(path):
                face = ".".join(module.split(".")[:2])
                is_outside = face != ".".join(here.split(".")[:2]) and module not in self.faces
                has = self.faces.get(face, {})
                if is_outside and names and all(has.get(name) == f"{module}.{name}" for name in names):
                    past.append(f"{here} imports {', '.join(names)} from {module}")
        return past

    def owner(self, name: str) -> str:
        """Return the package that a private name belongs to, with a dot; nothing for a public name."""
        parts = name.split(".")
        package = parts[: next((at for at, part in enumerate(parts) if is_private(part)), 0)]
        while package and not self.root.parent.joinpath(*package).is_dir():
            package.pop()
        return "".join(f"{part}." for part in package)

    def private_imports(self) -> list[str]:
        """Return the imports of a private name from outside the package that it belongs to."""
        return [
            f"{here} imports {module}.{name}"
            for here, path in self.modules.items()
            for module, names in self.imports(path)
            for name in names or [""]
            if not f"{here}.".startswith(self.owner(f"{module}.{name}"))
        ]

    def reached_attributes(self) -> list[str]:
        """Return the private attributes taken of what another module defines, and no base of the class at hand."""
        reached = []
        for module, path in self.modules.items():
            nodes = list(ast.walk(self.trees[path]))
            own = GIVEN | {node.name for node in nodes if isinstance(node, DEFINITIONS)}
            own |= {node.id for node in nodes if isinstance(node, ast.Name)}
            taken = [node for node in nodes if isinstance(node, ast.Attribute) and is_private(node.attr)]
            of_self = [getattr(node.value, "id", "") in ("self", "cls") for node in taken]
            own |= {node.attr for node, inside in zip(taken, of_self, strict=True) if inside}
            reached += [f"{module}:{node.lineno} {node.attr}" for node in taken if node.attr not in own]
        return reached

    def figures(self) -> dict[str, float]:
        """Return every figure by its name."""
        lines = [path.read_text(encoding="utf-8").count("\n") for path in self.modules.values()]
        n_code = sum(map(self.code_lines, self.trees))
        n_imports = sum(1 for path in self.trees for _ in self.imports(path))
        return {
            "modules": len(lines),
            "lines": sum(lines),
            "lines of code (no blanks, comments, docstrings)": n_code,
            "median module (lines)": median(lines),
            "largest folder (modules)": max(Counter(path.parent for path in self.trees).values()),
            "internal imports": n_imports,
            "internal imports per 1,000 lines": round(1000 * n_imports / sum(lines), 1),
            "internal imports per 1,000 lines of code": round(1000 * n_imports / n_code, 1),
            "modules with exactly one importer": len(self.single_importers()),
            "modules in circles of imports": len(self.circles()),
            "public classes defined twice": len(self.shared_names()),
            "private imports across packages": len(self.private_imports()),
            "private attributes reached from outside": len(self.reached_attributes()),
        }


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent / "src" / "tagloom"
    columns = [House(Path(name)).figures() for name in sys.argv[1:] or [here]]
    for name in columns[0]:
        print(f"{name:50}", *(f"{column[name]:>9,}" for column in columns))
