"""``tagloom suggest``: the tags that the model would give."""

import sys
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import counted, cut, print_json_list, print_line, print_table, working
from tagloom.cli.first import VocabularyOption
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, opened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tagloom.learning import Suggestion

__all__ = ["suggest"]

N_PHOTOS = 20
#: Probability below which the table leaves a suggestion out, and the same for scores that are no probabilities.
UNLIKELY, UNLIKELY_SCORE = 0.05, 0.0


def suggest(
    photos: Annotated[list[str] | None, typer.Argument(help="Photos of the project; default: all.")] = None,
    keywords: Annotated[
        int | None, typer.Option("--keywords", "-n", min=0, help="Suggestions per photo; 0 means all tags.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="Show suggestions above this probability; default: the project's threshold."),
    ] = None,
    above_only: Annotated[
        bool, typer.Option("--above-only", help="Show only suggestions above the threshold.")
    ] = False,
    remember: Annotated[
        bool,
        typer.Option(
            "--remember",
            help="Save --threshold in the project; without --threshold, go back to the one training chose.",
        ),
    ] = False,
    vocabulary: VocabularyOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show suggested tags for photos, best first.

    Tags that you accepted or rejected are left out. A * marks suggestions above the threshold. Without -v you see the
    first 20 photos with a likely suggestion, and no unlikely ones.

    Before any photo is labelled, tagloom suggests tags by their names: those of --vocabulary, those of the project,
    or everyday words.

    Example: tagloom suggest beach/IMG_0042.jpg -n 3
    """
    import os

    from tagloom.cli.first import print_first, suggest_first
    from tagloom.learning import knows_names_alone, labels_needed, suggest_each, suggestions_kind

    with opened(project, verbose=verbose) as found, working("reading suggestions", quiet=quiet) as progress:
        if remember:
            found.threshold = threshold
        first = suggest_first(found, vocabulary, progress)
        n = found.settings.n_keywords if keywords is None else keywords
        rows = suggest_each(
            found.store, photos or None, n=n, threshold=threshold, above_only=above_only, base=os.getcwd()
        )
        kind = suggestions_kind(found.store)
        n_needed = 0 if kind == "probability" else labels_needed(found.store)
        if not as_json:
            is_share = kind == "probability" or knows_names_alone(found.store)
            least = UNLIKELY if is_share else UNLIKELY_SCORE
            shown, n_photos = _read(rows, None if verbose or photos or keywords is not None else least, verbose)
        else:
            if sys.stdout.isatty():
                progress.finish()  # what is printed shows that work goes on
            told = {"calibrated": kind == "probability", "labels_needed": n_needed}
            print_json_list("suggestions", (row.as_dict() for row in rows), **told)
    if not as_json:
        if first is not None and not quiet:
            print_first(first)
        _print(kind, n_needed, shown, n_photos, quiet)


def _read(rows: "Iterable[Suggestion]", least: float | None, verbose: bool) -> tuple[list[tuple[bytes, str]], int]:
    """Return photos that are shown with their likely suggestions, and how many photos have a suggestion."""
    shown, n_photos = list[tuple[bytes, str]](), 0
    for name, several in groupby(rows, key=lambda row: row.photo):
        n_photos += 1
        if verbose or len(shown) < N_PHOTOS:
            texts = [
                f"{row.tag if verbose else cut(row.tag)} {row.value:.2f}{'*' if row.is_above else ''}"
                for row in several
                if least is None or row.is_above or row.value >= least
            ]
            if texts:
                shown.append((name, ", ".join(texts)))
    return shown, n_photos


def _print(kind: str | None, n_needed: int, shown: list[tuple[bytes, str]], n_photos: int, quiet: bool) -> None:
    from tagloom.learning import not_calibrated
    from tagloom.metadata import name_to_text

    if not shown:
        print_line(
            "No suggestion is likely yet; -v shows all"
            if n_photos
            else "Nothing to suggest: every tag is decided, or nothing is above the threshold"
        )
        return
    numbers = "probabilities" if kind == "probability" else "scores"
    table = [(name_to_text(name), tags) for name, tags in shown]
    print_table(
        f"Suggestions for {counted(n_photos, 'photo')}",
        ("photo", f"tags and {numbers}, * above the threshold"),
        table,
        n_left=2,
    )
    if kind != "probability" and not quiet:
        print_line(f"Scores are {not_calibrated(n_needed)}.")
    if len(shown) < n_photos and not quiet:
        print_line(f"… and {counted(n_photos - len(shown), 'more photo')}; -v shows all, --json is for scripts")
