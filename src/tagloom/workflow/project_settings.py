"""The settings of a project: those of `tagloom.workflow.settings`, and below them what the project itself keeps."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tagloom.store.project import ProjectStore
from tagloom.workflow.settings import PROJECT_FILE_NAME, Settings, load_settings, setting_names

__all__ = ["project_settings"]

STORED = "stored in the project"


def project_settings(store: ProjectStore, flags: Mapping[str, Any] | None = None) -> Settings:
    """Return the settings: flag > environment > ``tagloom.toml`` in the project's folder > store > default.

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
    settings = load_settings(flags, os.environ, store.folder / PROJECT_FILE_NAME)
    names = setting_names()
    stored = {
        name: value for name, value in store.settings.all().items() if name in names and name not in settings.origins
    }
    if not stored:
        return settings
    return replace(settings, **stored, origins={**settings.origins, **dict.fromkeys(stored, STORED)})
