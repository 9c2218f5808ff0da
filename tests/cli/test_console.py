import io
import json
import sys
import time

import pytest

from tagloom.cli import console
from tagloom.cli.console import (
    RichProgress,
    confirm,
    print_error,
    print_json,
    print_json_list,
    print_table,
    printable,
    working,
)

HOSTILE = "a\nb\x1b[31mc\u202ed\udce9.jpg"


def test_text_from_files_stays_on_its_line():
    shown = printable(HOSTILE)
    assert shown.isprintable()
    assert shown == "a\\nb\\x1b[31mc\\u202ed\\udce9.jpg"
    assert printable("Küste 海") == "Küste 海"


def test_tables_and_errors_show_hostile_names(capsys):
    print_table(HOSTILE, ("name", "[bold]n[/bold]"), [(HOSTILE, "[red]1[/red]")])
    print_error(HOSTILE)
    out, err = capsys.readouterr()
    assert "\x1b" not in out
    assert "[red]1[/red]" in out
    assert err.count("\n") == 1


def test_json_is_ascii_and_strict(capsys):
    print_json({"name": "Küste\n"})
    assert capsys.readouterr().out == '{\n  "name": "K\\u00fcste\\n"\n}\n'
    with pytest.raises(ValueError, match="JSON"):
        print_json(float("nan"))


@pytest.mark.parametrize(
    ("answer", "is_yes"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_only_a_clear_yes_is_a_yes(monkeypatch, answer, is_yes):
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert confirm("Really?") is is_yes


@pytest.mark.parametrize(
    "items", [[], [1], [{"a": "x\ny", "b": [1, 2], "c": {}, "d": None}, {"a": "Küste", "b": []}, [], "text"]]
)
def test_a_list_is_printed_item_by_item_as_json_prints_it_whole(capsys, items):
    print_json_list("the items", iter(items))
    assert capsys.readouterr().out == json.dumps({"the items": items}, indent=2) + "\n"


def test_an_item_is_printed_before_the_next_one_is_asked_for(capsys):
    def items():
        for number in range(5):
            printed = sys.stdout.getvalue()
            assert [f'"item {other}"' in printed for other in range(5)] == [other < number for other in range(5)]
            yield f"item {number}"

    print_json_list("items", items())
    assert len(json.loads(capsys.readouterr().out)["items"]) == 5


def _terminal(monkeypatch):
    """Make standard error a terminal, and return it."""
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    return terminal


def test_quick_work_shows_nothing(monkeypatch):
    terminal = _terminal(monkeypatch)
    with working("reading features") as progress:
        progress.start("writing", 3)
        progress.advance(3)
    assert terminal.getvalue() == ""


def test_work_that_takes_time_shows_what_is_done_and_goes_on_counting(monkeypatch, capsys):
    terminal = _terminal(monkeypatch)
    monkeypatch.setattr(console, "PATIENCE", 0.05)
    with working("reading features") as progress:
        _wait(lambda: "reading features" in terminal.getvalue())
        progress.start("writing", 30)
        progress.advance(10)
        progress.advance(10)
        print_json({"a": 1})
    assert "20/30" in terminal.getvalue()
    assert capsys.readouterr().out == '{\n  "a": 1\n}\n'


def test_steps_before_the_bar_is_there_are_counted(monkeypatch):
    terminal = _terminal(monkeypatch)
    monkeypatch.setattr(console, "PATIENCE", 0.2)
    with working("waiting") as progress:
        progress.start("writing", 30)
        progress.advance(10)
        assert terminal.getvalue() == ""
        _wait(lambda: "10/30" in terminal.getvalue())


def test_only_a_terminal_is_told_and_never_with_quiet(capsys, monkeypatch):
    monkeypatch.setattr(console, "PATIENCE", 0.01)
    with working("reading features") as progress:
        time.sleep(0.05)
        progress.start("writing", 3)
        progress.advance()
    assert capsys.readouterr() == ("", "")


def test_quiet_shows_nothing_to_a_terminal(monkeypatch):
    terminal = _terminal(monkeypatch)
    monkeypatch.setattr(console, "PATIENCE", 0.01)
    with working("reading features", quiet=True):
        time.sleep(0.05)
    assert terminal.getvalue() == ""


def _wait(condition):
    end = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_bar_is_taken_down_when_work_fails(monkeypatch):
    terminal = _terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        _interrupted_work()
    shown = terminal.getvalue()
    assert "3/10" in shown
    assert shown.endswith("\x1b[1A\x1b[2K")  # the line of the bar is empty again
    assert "\x1b[?25l" not in shown  # a process that is killed cannot show the cursor again


def _interrupted_work():
    with RichProgress() as progress:
        progress.start("reading", 10)
        progress.advance(3)
        raise KeyboardInterrupt
