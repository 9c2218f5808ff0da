"""Collect every string that tagloom shows to people, each once, with the file it is in.

Usage: ``python tools/strings.py [help|messages|page|docstrings …]`` prints them, to be read in one sitting. The docs
build makes a page of them, and tests/test_words.py checks them for phrases that tagloom avoids.

Four kinds: *help* of commands and options; *messages*, the sentences in the package's Python files; *page*, the labels
of the review page and the report; *docstrings*, the first lines of public names.
"""

import ast
import html.parser
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "tagloom"
PACKAGES = ("", "datasets", "features", "graph", "kernels", "methods", "methods.baselines", "metrics", "plotting")
PACKAGES += ("solvers", "tuning")
SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|WHERE|ATTACH|SAVEPOINT|RELEASE|ROLLBACK|BEGIN|ALTER)\b")
SHOWN_ATTRIBUTES = {"title", "aria-label", "placeholder", "alt", "content"}

#: (file and line, text)
Found = Iterator[tuple[str, str]]


def is_prose(text: str) -> bool:
    """Tell whether a literal is something a person reads: two words at least, no SQL, no pattern, no CSS."""
    words = re.findall(r"[A-Za-z]{2,}", text)
    return (
        len(words) > 1
        and " " in text.strip()
        and not SQL.search(text)
        and not re.search(r"\(\?|\\[wds]|^\.|--\w+:", text)
    )


def help_texts() -> Found:
    """Yield the help of the program, of every command, argument and option."""
    import typer

    from tagloom.cli.app import NEXT_STEPS, app

    def walk(name: str, command: object) -> Found:
        yield name, " ".join((command.help or "").split())
        for one in command.params:
            if getattr(one, "help", None):
                yield f"{name} {max(one.opts, key=len)}", one.help
        for below, each in getattr(command, "commands", {}).items():
            yield from walk(f"{name} {below}", each)

    yield "tagloom", NEXT_STEPS
    yield from walk("tagloom", typer.main.get_command(app))


def _literal(node: ast.AST) -> str | None:
    """Return the text of a literal, with … where an f-string has a value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
    return None


def _literals(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the literals below a node that are no docstrings, f-strings whole."""
    for child in ast.iter_child_nodes(node):
        text = _literal(child)
        if isinstance(node, ast.Expr) and text is not None:
            continue
        if text is not None:
            yield child.lineno, text
            for value in getattr(child, "values", []):
                yield from _literals(value)
        else:
            yield from _literals(child)


def messages() -> Found:
    """Yield the sentences in the package's Python files: errors, warnings, lines that commands print."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from ((f"{name}:{line}", text) for line, text in _literals(tree) if is_prose(text))


class _Labels(html.parser.HTMLParser):
    """The text and the readable attributes of a template."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("style", "script")
        self.found += [(self.getpos()[0], value or "") for name, value in attrs if name in SHOWN_ATTRIBUTES]

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.found.append((self.getpos()[0], " ".join(re.sub(r"{[{%#].*?[}%#]}", "…", data).split())))


def _script_strings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the string literals of a script, templates with … for their values."""
    token = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`", re.DOTALL)
    for match in token.finditer(text):
        literal = match.group()
        if literal.startswith("/"):
            continue
        line = text.count("\n", 0, match.start()) + 1
        if literal.startswith("`"):
            for value in re.findall(r"\${(.*?)}", literal, flags=re.DOTALL):
                yield from ((line, inner) for _, inner in _script_strings(value))
            literal = re.sub(r"\${.*?}", "…", literal, flags=re.DOTALL)
        yield line, " ".join(literal[1:-1].split())


def page() -> Found:
    """Yield the labels of the review page and of the report."""
    for path in sorted([*SOURCE.rglob("*.js"), *SOURCE.rglob("*.html")]):
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        if path.suffix == ".js":
            found = list(_script_strings(text))
        else:
            labels = _Labels()
            labels.feed(text)
            found = labels.found
        yield from ((f"{name}:{line}", item) for line, item in found if is_prose(item) or _is_label(item))


def _is_label(text: str) -> bool:
    return re.fullmatch(r"[A-Z][a-z]+( [a-z]+)*[.…?!]?", text) is not None


def docstrings() -> Found:
    """Yield the first line of every public name."""
    for package in PACKAGES:
        module = importlib.import_module(".".join(filter(None, ("tagloom", package))))
        for name in module.__all__:
            text = getattr(module, name).__doc__ if callable(getattr(module, name)) else None
            if text:
                yield f"{module.__name__}.{name}", text.strip().split("\n")[0]


KINDS: dict[str, Callable[[], Found]] = {
    "help": help_texts,
    "messages": messages,
    "page": page,
    "docstrings": docstrings,
}


def collect(kinds: list[str] | None = None) -> dict[str, dict[str, list[str]]]:
    """Return {kind: {text: [where it stands, …]}}, every text once."""
    out: dict[str, dict[str, list[str]]] = {}
    for kind in kinds or KINDS:
        texts = out.setdefault(kind, {})
        for place, text in KINDS[kind]():
            texts.setdefault(text, []).append(place)
    return out


def main() -> None:
    """Print all strings, by kind."""
    for kind, texts in collect(sys.argv[1:]).items():
        print(f"\n== {kind}: {len(texts)} ==")
        for text, places in texts.items():
            print(f"{places[0]}: {text}" if kind != "messages" else f"{places[0]}: {text!r}")


if __name__ == "__main__":
    main()
