"""How a worker gives a file a verdict other than "ok"."""

from tagloom.core import Verdict

__all__ = ["Refused", "one_line"]

LONGEST_DETAIL = 240


class Refused(Exception):  # noqa: N818 - an outcome of one file, not an error of the program
    """A file gets a verdict other than "ok".

    Parameters
    ----------
    verdict : Verdict
        Which one.
    detail : str
        One sentence for a person.
    out_of_memory : bool, default=False
        Whether memory ran out, so that a fresh worker may do better.
    """

    def __init__(self, verdict: Verdict, detail: str, *, out_of_memory: bool = False) -> None:
        super().__init__(detail)
        self.verdict = verdict
        self.detail = one_line(detail)
        self.out_of_memory = out_of_memory


def one_line(text: str) -> str:
    """Return a text on one line, printable and not long: decoders quote bytes of the file in their messages."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= LONGEST_DETAIL else line[: LONGEST_DETAIL - 1] + "…"
