"""``tagloom check`` and ``tagloom repair``: whether the project is what it should be."""

from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import print_json, print_line, print_table, working
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, logged, opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagloom.store import Finding

__all__ = ["check", "repair"]


def check(
    checksums: Annotated[
        bool, typer.Option("--checksums", help="Read every array file in full, not only those in use.")
    ] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Look for damage in the project and for missing photos, and change nothing.

    With -v it names every missing photo. The exit code is 1 if it finds anything.

    Example: tagloom check --checksums
    """
    from tagloom.metadata import name_to_text

    with opened(project, verbose=verbose) as found, working("checking the project", quiet=quiet):
        findings = found.check(checksums=checksums)
        missing = found.store.photos.missing() if verbose and not as_json else []
    _print("Findings", findings, as_json)
    for name in missing:
        print_line(f"missing: {name_to_text(name)}")
    if findings:
        raise typer.Exit(1)
    if not as_json and not quiet:
        print_line("no damage found")


def repair(
    project: ProjectOption = None, as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """Repair what can be repaired safely, and leave the rest as it is.

    Your decisions are never touched. Damaged features and models are set aside; the next command that needs them
    computes them again.

    Example: tagloom repair
    """
    with opened(project, verbose=verbose) as found, logged(found), working("repairing the project", quiet=quiet):
        findings = found.repair()
    _print("Repaired", findings, as_json)
    if not findings and not as_json and not quiet:
        print_line("nothing to repair")


def _print(title: str, findings: "Sequence[Finding]", as_json: bool) -> None:
    from tagloom.catalog import plain

    if as_json:
        print_json({"findings": plain(findings)})
    elif findings:
        rows = [(item.kind, "tagloom repair" if item.repairable else "", item.detail) for item in findings]
        print_table(title, ("kind", "repair with", "what"), rows, n_left=3)
