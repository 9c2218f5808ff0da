"""The settings of a project: those of `tagloom.settings`, and below them what the project itself keeps."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tagloom.catalog.trust import are_trusted
from tagloom.settings import (
    PROJECT_FILE_NAME,
    Settings,
    load_settings,
    raises_limits,
    read_project_file,
    setting_names,
)
from tagloom.store import ProjectStore

__all__ = ["project_settings", "raised_settings"]

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
