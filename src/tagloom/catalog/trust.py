"""Which projects this user trusts, and the settings of a project: those of one that is not trusted raise no limits.

Trusted are projects made here, and those that ``tagloom trust`` was said of.

A project may come from a stranger. Until it is trusted, its settings cannot raise limits or name a network
(`tagloom.catalog.extraction`), files outside of the folder around it are not written, and an undo asks.

What this user made on this machine carries a code of the project's random number that only a secret in the user's own
folder can make. What is trusted is noted there, too: the project, where it lies, and those of its settings that matter.
A new project is noted when it is made, whatever its settings become; one that was moved, or copied, is still the user's
own, but its settings have to be trusted once more: they came with the files.
"""

import contextlib
import hashlib
import hmac
import json
import logging
import os
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.catalog.identity import known_identity, project_identity, random_number
from tagloom.core import config_folder
from tagloom.exceptions import WriteError
from tagloom.settings import (
    PROJECT_FILE_NAME,
    Settings,
    load_settings,
    raises_limits,
    read_project_file,
    setting_names,
)
from tagloom.store import ProjectStore

if TYPE_CHECKING:
    from tagloom.store import ProjectStore


__all__ = [
    "are_trusted",
    "distrust",
    "is_trusted",
    "note_own",
    "project_settings",
    "raised_settings",
    "trust",
]

logger = logging.getLogger(__name__)

_made_here: set[tuple[Path, str | None]] = set()  # by this process and user
_MADE_BY = "made_by"
N_SECRET = 32
N_NOTES = 1000  # above it, notes of projects that are gone are dropped
LONGEST_NOTE = 65_536


def is_trusted(store: "ProjectStore") -> bool:
    """Tell whether this user made a project on this machine, or trusts it."""
    return _is_own(store) or _read_note(store) is not None or _is_made_here(store)


def are_trusted(store: "ProjectStore", settings: Mapping[str, Any]) -> bool:
    """Tell whether settings that matter are those that the user trusts, or the project was made where it lies."""
    if _is_made_here(store):
        return True
    note = _read_note(store)
    return note is not None and note.get("settings", "") in (None, _digest(settings))


def trust(store: "ProjectStore", settings: Mapping[str, Any]) -> None:
    """Note that the user trusts a project with these settings.

    Raises
    ------
    WriteError
        If the user's own folder cannot be written.
    """
    _note(store, _digest(settings))


def note_own(store: "ProjectStore") -> None:
    """Note that this user has just made a project.

    Where that cannot be noted, other processes take it for a stranger's; the log says so.
    """
    _made_here.add((config_folder(), project_identity(store)))
    try:
        _note(store, None)
        store.settings.set(_MADE_BY, _code(store, _secret(make=True)))
    except WriteError as error:
        logger.warning("%s", error.strerror)


def _is_made_here(store: "ProjectStore") -> bool:
    return (config_folder(), known_identity(store)) in _made_here


def _is_own(store: "ProjectStore") -> bool:
    found, secret = store.settings.get(_MADE_BY), _secret()
    return secret is not None and isinstance(found, str) and hmac.compare_digest(found, _code(store, secret))


def _code(store: "ProjectStore", secret: bytes | None) -> str:
    return hmac.new(secret or b"", random_number(store).encode(), hashlib.sha256).hexdigest()


def _secret(*, make: bool = False) -> bytes | None:
    """Return the user's secret on this machine; None where there is none and none is to be made."""
    path = config_folder() / "secret"
    try:
        if make:
            with contextlib.suppress(FileExistsError):
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
                with os.fdopen(handle, "wb") as file:
                    file.write(secrets.token_bytes(N_SECRET))
        secret = path.read_bytes()
    except OSError as error:
        if make:
            raise _refused(error) from error
        return None
    return secret if len(secret) == N_SECRET else None


def _read_note(store: "ProjectStore") -> dict[str, Any] | None:
    """Return what was noted of a project that lies here."""
    identity = known_identity(store)
    if identity is None:
        return None
    try:
        with open(_notes() / identity, "rb") as handle:
            note = json.loads(handle.read(LONGEST_NOTE))
        return note if note["path"] == _place(store) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def distrust(store: "ProjectStore") -> None:
    """Forget that a project was trusted."""
    identity = known_identity(store)
    if identity is not None:
        with contextlib.suppress(OSError):
            (_notes() / identity).unlink()


def _note(store: "ProjectStore", settings: str | None) -> None:
    folder = _notes()
    text = json.dumps({"path": _place(store), "settings": settings})
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _drop_gone(folder)
        path = folder / project_identity(store)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        raise _refused(error) from error


def _refused(error: OSError) -> WriteError:
    folder = str(config_folder())
    return WriteError(
        error.errno or 0,
        f"could not save which projects you trust in {folder!r} ({error.strerror or error}); "
        "set TAGLOOM_CONFIG to a folder that you may write to",
    )


def _drop_gone(folder: Path) -> None:
    notes = sorted(folder.iterdir())
    for path in notes if len(notes) > N_NOTES else ():
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if not os.path.lexists(json.loads(path.read_text(encoding="utf-8"))["path"]):
                path.unlink()


def _notes() -> Path:
    return config_folder() / "trusted"


def _place(store: "ProjectStore") -> str:
    return os.path.realpath(store.folder)


def _digest(settings: Mapping[str, Any]) -> str:
    text = json.dumps(dict(settings), sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


STORED = "stored in the project"


def project_settings(store: ProjectStore, flags: Mapping[str, Any] | None = None) -> Settings:
    """Return the settings: flag > environment > ``tagloom.toml`` in the project's folder > store > default.

    In a project that is not trusted, settings that raise limits or name a file to run do not count (see
    `tagloom.catalog.trust`); ``Settings.ignored`` names them.

    Parameters
    ----------
    store : ProjectStore
        The project.
    flags : mapping, optional
        ``{setting: value}``; None is a flag that was not given.

    Raises
    ------
    SettingsError
        If a value does not fit; says where it was set.
    """
    stored, said = _found(store)
    raised = _raised(stored, said)
    ignored = tuple(sorted(raised)) if raised and not are_trusted(store, raised) else ()
    settings = load_settings(flags, os.environ, store.folder / PROJECT_FILE_NAME, said=said, ignored=ignored)
    if ignored:
        settings = replace(settings, ignored=ignored)
    stored = {name: value for name, value in stored.items() if name not in settings.origins and name not in ignored}
    if not stored:
        return settings
    return replace(settings, **stored, origins={**settings.origins, **dict.fromkeys(stored, STORED)})


def raised_settings(store: ProjectStore) -> dict[str, Any]:
    """Return the settings in a project that raise limits or name a file to run."""
    return _raised(*_found(store))


def _found(store: ProjectStore) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings kept in the store, and those in the project's file, which is read once.

    What is judged must be what counts: a shared folder may hold another file at the next look.
    """
    names = setting_names()
    stored = {name: value for name, value in store.settings.all().items() if name in names}
    return stored, read_project_file(store.folder / PROJECT_FILE_NAME)


def _raised(stored: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**stored, **said}.items() if raises_limits(name, value)}
