"""``tagloom write``: keywords to sidecars, or into the photos."""

from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.options import Json, ProjectOption, Quiet, Verbose

if TYPE_CHECKING:
    from tagloom.workflow.project_write import FileWrite, WriteResult

__all__ = ["write"]

N_FILES = 20


def write(
    photos: Annotated[list[str] | None, typer.Argument(help="Photos of the project; default: all of them.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the difference for each file, and write nothing.")
    ] = False,
    suggested: Annotated[bool, typer.Option("--suggested", help="Write suggestions above the threshold, too.")] = False,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Write suggestions above this number, too.")
    ] = None,
    embed: Annotated[
        bool, typer.Option("--embed", help="Write into the photos themselves, with exiftool; raw files get sidecars.")
    ] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write keywords to XMP sidecars beside the photos.

    Written is what was accepted; suggestions only if asked. What other programs wrote stays. `tagloom undo` restores
    every file byte for byte. If a file could not be written, the others are, and the exit code is 1.

    Example: tagloom write --dry-run

    Example: tagloom write --threshold 0.8
    """
    import os

    from tagloom.cli.console import print_json, working
    from tagloom.cli.projects import logged, opened, who

    with (
        opened(project, verbose=verbose) as found,
        logged(found),
        working("preparing", quiet=quiet) as progress,
    ):
        result = found.write(
            dry_run=dry_run,
            embed=embed,
            photos=photos or None,
            threshold=threshold,
            accepted_only=False if suggested else None,
            who=who(),
            base=os.getcwd(),
            progress=progress,
        )
    if as_json:
        print_json(result.as_dict())
    else:
        _print(result, quiet, verbose)
    if result.counts.get("failed"):
        raise typer.Exit(1)


def _print(result: "WriteResult", quiet: bool, verbose: bool) -> None:
    from tagloom.cli.console import counted, print_error, print_line, print_note, print_table
    from tagloom.metadata.names import name_to_text

    for line in result.recovered:
        print_note(line)
    done = [item for item in result.files if item.status != "failed"]
    shown = done if verbose else done[:N_FILES]
    if shown:
        rows = [(name_to_text(item.photo), item.status, _difference(item, verbose)) for item in shown]
        title = "What would be written" if result.dry_run else "Written"
        print_table(title, ("photo", "", "+ comes, ~ comes as a suggestion, - goes"), rows, n_left=3)
    if len(shown) < len(done):
        print_line(f"… and {counted(len(done) - len(shown), 'more file')}; -v lists all")
    counts = ", ".join(f"{n} {status}" for status, n in sorted(result.counts.items())) or "no photo has keywords"
    print_line(
        f"files: {counts}; keywords: {result.n_accepted} accepted, {result.n_suggested} suggested, "
        f"{result.n_removed} removed"
    )
    if result.batch is not None and not quiet:
        print_line(f"action {result.batch}; tagloom undo takes it back")
    for item in result.files:
        if item.status == "failed":
            print_error(f"{name_to_text(item.photo)}: {item.problem}")


def _difference(item: "FileWrite", verbose: bool) -> str:
    from tagloom.cli.console import cut

    shown = str if verbose else cut
    added = [f"{'~' if keyword in item.suggested else '+'} {shown(keyword.text)}" for keyword in item.added]
    return "  ".join([*added, *(f"- {shown(keyword.text)}" for keyword in item.removed)])
