"""What the program tells the shell when it ends, and how the help of every command says so."""

from collections.abc import Sequence

__all__ = ["EPILOG", "EXIT_CODES", "EXIT_ERROR", "EXIT_INTERRUPTED", "interrupted"]

EXIT_ERROR = 1
EXIT_INTERRUPTED = 130
EXIT_CODES = "Exit codes: 0 done, 1 an error that one line explains, 2 wrong usage, 130 interrupted; run it again."
EPILOG = f"--debug shows the traceback of an error. {EXIT_CODES}"

_AGAIN = "run the same command again"
_GOES_ON = "finished work is kept. Run the same command again to continue"
_BEGINS_ANEW = "photos that were read are not read again. Run the same command again; {} starts over"
_NOTHING = "nothing was changed. Run the same command again"
_KEPT = {
    **dict.fromkeys(("scan", "extract", "write", "undo", "repair", "remove"), _GOES_ON),
    "train": _BEGINS_ANEW.format("learning"),
    "annotate": _BEGINS_ANEW.format("learning"),
    "compare": _BEGINS_ANEW.format("measuring"),
    "evaluate": _BEGINS_ANEW.format("measuring"),
    **dict.fromkeys(("update", "import", "explain", "next", "check"), _NOTHING),
}


def interrupted(arguments: Sequence[str]) -> str:
    """Return what is said of a command that was interrupted: what of its work is kept.

    Parameters
    ----------
    arguments : sequence of str
        The command line, without the name of the program.
    """
    verb = next((item for item in arguments if not item.startswith("-")), "")
    return f"interrupted; {_NOTHING if '--dry-run' in arguments else _KEPT.get(verb, _AGAIN)}"
