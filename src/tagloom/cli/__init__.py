"""The command line: arguments and printing, nothing else.

Each command lives in a file of its own and calls a workflow verb. Nothing heavy is imported before a command runs,
so that ``tagloom --help`` answers at once.
"""

from tagloom.cli.app import app, main

__all__ = ["app", "main"]
