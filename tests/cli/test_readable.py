"""Commands that go around typer's conversion behave as typer's own do: typer is the oracle."""

import os
import subprocess
import sys
from enum import Enum
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import click
import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from tagloom.cli.readable import LightCommand, LightGroup, lighten


class Color(Enum):
    RED = "red"
    BLUE = "blue"


def _upper(value):
    return value.upper() if isinstance(value, str) else value


def _refuse_x(value):
    if value == "x":
        raise typer.BadParameter("not x")
    return value


def _begin(incomplete):
    return [word for word in ("alpha", "beta") if word.startswith(incomplete)]


def _everything(
    words: Annotated[list[str], typer.Argument(help="Words.")],
    text: Annotated[str | None, typer.Option("--text", "-t", envvar="LIGHT_TEXT", autocompletion=_begin)] = None,
    named: Annotated[str, typer.Option("--named")] = "default",
    several: Annotated[list[str] | None, typer.Option("--several", "-s", envvar="LIGHT_SEVERAL")] = None,
    preset: Annotated[list[str], typer.Option("--preset")] = ["a", "b"],  # noqa: B006
    numbers: Annotated[list[int] | None, typer.Option("--number")] = None,
    paths: Annotated[list[Path] | None, typer.Option("--path")] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=5)] = 2,
    share: Annotated[float | None, typer.Option("--share")] = None,
    folder: Annotated[Path | None, typer.Option("--folder", exists=True, file_okay=False)] = None,
    place: Annotated[Path | None, typer.Option("--place", envvar="LIGHT_PLACE")] = None,
    file: Annotated[Path | None, typer.Option("--file", dir_okay=False)] = None,
    directory: Annotated[Path | None, typer.Option("--directory", file_okay=False)] = None,
    there: Annotated[Path | None, typer.Option("--there", exists=True)] = None,
    target: Annotated[Path | None, typer.Option("--target", writable=True)] = None,
    stream: Annotated[Path | None, typer.Option("--stream", allow_dash=True)] = None,
    kept: Annotated[Path | None, typer.Option("--kept", path_type=str)] = None,
    real: Annotated[Path | None, typer.Option("--real", resolve_path=True)] = None,
    shouted: Annotated[Path | None, typer.Option("--shouted", parser=_upper)] = None,
    color: Annotated[Color | None, typer.Option("--color", case_sensitive=False)] = None,
    flag: Annotated[bool, typer.Option("--flag", "-f", envvar="LIGHT_FLAG")] = False,
    both: Annotated[bool | None, typer.Option("--both/--no-both")] = None,
    pair: Annotated[tuple[str, int] | None, typer.Option("--pair")] = None,
    checked: Annotated[str | None, typer.Option("--checked", callback=_refuse_x)] = None,
    parsed: Annotated[str | None, typer.Option("--parsed", parser=_upper)] = None,
) -> None:
    """Take everything."""
    typer.echo(repr(sorted(locals().items())))


