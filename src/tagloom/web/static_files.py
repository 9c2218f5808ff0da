"""The files of the page, read once at the start: what is not in the table does not exist."""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = ["SHELL", "StaticFile", "load_static", "shell_page"]

SHELL = "index.html"
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the page: its bytes and its fixed type."""

    data: bytes
    kind: str


def load_static() -> dict[str, StaticFile]:
    """Return all files of the page by their path below ``static``; files of other types are left out."""
    return dict(_walk(files("tagloom.web") / "static", ""))


def shell_page(static: Mapping[str, StaticFile], values: Mapping[str, str]) -> bytes:
    """Return the shell with ``{{name}}`` replaced by escaped text."""
    page = static[SHELL].data.decode("utf-8") if SHELL in static else "<!doctype html><title>tagloom</title>"
    for name, value in values.items():
        page = page.replace("{{" + name + "}}", html.escape(value, quote=True))
    return page.encode("utf-8", errors="replace")


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, StaticFile]]:
    found: list[tuple[str, StaticFile]] = []
    for entry in sorted(folder.iterdir(), key=lambda item: item.name) if folder.is_dir() else ():
        name, suffix = f"{prefix}{entry.name}", "." + entry.name.rpartition(".")[2]
        if entry.is_dir():
            found += _walk(entry, f"{name}/")
        elif suffix in _KINDS:
            found.append((name, StaticFile(entry.read_bytes(), _KINDS[suffix])))
    return found
