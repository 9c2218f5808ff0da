"""Which project a review page belongs to, and where the last one was.

A browser tab keeps decisions that could not be sent, and sends them when a server answers at its address again. So a
page must know its project from any other that may be reviewed at the same port later, and a project keeps its port.
"""

import hashlib
import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagloom.store import ProjectStore

__all__ = ["known_identity", "last_port", "project_identity", "random_number", "remember_port"]

_IDENTITY, _PORT = "review_identity", "review_port"
_N_DIGITS = 32


def project_identity(store: "ProjectStore") -> str:
    """Return what tells a project from all others: the same at every start, another one for a copy elsewhere.

    It is made of random bytes that the project keeps and of where the project lies: ids of photos and tags mean the
    same in a copy, and yet a decision belongs to one of the two. Nothing of the path can be read from it.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """
    with store.transaction():  # two processes must not make one each
        kept = store.settings.get(_IDENTITY)
        if kept is None:
            kept = secrets.token_hex(16)
            store.settings.set(_IDENTITY, kept)
    return _identity(store, kept)


def known_identity(store: "ProjectStore") -> str | None:
    """Return what `project_identity` does, None where the project has none yet; nothing is changed."""
    kept = store.settings.get(_IDENTITY)
    return None if kept is None else _identity(store, kept)


def random_number(store: "ProjectStore") -> str:
    """Return the random number that a project and its copies have; empty where there is none yet."""
    kept = store.settings.get(_IDENTITY)
    return "" if kept is None else str(kept)


def _identity(store: "ProjectStore", kept: object) -> str:
    place = os.fsencode(os.path.realpath(store.folder))
    return hashlib.sha256(str(kept).encode() + b"\0" + place).hexdigest()[:_N_DIGITS]


def last_port(store: "ProjectStore") -> int:
    """Return the port of the last review, 0 where there was none."""
    kept = store.settings.get(_PORT)
    return kept if type(kept) is int and 0 < kept <= 65_535 else 0


def remember_port(store: "ProjectStore", port: int) -> None:
    """Keep the port for the next review."""
    if last_port(store) != port:
        store.settings.set(_PORT, port)
