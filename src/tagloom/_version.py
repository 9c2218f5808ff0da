"""The version, in one place (SemVer; see CHANGELOG.md for the deprecation rule)."""

__version__ = "0.1.0"
