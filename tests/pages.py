"""Examples of the documentation: what a reader would copy, found and run. Needs nothing but Python."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))


def _text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def python_blocks(page: str) -> list[str]:
    """Return the Python examples of a page, in order."""
    return re.findall(r"```python\n(.*?)```", _text(page), flags=re.DOTALL)


def draws(page: str) -> bool:
    """Tell whether examples of a page need the extra ``plot``; no other extra is needed by an example."""
    return any("tagloom.plotting" in block for block in python_blocks(page))


def run_examples(page: str) -> int:
    """Run the Python examples of a page in this folder; they share their names. Returns how many there are."""
    names = {"__name__": "docs"}
    blocks = python_blocks(page)
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return len(blocks)


def console_lines(page: str) -> list[str]:
    """Return the commands of a page, in order."""
    blocks = re.findall(r"^```console\n(.*?)^```", _text(page), flags=re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def inline_commands(page: str) -> list[str]:
    """Return the commands in running text, in order."""
    prose = re.sub(r"^```.*?^```", "", _text(page), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`(tagloom(?: [^`\n]+)?)`", prose)
