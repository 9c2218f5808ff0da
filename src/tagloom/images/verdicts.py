"""The outcomes a worker can report, without the imports of `tagloom.core.photos`.

The values are those of `tagloom.core.photos.Verdict`, which the parent process turns them into; that module imports
NumPy, and a decode worker must not.
"""

__all__ = [
    "CHANGED",
    "DAMAGED",
    "EMPTY",
    "MISSING",
    "NOT_AN_IMAGE",
    "NOT_REGULAR",
    "NO_PERMISSION",
    "OK",
    "TOO_LARGE",
    "UNREADABLE",
    "Refused",
    "one_line",
]

OK = "ok"
EMPTY = "empty"
NOT_REGULAR = "not_regular"
MISSING = "missing"
NO_PERMISSION = "no_permission"
UNREADABLE = "unreadable"
NOT_AN_IMAGE = "not_an_image"
DAMAGED = "damaged"
TOO_LARGE = "too_large"
CHANGED = "changed"

LONGEST_DETAIL = 240


class Refused(Exception):  # noqa: N818 - an outcome of one file, not an error of the program
    """A file gets a verdict other than "ok".

    Parameters
    ----------
    verdict : str
        One of the constants of this module.
    detail : str
        One sentence for a person.
    out_of_memory : bool, default=False
        Whether memory ran out, so that a fresh worker may do better.
    """

    def __init__(self, verdict: str, detail: str, *, out_of_memory: bool = False) -> None:
        super().__init__(detail)
        self.verdict = verdict
        self.detail = one_line(detail)
        self.out_of_memory = out_of_memory


def one_line(text: str) -> str:
    """Return a text on one line, printable and not long: decoders quote bytes of the file in their messages."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= LONGEST_DETAIL else line[: LONGEST_DETAIL - 1] + "…"
