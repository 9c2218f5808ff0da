"""Who may use a project over the network: named people or programs with a role each, known by the hash of a token.

They stand in the user's own folder, never in the project: a project may come from a stranger, who would let himself in.
"""

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from tagloom.catalog.identity import project_identity
from tagloom.core import config_folder
from tagloom.exceptions import InvalidInputError, StoreBusyError, StoreError, WriteError

if TYPE_CHECKING:
    from tagloom.store import ProjectStore

__all__ = ["ROLES", "Role", "User", "UserBook"]

Role = Literal["reader", "labeller", "owner"]
#: Each may do what those before it may.
ROLES: tuple[Role, ...] = get_args(Role)
LONGEST_FILE = 1 << 20
MOST_USERS = 1_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_N_BYTES = 32


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who was let in.

    Parameters
    ----------
    name : str
        For the history.
    role : {"reader", "labeller", "owner"}
        A reader looks; a labeller decides, too, and undoes what they did themselves; an owner may do everything.
    is_named : bool
        Whether they came with a token of their own; otherwise it is whoever started the server.
    """

    name: str
    role: Role
    is_named: bool = True


class UserBook:
    """The users of one project, read again whenever the file has changed.

    Parameters
    ----------
    store : ProjectStore
        The project.

    Attributes
    ----------
    path : Path
        The file.
    """

    def __init__(self, store: "ProjectStore") -> None:
        self.path = config_folder() / "users" / f"{project_identity(store)}.json"
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._users: dict[str, dict[str, Any]] = {}

    def users(self) -> list[User]:
        """Return the users by name."""
        return [User(name, entry["role"]) for name, entry in sorted(self._read().items())]

    def add(self, name: str, role: str) -> str:
        """Add a user, and return the token; only its hash is kept.

        Parameters
        ----------
        name : str
            Letters, digits and ``._@-``; at most 64.
        role : {"reader", "labeller", "owner"}
            What they may do.

        Raises
        ------
        InvalidInputError
            If the name does not fit or is taken.
        WriteError
            If the user's own folder cannot be written.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInputError(
                f"a user's name has letters, digits and ._@- and begins with a letter or digit, got {name[:80]!r}"
            )
        if role not in ROLES:
            raise InvalidInputError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
        token = secrets.token_urlsafe(_N_BYTES)
        with self._changing() as users:
            if name in users:
                raise InvalidInputError(
                    f"there is a user {name!r} already; remove it first: tagloom serve user remove {name}"
                )
            if len(users) >= MOST_USERS:
                raise InvalidInputError(f"a project has at most {MOST_USERS} users")
            users[name] = {"role": role, "token": _hash(token), "made": time.time()}
        return token

    def remove(self, name: str) -> None:
        """Remove a user: their token and the browsers that came in with it are refused from now on."""
        with self._changing() as users:
            if name not in users:
                raise InvalidInputError(f"there is no user {name!r}; list them: tagloom serve user list")
            del users[name]

    def find(self, token: str) -> User | None:
        """Return whose token it is; None: nobody's."""
        given = _hash(token)
        # Every token is compared in full, so the time tells nothing.
        matching = [
            User(name, entry["role"])
            for name, entry in self._read().items()
            if hmac.compare_digest(entry["token"], given)
        ]
        return matching[0] if matching else None

    def current(self, name: str, token_hash: str) -> User | None:
        """Return a user who was let in before, with the role of now; None where that token is worth nothing now."""
        entry = self._read().get(name)
        if entry is None or not hmac.compare_digest(entry["token"], token_hash):
            return None
        return User(name, entry["role"])

    def token_hash(self, name: str) -> str:
        """Return what is kept of a user's token."""
        return str(self._read()[name]["token"])

    def _read(self) -> dict[str, dict[str, Any]]:
        with self._lock:
            try:
                found = os.stat(self.path)
                stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
                if stamp != self._stamp:
                    self._users, self._stamp = _parsed(self.path), stamp
            except FileNotFoundError:
                self._users, self._stamp = {}, None
            except OSError as error:
                raise StoreError(f"the file of users cannot be read ({error.strerror}): {self.path}") from error
            return self._users

    @contextlib.contextmanager
    def _changing(self) -> "Iterator[dict[str, dict[str, Any]]]":
        """Give the users to be changed, and write them; another process that changes them at once is refused."""
        temporary = self.path.with_suffix(".new")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise StoreBusyError(
                f"users are being changed by another process; if none is at work, remove {str(temporary)!r}"
            ) from None
        except OSError as error:
            raise self._refused(error) from error
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                users = {name: dict(entry) for name, entry in self._read().items()}
                yield users
                json.dump({"users": users}, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            if isinstance(error, OSError):
                raise self._refused(error) from error
            raise

    def _refused(self, error: OSError) -> WriteError:
        return WriteError(
            error.errno or 0,
            f"could not save users in {str(self.path.parent)!r} ({error.strerror or error}); set TAGLOOM_CONFIG to a "
            f"folder that you may write to",
        )


def _parsed(path: Path) -> dict[str, dict[str, Any]]:
    """Return the users of a file, and refuse what tagloom did not write: it is about who is let in."""
    try:
        with open(path, "rb") as file:
            users = json.loads(file.read(LONGEST_FILE))["users"]
        for name, entry in users.items():
            token = entry["token"]
            if not _NAME.fullmatch(name) or entry["role"] not in ROLES or not re.fullmatch("[0-9a-f]{64}", token):
                raise ValueError(name)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"the file of users is damaged; remove it and add them again: {path}") from error
    return cast("dict[str, dict[str, Any]]", users)


def _hash(token: str) -> str:
    """Return what is kept of a token: it is 256 random bits, so one round of a fast hash tells nothing of it."""
    return hashlib.sha256(token.encode("utf-8", errors="replace")).hexdigest()
