"""``tagloom scan``: which photos are new, changed, moved or gone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import RichProgress, counted, print_error, print_json, print_line, print_table
from tagloom.cli.shared import (
    EngineOption,
    Json,
    ProjectOption,
    Quiet,
    RetryOption,
    Verbose,
    WorkersOption,
    logged,
    opened,
    print_some,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tagloom.project import ScanResult

__all__ = ["scan"]

_TOOK_OVER = "took over the tags of another file"
_N_EXTENSIONS = 4


def scan(
    photos: Annotated[
        Path | None,
        typer.Option(
            "--photos",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="The new path of the photo folder, if it moved.",
        ),
    ] = None,
    retry: RetryOption = False,
    workers: WorkersOption = None,
    engine: EngineOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find new, changed, moved and missing photos.

    Unchanged files are not opened. Decisions about missing photos are kept; an unlabelled copy inherits them. A RAW
    file without a JPEG or HEIC beside it counts as a photo; tagloom reads its embedded preview. Videos are read where
    PyAV is installed (pip install 'tagloom[video]'). The short video of a Live Photo or Motion Photo is part of that
    photo. Other files are counted as skipped. With -v it names all missing photos and unreadable files.
    If the photo folder cannot be reached, nothing changes and the exit code is 1.

    Example: tagloom scan
    """
    with opened(project, {"n_workers": workers, "engine": engine}, verbose=verbose) as found, logged(found):
        if photos is not None:
            found.move_root(photos)
        with RichProgress(quiet=quiet) as progress:
            result = found.scan(retry=retry, progress=progress)
        if as_json:
            print_json(result.as_dict())
        elif not result.offline:
            _print(result, verbose)
        if result.offline:
            print_error(
                f"the folder of photos {str(found.root)!r} cannot be reached (offline); plug it in, or say where it is "
                f"now: tagloom scan --photos DIR"
            )
            raise typer.Exit(1)


def _print(result: "ScanResult", verbose: bool) -> None:
    from tagloom.metadata import name_to_text

    changes = {
        "new": result.new,
        "changed": result.changed,
        "moved": result.moved,
        "missing": result.missing,
        "back": result.back,
        _TOOK_OVER: result.took_over,
    }
    rows = [
        (title, f"{len(ids)}", _shown(result.examples.get("took_over" if title == _TOOK_OVER else title, ())))
        for title, ids in changes.items()
    ]
    rows += [
        ("missing before", f"{len(result.absent) - len(result.missing)}", ""),
        ("unchanged", f"{result.n_same}", ""),
        ("copies of others", f"{result.n_duplicates}", ""),
        ("RAW of a photo", f"{result.n_raw_of_photos}", ""),
        ("RAW files that are photos", f"{result.n_raw_photos}", ""),
        ("videos", f"{result.n_videos}", ""),
        ("videos of Live Photos", f"{result.n_clips_of_photos}", ""),
        ("Motion Photos", f"{result.n_clips_in_photos}", ""),
        ("parts of a photo, gone", f"{len(result.raw_gone)}", _shown(result.raw_gone)),
        *((f"not read: {verdict}", f"{n}", "") for verdict, n in sorted(result.unreadable.items())),
    ]
    print_table(
        f"{result.n_listed} files in {result.seconds:.1f} s", ("photos", "", "such as"), _telling(rows), n_left=3
    )
    if result.skipped:
        print_line(f"Skipped: {_skipped(result.skipped)}")
    if n_readable := _readable_videos(result.skipped):
        what = "it" if n_readable == 1 else "them"
        print_line(
            f"{counted(n_readable, 'video')} can be tagged like photos. To read {what}: pip install 'tagloom[video]'"
        )
    lines = [f"not read: {name_to_text(name)} ({verdict}: {detail})" for name, verdict, detail in result.problems]
    print_some(lines, verbose=verbose, more="files that could not be read")
    for name in result.absent if verbose else ():
        print_line(f"missing: {name_to_text(name)}")
    if result.sidecars_left:
        n = counted(len(result.sidecars_left), "sidecar")
        print_line(f"{n} of moved photos stayed behind. To move them too, run: tagloom write")
    if result.batch is not None:
        print_line(
            f"action {result.batch}: photos inherited the tags of a missing copy, or of the other file of a RAW+JPEG "
            f"pair or Live Photo. To undo it, run: tagloom undo"
        )


def _shown(names: "Sequence[bytes]") -> str:
    from tagloom.metadata import name_to_text

    return ", ".join(name_to_text(name) for name in names[:3])


def _skipped(kinds: "Mapping[str, Mapping[str, int]]") -> str:
    """Return how many files of each kind were skipped: "12 videos (mp4, mov), 3 JXL, 1 PSD"."""
    parts = []
    for kind, extensions in kinds.items():
        n_files = sum(extensions.values())
        name = kind[:-1] if n_files == 1 and kind.endswith("s") else kind
        names = [*list(extensions)[:_N_EXTENSIONS], *(["…"] if len(extensions) > _N_EXTENSIONS else [])]
        parts.append(f"{n_files} {name}" + ("" if name.isupper() else f" ({', '.join(names)})"))
    return ", ".join(parts)


def _readable_videos(kinds: "Mapping[str, Mapping[str, int]]") -> int:
    """Return how many of the skipped files are videos that the extra "video" reads."""
    from tagloom.core import VIDEO_EXTENSIONS, VIDEOS

    readable = {extension[1:].decode() for extension in VIDEO_EXTENSIONS}
    return sum(n for extension, n in kinds.get(VIDEOS, {}).items() if extension in readable)


def _telling(rows: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Leave out rows that say nothing, but for those that people look for."""
    always = ("new", "changed", "moved", "missing", "unchanged")
    return [row for row in rows if row[0] in always or row[1] != "0"]
