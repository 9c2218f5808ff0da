"""How a browser gets in: tokens that work once, and a private file that hands one over.

A token in a browser's command line can be read by every user of the machine (``/proc/*/cmdline``). So the browser is
given the name of a file that only this user can read; the page in it goes on to the server with the token.
"""

import contextlib
import hmac
import html
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["EntryFile", "EntryTokens"]

_PREFIX = "tagloom-review-"
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0; url={address}"><title>tagloom</title>'
    '<p><a href="{address}">Open the review page</a></p></html>\n'
)


class EntryTokens:
    """Random tokens, each of which lets one browser in once."""

    def __init__(self) -> None:
        self._open: dict[str, Callable[[], None] | None] = {}

    def issue(self, used: Callable[[], None] | None = None) -> str:
        """Return a new token.

        Parameters
        ----------
        used : callable, optional
            Called when the token is spent.
        """
        token = secrets.token_urlsafe(32)
        self._open[token] = used
        return token

    def spend(self, token: str) -> bool:
        """Tell whether a token is good, which it never is again."""
        given = token.encode("utf-8", errors="replace")
        # Every token is compared in full, so the time tells nothing.
        matching = [known for known in self._open if hmac.compare_digest(known.encode(), given)]
        for known in matching:
            used = self._open.pop(known)
            if used is not None:
                used()
        return bool(matching)

    def revoke(self, token: str) -> None:
        """Make a token worthless."""
        self._open.pop(token, None)


class EntryFile:
    """A page that only this user can read and that takes a browser to the server; it goes once it was used.

    Parameters
    ----------
    tokens : EntryTokens
        Gives the token.
    base : str
        The address of the server.

    Raises
    ------
    OSError
        If no folder takes the file.
    """

    def __init__(self, tokens: EntryTokens, base: str) -> None:
        self._tokens = tokens
        self._token = tokens.issue(self.remove)
        try:
            self._folder = _private_folder()
        except OSError:
            tokens.revoke(self._token)
            raise
        self.path = self._folder / "open.html"
        address = html.escape(f"{base}/?token={self._token}", quote=True)
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(_PAGE.format(address=address))
        except OSError:
            self.remove()
            raise

    @property
    def address(self) -> str:
        """The address of the file, which holds no secret."""
        return self.path.as_uri()

    def remove(self) -> None:
        """Remove the file and make its token worthless."""
        self._tokens.revoke(self._token)
        shutil.rmtree(self._folder, ignore_errors=True)


def _private_folder() -> Path:
    """Make a folder that only this user can look into, at the first place that takes one."""
    trouble = OSError("no folder takes the file that opens the browser")
    for parent in _places():
        try:
            return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))  # of mode 0700
        except OSError as error:
            trouble = error
    raise trouble


def _places() -> Iterator[Path]:
    """Yield folders by how many browsers can read them.

    Browsers from Snap or Flatpak see neither hidden folders nor the machine's /tmp: Snap lets them read the rest of the
    home folder, Flatpak that of downloads.
    """
    with contextlib.suppress(RuntimeError):  # there is no home
        home = Path.home()
        yield home / "Downloads"
        yield home
    yield Path(tempfile.gettempdir())