def _program(command_class, group_class):
    app = typer.Typer(cls=group_class, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command("everything", cls=command_class)(_everything)

    @app.callback(cls=group_class, invoke_without_command=True)
    def entry(name: Annotated[str | None, typer.Option("--name", callback=_upper)] = None) -> None:
        typer.echo(repr(name))

    return app


LINES = [
    "",
    "--name bob",
    "--help",
    "everything",
    "everything --help",
    "everything one",
    "everything one two --text t --named n -s a -s b --preset z",
    "everything -- --text -s",
    "everything one --text=",
    "everything one --number 1 --number 2 --path a --path b",
    "everything one --number 1 --number b",
    "everything one --count 5 --share 0.25",
    "everything one --count 0",
    "everything one --count 6",
    "everything one --count many",
    "everything one --share much",
    "everything one --folder .",
    "everything one --folder nowhere",
    "everything one --folder there.txt",
    "everything one --place nowhere",
    "everything one --place there.txt",
    "everything one --place ./a/../b//c/",
    "everything one --place -",
    "everything one --place=",
    "everything one --file there.txt",
    "everything one --file .",
    "everything one --directory there.txt",
    "everything one --there nowhere",
    "everything one --target there.txt",
    "everything one --stream -",
    "everything one --kept there.txt",
    "everything one --real there.txt",
    "everything one --shouted there.txt",
    "everything one --color RED",
    "everything one --color green",
    "everything one --flag --both",
    "everything one -f --no-both",
    "everything one --flag=yes",
    "everything one --pair a 1",
    "everything one --pair a b",
    "everything one --pair a",
    "everything one --checked y",
    "everything one --checked x",
    "everything one --parsed small",
    "everything one --text",
    "everything one --unheard",
    "nothing",
]
ENVIRONMENTS = [
    {"LIGHT_TEXT": "t", "LIGHT_SEVERAL": "a b", "LIGHT_PLACE": "p", "LIGHT_FLAG": "1"},
    {"LIGHT_TEXT": "", "LIGHT_SEVERAL": "", "LIGHT_FLAG": "no"},
    {"LIGHT_FLAG": "perhaps"},
]
COMPLETIONS = ["p every", "p everything --te", "p everything --text a", "p everything --color r", "p --na"]


@cache
def _command(command_class, group_class):
    return typer.main.get_command(_program(command_class, group_class))


def _run(command, words, capsys):
    with pytest.raises(SystemExit) as end:
        command.main(args=words, prog_name="p")
    return end.value.code, *capsys.readouterr()


def _both(words, capsys):
    own = _run(_command(TyperCommand, TyperGroup), words, capsys)
    return own, _run(_command(LightCommand, LightGroup), words, capsys)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    (tmp_path / "there.txt").touch()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("line", LINES)
def test_every_kind_of_value_is_what_typer_makes_of_it(line, capsys):
    own, light = _both(line.split(), capsys)
    assert own == light
    assert own[1] or own[2]


def test_the_lines_reach_success_and_failure(capsys):
    codes = [_run(_command(LightCommand, LightGroup), line.split(), capsys)[0] for line in LINES]
    assert codes.count(0) > 10
    assert codes.count(2) > 10


def test_empty_and_odd_text(capsys):
    names = ["--place", "caf\udce9.jpg", "--checked", "K\u00fcste"]
    for words in (["", *names], ["caf\udce9.jpg", "-t", " a\nb "], ["a", "-s", ""]):
        own, light = _both(["everything", *words], capsys)
        assert own == light
        assert own[0] == 0


@pytest.mark.parametrize(("option", "mode"), [("--place", os.R_OK), ("--target", os.W_OK)])
def test_a_path_that_cannot_be_used_is_wrong_usage(option, mode, capsys, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, asked: asked != mode)  # root may read and write everything
    own, light = _both(["everything", "one", option, "there.txt"], capsys)
    assert own == light
    assert own[0] == 2


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_values_from_the_environment(environment, capsys, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    own, light = _both(["everything", "one"], capsys)
    assert own == light


@pytest.mark.parametrize("words", COMPLETIONS)
def test_completion(words, capsys, monkeypatch):
    monkeypatch.setenv("_P_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    own, light = _both([], capsys)
    assert own == light
    assert own[1].strip()


def test_a_version_of_typer_built_on_click_is_left_alone(capsys):
    """Parameters of earlier versions are those of click, which converts by itself."""
    parameters = [click.Argument(["words"], nargs=-1), click.Option(["--count"], type=int)]
    assert lighten(parameters) is parameters
    assert not any("process_value" in vars(parameter) for parameter in parameters)
    command = click.Command("p", params=parameters, callback=lambda words, count: click.echo(repr((words, count))))
    with pytest.raises(SystemExit):
        command.main(["a", "b", "--count", "3"], prog_name="p")
    assert capsys.readouterr().out == "(('a', 'b'), 3)\n"


@pytest.mark.parametrize("described", [None, SimpleNamespace(annotation=str), SimpleNamespace(parameter_info=None)])
def test_parameters_built_in_yet_another_way_are_left_alone(described):
    parameter = SimpleNamespace(type_descriptor=described, process_value=len)
    before = dict(vars(parameter))
    lighten([parameter])
    assert vars(parameter) == before


def test_the_program_works_where_nothing_can_be_lightened(project):
    """Run a command with every conversion left to typer: the outcome is the same."""
    script = (
        "import sys\nimport tagloom.cli.readable as light\n"
        "light.lighten = lambda parameters: parameters\n"
        "from tagloom.cli import main\n"
        "try:\n    main(['label', 'scene_00000.jpg', '--add', 'fresh'])\n"
        "except SystemExit as end:\n    assert not end.code\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, cwd=project, capture_output=True, text=True)
    assert done.stdout.startswith("1 photo, 1 new decision ")


@pytest.mark.parametrize("words", [["one"], ["one", "two", "-s", "a", "-s", "b", "-t", "c"]])
def test_completion_functions_see_the_same_values(words):
    """What they see is not yet what the command gets: typer brings values into the command's own form at the end."""
    seen = []
    for classes in ((TyperCommand, TyperGroup), (LightCommand, LightGroup)):
        command = typer.main.get_command(_program(*classes)).commands["everything"]
        seen.append(repr(command.make_context("p", list(words)).params))
    assert seen[0] == seen[1]


def test_parameters_are_wrapped_once():
    command = typer.main.get_command(_program(LightCommand, LightGroup)).commands["everything"]
    context = command.make_context("p", ["one"])
    first = [parameter.process_value for parameter in command.get_params(context)]
    assert first == [parameter.process_value for parameter in command.get_params(context)]
