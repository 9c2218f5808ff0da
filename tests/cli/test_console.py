import io

import pytest

from tagloom.cli.console import RichProgress, confirm, print_error, print_json, print_table, printable

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


def test_a_bar_is_taken_down_when_work_fails(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(KeyboardInterrupt):
        _interrupted_work()
    shown = terminal.getvalue()
    assert "3/10" in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1


def _interrupted_work():
    with RichProgress() as progress:
        progress.start("reading", 10)
        progress.advance(3)
        raise KeyboardInterrupt
