"""``tagloom import``: what files, photos and folders say about photos."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import print_json, print_line, print_table, working
from tagloom.cli.shared import AbsentMeans, Json, ProjectOption, Quiet, Verbose, logged, opened, print_some, shown, who

if TYPE_CHECKING:
    from tagloom.project import ImportResult

__all__ = ["import_"]


def import_(
    source: Annotated[Path | None, typer.Argument(help="A labels file, or a keyword file of another program.")] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", help="The format; default: recognised by name and content. See export --list-formats."
        ),
    ] = None,
    absent_means: AbsentMeans = None,
    include_suggested: Annotated[
        bool, typer.Option("--include-suggested", help="Count suggestions of a model in that file as labels.")
    ] = False,
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator", metavar="TEXT", help='Split keywords that list several tags, such as "plane, sky".'
        ),
    ] = None,
    skip_bad_rows: Annotated[
        bool,
        typer.Option("--skip-bad-rows", help="Import the rest of a file with rows that cannot be read."),
    ] = False,
    from_photos: Annotated[
        bool, typer.Option("--from-photos", help="Read keywords from the photos and their sidecars.")
    ] = False,
    sidecars: Annotated[
        bool, typer.Option("--sidecars/--no-sidecars", help="With --from-photos: read sidecars.")
    ] = True,
    embedded: Annotated[
        bool, typer.Option("--embedded/--no-embedded", help="With --from-photos: read keywords inside the photos.")
    ] = True,
    from_folders: Annotated[bool, typer.Option("--from-folders", help="Use the names of folders as keywords.")] = False,
    flat: Annotated[
        bool,
        typer.Option(
            "--flat", help="With --from-folders: make each folder a keyword of its own, not a level of a hierarchy."
        ),
    ] = False,
    skip: Annotated[
        list[str] | None,
        typer.Option("--skip", metavar="NAME", help="With --from-folders: a folder name to ignore; repeatable."),
    ] = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Import keywords from a file, from the photos and their sidecars, or from folder names.

    Your own decisions always win. If a labels file lists a photo without some tag, that tag is rejected on it; a tag
    that is missing in a photo's own keywords stays undecided. --absent-means changes this.

    If a row cannot be read, or the file names no photo of the project, nothing is imported.

    Example: tagloom import labels.csv

    Example: tagloom import --from-photos
    """
    from tagloom.core import check_absent_means

    if (source is not None) + from_photos + from_folders != 1:
        raise typer.BadParameter(
            "Nothing to import. Name a file, or add --from-photos or --from-folders", param_hint="SOURCE"
        )
    with opened(project, verbose=verbose) as found, logged(found), working("importing", quiet=quiet) as progress:
        means = None if absent_means is None else check_absent_means(absent_means)
        if source is not None:
            result = found.import_keywords(
                source,
                format=format_,
                absent_means=means,
                include_suggested=include_suggested,
                separator=separator,
                skip_bad_rows=skip_bad_rows,
                who=who(),
                progress=progress,
            )
        elif from_photos:
            result = found.import_from_photos(
                absent_means=means, sidecars=sidecars, embedded=embedded, who=who(), progress=progress
            )
        else:
            result = found.import_folder_names(
                hierarchy=not flat, skip=skip or (), absent_means=means, who=who(), progress=progress
            )
    if as_json:
        print_json(result.as_dict())
    else:
        _print(result, verbose)


def _print(result: "ImportResult", verbose: bool) -> None:
    from tagloom.metadata import name_to_text

    if result.already:
        print_line(f"{result.source}: already imported; nothing changed")
        return
    rows = [
        ("photos listed", f"{result.n_photos}"),
        ("tags", f"{result.n_tags}"),
        ("accepted", f"{result.n_yes}"),
        ("rejected", f"{result.n_no}"),
        ("a tag that is not listed is", result.absent_means),
        ("rejected by absence", f"{result.n_by_absence}"),
        ("new decisions", f"{result.n_decisions}"),
        ("conflicts with your own labels (kept yours)", f"{result.n_conflicts}"),
        ("suggestions in the file, skipped", f"{result.n_suggested}"),
        ("names without a photo", f"{len(result.unmatched)}"),
        ("rows skipped", f"{len(result.problems)}"),
    ]
    print_table(f"{result.source} ({result.format})", ("", ""), rows)
    if result.format == "photos" and result.n_photos == 0:
        print_line("No photo and no sidecar has a keyword")
    if result.created:
        print_line(f"new tags: {shown(result.created, len(result.created) if verbose else 10)}")
    print_some([f'"{given}" is the tag "{tag}"' for given, tag in result.respelled], verbose=verbose, more="spellings")
    print_some(result.hints, verbose=verbose, more="hints")
    conflicts = [
        f"left as it was: {name_to_text(photo)}: {tag} (there: {word})" for photo, tag, word in result.conflicts
    ]
    print_some(conflicts, verbose=verbose, more="of these")
    print_some([f"no photo: {name}" for name in result.unmatched], verbose=verbose, more="names without a photo")
    print_some(result.problems, verbose=verbose, more="problems")
