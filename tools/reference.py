"""Write the pages that follow from the code: commands, settings, the Python and HTTP APIs and the gallery.

Usage: ``python tools/reference.py [--check]``. tests/test_reference.py checks that the pages are up to date.
"""

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"

#: {heading: commands}
SECTIONS = {
    "Start": ("init", "scan", "status", "demo", "doctor"),
    "Label and review": ("review", "label", "import", "next", "search", "tags", "duplicates"),
    "Learn": (
        "extract",
        "train",
        "update",
        "suggest",
        "explain",
        "evaluate",
        "methods",
        "compare",
        "report",
        "annotate",
        "encoder",
    ),
    "Give keywords to other programs": ("write", "export"),
    "Work with other programs": ("serve", "mcp", "sync"),
    "Undo and keep safe": ("undo", "redo", "history", "check", "repair", "backup", "restore", "trust", "remove"),
}
SHARED = ("--project", "--json", "--quiet", "--verbose", "--help")

#: {package: (title, what it holds, page that explains it)}
PACKAGES = {
    "tagloom.methods": ("Methods", "The annotators: the methods of five papers, and their baselines.", "methods"),
    "tagloom.features": ("Features", "Descriptors, encoders and the extraction of features.", "own-descriptor"),
    "tagloom.tuning": ("Tuning", "Calibration, evaluation, explanation, and what to label next.", "auto"),
    "tagloom.metrics": ("Metrics", "Functions of a label matrix and a score matrix.", "metrics"),
    "tagloom.graph": ("Graphs", "Neighbour graphs over photos.", "graphs"),
    "tagloom.kernels": ("Kernels", "Kernels between photos, exact or by landmarks.", "kernels"),
    "tagloom.solvers": ("Solvers", "Conjugate gradients, group penalties and small eigenproblems.", "solvers"),
    "tagloom.plotting": ("Figures", "Functions that draw with matplotlib.", "draw-figures"),
    "tagloom.datasets": ("Datasets", "Loaders of public datasets, and made-up photos.", "datasets"),
    "tagloom": ("tagloom", "What `import tagloom` offers.", "library"),
    "tagloom.exceptions": ("Errors", "The errors that tagloom raises.", "library"),
}
#: {class: page that explains it}
EXPLAINED = {
    "SFSS": "sfss",
    "LaplacianTopicModel": "topics",
    "LPSSVM": "lpssvm",
    "TKML": "tkml",
    "NOVA": "nova",
    "AutoAnnotator": "auto",
}


