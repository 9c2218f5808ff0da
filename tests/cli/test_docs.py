"""The pages about the command line are complete, and what they say can be typed."""

import io
import os
import re
import shlex
from pathlib import Path

import pytest
import typer

from tagloom.cli.app import app
from tagloom.cli.exit_codes import EXIT_CODES, EXIT_ERROR, EXIT_INTERRUPTED
from tests.pages import console_lines

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHARED = {"--project", "--json", "--quiet", "-q", "--verbose", "-v", "--help", "-h"}


def _commands(group=None, above=""):
    """Yield all commands, those of groups below groups, and groups that do something themselves."""
    for each, command in (group or typer.main.get_command(app)).commands.items():
        name = f"{above}{each}"
        if not hasattr(command, "commands") or command.invoke_without_command:
            yield name, name, command
        if hasattr(command, "commands"):
            yield from _commands(command, f"{name} ")


COMMANDS = [pytest.param(*item, id=item[1]) for item in _commands()]


def _section(page, name):
    """Return the text below the heading of a command."""
    found = re.search(rf"^####? tagloom {name}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    return "" if found is None else found.group(1)


@pytest.mark.parametrize(("section", "name", "command"), COMMANDS)
def test_every_command_and_option_is_documented(section, name, command):
    page = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    text = _section(page, section)
    assert f"`tagloom {name}" in text
    for option in {item for one in command.params for item in (*one.opts, *one.secondary_opts) if item.startswith("-")}:
        place = page if option in SHARED else text
        assert f"`{option}`" in place, f"{option} of {name} is missing in docs/reference/commands.md"


PAGES = sorted([*DOCS.rglob("*.md"), DOCS.parent / "README.md"])
FLAG = r"(?<![\w-])--[a-z][a-z-]*[a-z]"
OF_OTHER_PROGRAMS = {
    "--no-deps",
    "--nthreads",
    "--nworkers",
    "--user",
    "--now",
    "--rm",
}  # of pip, dask, systemctl, docker


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_no_option_is_documented_that_does_not_exist(page):
    known = {"--debug", "--version", "--install-completion", "--show-completion", *SHARED, *OF_OTHER_PROGRAMS}
    for _, _, command in _commands():
        known |= {item for one in command.params for item in (*one.opts, *one.secondary_opts)}
    text = page.read_text(encoding="utf-8")
    if "python -m benchmarks" in text:
        sources = (DOCS.parent / "benchmarks").rglob("*.py")
        known |= {flag for path in sources for flag in re.findall(f'"({FLAG})"', path.read_text(encoding="utf-8"))}
    assert set(re.findall(FLAG, text)) <= known


GROUPS = [
    pytest.param([], id="tagloom"),
    *(pytest.param(words.split(), id=words) for words in ("tags", "serve user", "sync")),
]


@pytest.mark.parametrize("words", [*GROUPS, *(pytest.param(item.values[1].split(), id=item.id) for item in COMMANDS)])
def test_help_says_what_to_type(words, tagloom):
    shown = tagloom(*words, "--help").out
    assert not re.findall(r"[{}<>]\w*", re.sub(r"\[[^]]*[<>]=[^]]*\]", "", shown))  # ranges such as [x>=0] aside
    assert not re.search(r"(?<!PHOTOS)(?<!METHODS)(?<!\[ARGS\])(?<!PHOTOS\])\.\.\.", shown)
    usage = shown.split("\n\n")[0]
    assert not re.search(r"[a-z]", usage.split(" ".join(["tagloom", *words]), 1)[1])


@pytest.mark.parametrize("words", GROUPS)
def test_summaries_of_commands_are_whole(words, tagloom):
    listed = " ".join(tagloom(*words, "--help").out.split("Commands:")[1].split())
    command = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    for name, each in command.commands.items():
        summary = " ".join(each.help.strip().split("\n\n")[0].split())
        assert summary.endswith(".")
        assert f"{name} {summary}" in listed


@pytest.mark.parametrize(("section", "name", "command"), COMMANDS)
def test_help_has_an_example_and_the_exit_codes(section, name, command, tagloom):
    shown = " ".join(tagloom(*name.split(), "--help").out.split())
    assert f"Example: tagloom {name}" in shown
    assert EXIT_CODES in shown


@pytest.mark.parametrize(("section", "name", "command"), COMMANDS)
def test_every_command_has_json(section, name, command):
    """Every command prints a result, and so prints it for scripts, too; but some serve until they are ended."""
    assert (name not in ("review", "serve", "mcp")) == (
        "--json" in {item for one in command.params for item in one.opts}
    )


@pytest.mark.parametrize(("section", "name", "command"), COMMANDS)
def test_every_command_of_a_project_takes_it_by_the_same_option(section, name, command):
    """What `tagloom status --project DIR` says to type next can be typed."""
    takes = "--project" in {item for one in command.params for item in one.opts}
    assert takes == (name.split()[0] not in ("annotate", "demo", "doctor", "encoder", "methods"))


def test_the_exit_codes_of_the_page_are_those_of_the_help():
    page = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    table = re.search(r"^\| exit code \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", page, re.MULTILINE).group(1)
    listed = re.findall(r"^\| (\d+) \|", table, re.MULTILINE)
    assert listed == re.findall(r"\b(\d+) ", EXIT_CODES)
    assert {str(EXIT_ERROR), str(EXIT_INTERRUPTED)} < set(listed)


@pytest.mark.parametrize(
    "page", ["docs/index.md", "docs/tutorials/first-hundred-photos.md", "docs/tutorials/first-project.md"]
)
def test_labelling_starts_on_the_review_page(page):
    """A new user has no labels file: nothing that takes one comes first."""
    labelling = ("review", "import", "label", "annotate")
    used = [word for line in console_lines(page) for word in line.split() if word in labelling]
    assert used[0] == "review"


@pytest.mark.medium
def test_the_tutorial_can_be_typed(tagloom, tmp_path, monkeypatch):
    """Run every command of the page in order, on 60 photos in place of 1,000 (or TAGLOOM_TUTORIAL_PHOTOS)."""
    lines = console_lines("docs/tutorials/first-project.md")
    n_photos = os.environ.get("TAGLOOM_TUTORIAL_PHOTOS", "60")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    used = set()
    for line in lines:
        words = shlex.split(line.replace("--photos 1000", f"--photos {n_photos} --labeled 0.5"))
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
            continue
        assert words[0] == "tagloom", line
        if words[1] == "review":  # serves until it is ended; tools/try_install.py starts it
            continue
        done = tagloom(*words[1:])
        assert done.code == 0, (line, done.err)
        assert done.out
        used.add(words[1])
        if words[1] == "write" and "--dry-run" not in words:
            assert list(Path().glob("*.xmp")), line
    assert used >= {"init", "scan", "import", "label", "train", "suggest", "tags", "export", "write", "undo", "status"}
    assert list(Path().glob("*.xmp"))
    assert not Path(".tagloom").exists()
