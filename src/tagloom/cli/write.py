"""``tagloom write``: keywords to sidecars, or into the photos."""

from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import counted, cut, print_error, print_json, print_line, print_note, print_table, working
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, logged, opened, who

if TYPE_CHECKING:
    from tagloom.project import FileWrite, WriteResult

__all__ = ["write"]

N_FILES = 20


def write(
    photos: Annotated[list[str] | None, typer.Argument(help="Photos of the project; default: all of them.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change in each file, and write nothing.")
    ] = False,
    suggested: Annotated[bool, typer.Option("--suggested", help="Also write suggestions above the threshold.")] = False,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Also write suggestions above this probability.")
    ] = None,
    uncalibrated: Annotated[
        bool, typer.Option("--uncalibrated", help="Also write uncalibrated suggestions, before 20 photos are labelled.")
    ] = False,
    embed: Annotated[
        bool,
        typer.Option(
            "--embed",
            help="Write into the photos themselves, with exiftool; RAW, HEIC, AVIF and GIF files get sidecars.",
        ),
    ] = False,
    iptc: Annotated[
        bool, typer.Option("--iptc", help="With --embed: add IPTC keywords to photos that have none.")
    ] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write your accepted keywords to XMP sidecars beside the photos.

    Suggestions are written only with --suggested or --threshold, once 20 photos are labelled. Keywords of other
    programs stay. `tagloom undo` restores every file byte for byte. If some files cannot be written, the others are,
    and the exit code is 1.

    Example: tagloom write --dry-run

    Example: tagloom write --threshold 0.8
    """
    import os

    with (
        opened(project, verbose=verbose) as found,
        logged(found),
        working("preparing", quiet=quiet) as progress,
    ):
        result = found.write(
            dry_run=dry_run,
            embed=embed,
            iptc=iptc,
            photos=photos or None,
            threshold=threshold,
            accepted_only=False if suggested else None,
            uncalibrated=uncalibrated,
            who=who(),
            base=os.getcwd(),
            progress=progress,
        )
    if as_json:
        print_json(result.as_dict())
    else:
        _print(result, quiet, verbose, embed)
    if result.counts.get("failed"):
        raise typer.Exit(1)


def _print(result: "WriteResult", quiet: bool, verbose: bool, embed: bool) -> None:
    from tagloom.metadata import name_to_text

    for line in result.recovered:
        print_note(line)
    for old, new in result.moved:
        verb = "would move" if result.dry_run else "moved"
        print_line(f"{verb}: {name_to_text(old)} to {name_to_text(new)}, where its photo is now")
    done = [item for item in result.files if item.status not in ("failed", "unchanged")]
    shown = done if verbose else done[:N_FILES]
    if shown:
        rows = [(name_to_text(item.photo), item.status, _difference(item, verbose)) for item in shown]
        title = "What would be written" if result.dry_run else "Written"
        print_table(title, ("photo", "", "+ added, ~ suggested, − removed"), rows, n_left=3)
    if result.dry_run:
        for item in shown:
            _print_fields(item)
    if len(shown) < len(done):
        print_line(f"… and {counted(len(done) - len(shown), 'more file')}; -v lists all")
    noted = [f"{name_to_text(item.photo)}: {note}" for item in result.files for note in item.notes]
    for line in noted if verbose else noted[:N_FILES]:
        print_note(line)
    if len(noted) > N_FILES and not verbose:
        print_note(f"… and {counted(len(noted) - N_FILES, 'more note')}; -v lists all")
    n_sidecars = sum(item.file.lower().endswith(b".xmp") for item in done) if embed else 0
    if n_sidecars:
        print_note(f"{counted(n_sidecars, 'sidecar')} instead: keywords go into JPEG, PNG, TIFF and WebP files only")
    if result.counts:
        counts = ", ".join(f"{n} {status}" for status, n in sorted(result.counts.items()))
        print_line(
            f"files: {counts}; keywords: {result.n_accepted} accepted, {result.n_suggested} suggested, "
            f"{result.n_removed} removed"
        )
    else:
        print_line("No photo has keywords yet")
    if result.withheld and not quiet:
        print_line(result.withheld)
    if result.batch is not None and not quiet:
        print_line(f"action {result.batch}; tagloom undo takes it back")
    for item in result.files:
        if item.status == "failed":
            print_error(f"{name_to_text(item.photo)}: {item.problem}")


def _print_fields(item: "FileWrite") -> None:
    """Print every item of every field that would change."""
    import os

    from tagloom.metadata import name_to_text

    name = name_to_text(os.path.basename(item.file))
    for change in item.fields:
        items = [*(f"+ {text}" for text in change.added), *(f"- {text}" for text in change.removed)]
        print_line(f"{name}, {change.label}: {'  '.join(items)}")


def _difference(item: "FileWrite", verbose: bool) -> str:

    shown = str if verbose else cut
    added = [f"{'~' if keyword in item.suggested else '+'} {shown(keyword.text)}" for keyword in item.added]
    return "  ".join([*added, *(f"- {shown(keyword.text)}" for keyword in item.removed)])
