"""What all verbs of a project stand on: its store and its settings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tagloom.store.project import ProjectStore

if TYPE_CHECKING:
    from tagloom.settings import Settings

__all__ = ["ProjectBase"]


class ProjectBase:
    """A store and its settings.

    Parameters
    ----------
    store : ProjectStore
        The project.
    flags : mapping
        Settings that win over ``tagloom.toml`` and the environment.
    """

    def __init__(self, store: ProjectStore, flags: Mapping[str, Any]) -> None:
        self.store = store
        self._flags = dict(flags)
        self._settings: Settings | None = None

    @property
    def settings(self) -> "Settings":
        """All settings: flag, environment, ``tagloom.toml`` in the project's folder, the store, default."""
        if self._settings is None:
            from tagloom.catalog.extraction import project_settings

            self._settings = project_settings(self.store, self._flags)
        return self._settings

    def reload_settings(self) -> bool:
        """Read the settings again; return whether any is another one.

        Raises
        ------
        SettingsError
            If a value does not fit; the settings then stay as they are.
        """
        from tagloom.catalog.extraction import project_settings

        before, self._settings = self.settings, project_settings(self.store, self._flags)
        return self._settings != before