def _words(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("``", "`")


def _option_rows(command: Any) -> Iterator[str]:
    for one in command.get_params(command.context_class(command)):
        names = [*one.opts, *one.secondary_opts]
        if one.param_type_name == "option" and names[0] not in SHARED:
            value = "" if one.is_flag or not one.metavar else f" `{_words(one.metavar)}`"
            yield f"| {', '.join(f'`{name}`' for name in names)}{value} | {_words(one.help or '')} |"
        elif one.param_type_name == "argument":
            yield f"| `{one.name.upper()}` | {_words(getattr(one, 'help', None) or '')} |"


def _command(name: str, command: Any, level: str) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    typed = [(one.name.upper() + ("…" if one.nargs == -1 else "")) for one in arguments]
    usage = " ".join(word if one.required else f"[{word}]" for one, word in zip(arguments, typed, strict=True))
    yield f"{level} tagloom {name}"
    yield ""
    yield f"`{f'tagloom {name} {usage}'.strip()}`"
    for paragraph in (command.help or "").strip().split("\n\n"):
        text = " ".join(paragraph.split())
        yield ""
        if text.startswith("Example:"):
            yield "```sh\n" + text.removeprefix("Example: ") + "\n```"
        else:
            yield text
    rows = list(_option_rows(command))
    if rows:
        yield "\n| option | meaning |\n|---|---|\n" + "\n".join(rows)
    yield ""


def _group(name: str, group: Any) -> Iterator[str]:
    """Yield what a command with commands of its own says, and what they say, groups among them too."""
    if group.invoke_without_command:
        yield from _command(name, group, "###")
    else:
        yield f"### tagloom {name}\n\n{' '.join(group.help.split())}\n"
    for each, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _group(f"{name} {each}", command)
        else:
            yield from _command(f"{name} {each}", command, "####")


def http_pages() -> dict[str, str]:
    """Return {file name: content} of the HTTP API: its page and its description for machines."""
    from tagloom._version import __version__
    from tagloom.web.openapi import openapi
    from tagloom.web.operations import API
    from tagloom.web.routes import OPERATIONS

    rows = []
    for one in OPERATIONS:
        path = re.sub(r":int}", "}", API + one.path)
        fields = ", ".join(f"`{name}`" + ("" if field.required else "?") for name, field in _fields(one).items())
        rows.append(f"| `{one.method} {path}` | {one.role} | {_words(one.about)} | {fields} |")
    intro, outro = (REFERENCE / "http-api-intro.txt").read_text(encoding="utf-8").split("<!-- table -->\n")
    head = "| operation | role | what it does | fields (?: may be left out) |\n|---|---|---|---|\n"
    document = json.dumps(openapi(OPERATIONS, __version__), indent=1, ensure_ascii=False)
    return {"http-api.md": intro + head + "\n".join(rows) + "\n" + outro, "openapi.json": document + "\n"}


def _fields(operation: Any) -> dict[str, Any]:
    return {**operation.query, **(operation.body or {})}


def commands_page() -> str:
    """Return the page of all commands."""
    import typer

    from tagloom.cli.app import app

    program = typer.main.get_command(app)
    known = [name for names in SECTIONS.values() for name in names]
    rest = [name for name in program.commands if name not in known]
    out = [(REFERENCE / "commands-intro.txt").read_text(encoding="utf-8")]
    for heading, names in {**SECTIONS, "Other commands": tuple(rest)}.items():
        if names:
            out.append(f"## {heading}\n")
        for name in names:
            command = program.commands[name]
            below = getattr(command, "commands", None)
            if below is None:
                out += _command(name, command, "###")
            else:
                out += _group(name, command)
    return "\n".join(out).rstrip() + "\n"


def settings_page() -> str:
    """Return the page of all settings: kinds and defaults from the table, meanings from the docstring."""
    from tagloom.settings import _FLAGS, _KINDS, ENVIRONMENT_PREFIX, Settings, setting_names

    text = Settings.__doc__ or ""
    defaults = {name: value for name, value, _ in Settings().rows()}
    rows = []
    for name in setting_names():
        found = re.search(rf"^ *{name} : [^\n]*\n((?: {{8,}}[^\n]*\n)+)", text, re.MULTILINE)
        meaning = _words(found.group(1)) if found else ""
        flag = f"`{_FLAGS[name]}`" if name in _FLAGS else ""
        variable = ENVIRONMENT_PREFIX + name.upper()
        rows.append(f"| `{name}` | `{defaults[name]}` | `{variable}` | {flag} | {_KINDS[name].expected} | {meaning} |")
    intro, outro = (REFERENCE / "settings-intro.txt").read_text(encoding="utf-8").split("<!-- table -->\n")
    head = "| Setting | Default | Variable | Flag | Values | Meaning |\n|---|---|---|---|---|---|\n"
    return intro + head + "\n".join(rows) + "\n" + outro


def _explained(page: str) -> str:
    for folder in ("explanation", "how-to", "reference"):
        if (ROOT / "docs" / folder / f"{page}.md").exists():
            return f"../../{folder}/{page}.md" if folder != "reference" else f"../{page}.md"
    raise FileNotFoundError(page)


def api_pages() -> dict[str, str]:
    """Return {file name: page} of the Python API; every public name is on one page, in alphabetical order."""
    seen: dict[int, str] = {}
    out = {}
    for package, (title, what, page) in PACKAGES.items():
        module = importlib.import_module(package)
        lines = [f"# {title}", "", what + f" [Read about it]({_explained(page)}).", ""]
        elsewhere = []
        for name in sorted(module.__all__, key=str.casefold):
            thing = getattr(module, name)
            documented = seen.get(id(thing)) if callable(thing) else None
            if documented:
                elsewhere.append(f"[`{name}`][{documented}]")
                continue
            seen[id(thing)] = f"{package}.{name}"
            if name == "__version__":
                continue
            lines.append(f"::: {package}.{name}\n")
            if name in EXPLAINED:
                lines.append(f"[How {name} works]({_explained(EXPLAINED[name])})\n")
        if elsewhere:
            lines.append("Also here: " + ", ".join(elsewhere) + ".\n")
        out[f"{package.removeprefix('tagloom.')}.md"] = "\n".join(lines)
    return out


#: Scripts of the gallery, best first.
GALLERY = ("lens", "label_propagation", "few_labels", "active_learning", "calibration", "explain", "feature_selection")
GALLERY += ("topics", "kernel_maps", "scale")


def gallery_page() -> str:
    """Return the page of the gallery: each script with its figure, its code in a fold."""
    lines = [
        "# Gallery",
        "",
        "Ten short scripts, each with its figure. They need `pip install 'tagloom[plot]'`, and no photos of yours.",
        "",
    ]
    for name in GALLERY:
        code = (ROOT / "docs" / "gallery" / f"{name}.py").read_text(encoding="utf-8")
        _, text, body = code.split('"""', 2)
        title, about = text.split("\n", 1)
        figure = next(one for one in (f"{name}.svg", f"{name}.png") if (ROOT / "docs" / "gallery" / one).is_file())
        lines += [f"## {title.rstrip('.')}", "", about.strip(), "", f"![{title.rstrip('.')}]({figure})", ""]
        lines += [
            '<details markdown="1">',
            f"<summary>{name}.py</summary>",
            "",
            "```python",
            body.strip(),
            "```",
            "",
            "</details>",
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def pages() -> dict[Path, str]:
    """Return {file: content} of every page that this program writes."""
    made = {REFERENCE / "commands.md": commands_page(), REFERENCE / "settings.md": settings_page()}
    made[ROOT / "docs" / "gallery" / "index.md"] = gallery_page()
    made |= {REFERENCE / name: text for name, text in http_pages().items()}
    return made | {REFERENCE / "api" / name: text for name, text in api_pages().items()}


def main() -> None:
    """Write the pages, or name those that are out of date."""
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv[1:]:
        sys.exit("\n".join(f"out of date: {path.relative_to(ROOT)}" for path in stale))
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages()[path], encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
