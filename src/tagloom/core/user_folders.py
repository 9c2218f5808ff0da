"""The folders of this user, as each system has them: for what tagloom remembers, and for what it can make again."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["cache_folder", "config_folder"]


def config_folder(environment: Mapping[str, str] | None = None, *, platform: str | None = None) -> Path:
    """Return the folder for what tagloom has to remember outside of projects. It need not exist.

    ``TAGLOOM_CONFIG`` if set; else ``%APPDATA%`` (Windows), ``~/Library/Application Support`` (macOS) or
    ``XDG_CONFIG_HOME`` or ``~/.config`` (elsewhere), with ``tagloom`` under it.

    Parameters
    ----------
    environment : mapping, default=None
        Variables to read; None takes those of this process.
    platform : str, default=None
        As ``sys.platform``, which None takes.
    """
    windows, mac = ("APPDATA", "AppData/Roaming", "tagloom"), "Library/Application Support"
    return _folder("CONFIG", windows, mac, ".config", environment, platform)


def cache_folder(environment: Mapping[str, str] | None = None, *, platform: str | None = None) -> Path:
    """Return the folder for files that can be made again. It need not exist.

    ``TAGLOOM_CACHE`` if set; else ``%LOCALAPPDATA%`` (Windows), ``~/Library/Caches`` (macOS) or ``XDG_CACHE_HOME`` or
    ``~/.cache`` (elsewhere), with ``tagloom`` under it.

    Parameters
    ----------
    environment : mapping, default=None
        Variables to read; None takes those of this process.
    platform : str, default=None
        As ``sys.platform``, which None takes.
    """
    windows = ("LOCALAPPDATA", "AppData/Local", "tagloom/Cache")
    return _folder("CACHE", windows, "Library/Caches", ".cache", environment, platform)


def _folder(
    purpose: str,
    windows: tuple[str, str, str],
    mac: str,
    elsewhere: str,
    environment: Mapping[str, str] | None,
    platform: str | None,
) -> Path:
    environment = os.environ if environment is None else environment
    platform = sys.platform if platform is None else platform
    if environment.get(f"TAGLOOM_{purpose}"):
        return Path(environment[f"TAGLOOM_{purpose}"]).expanduser()
    home = Path(os.path.expanduser("~"))
    if platform == "win32":
        variable, default, inside = windows
        return Path(environment.get(variable) or home / default, inside)
    if platform == "darwin":
        return home / mac / "tagloom"
    # The XDG specification says that a relative path is to be ignored.
    wanted = environment.get(f"XDG_{purpose}_HOME", "")
    return Path(wanted if os.path.isabs(wanted) else home / elsewhere, "tagloom")
