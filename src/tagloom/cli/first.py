"""What commands say of suggestions by the names of tags, before any photo is labelled."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import counted, cut, print_line

if TYPE_CHECKING:
    from tagloom.core import Progress
    from tagloom.learning import FirstResult
    from tagloom.project import Project

__all__ = ["VocabularyOption", "print_first", "suggest_first"]

VocabularyOption = Annotated[
    Path | None,
    typer.Option(
        "--vocabulary", help="Text file, one tag a line: suggest these by their names before anything is labelled."
    ),
]
N_TAGS = 12


def suggest_first(
    project: "Project", vocabulary: Path | None, progress: "Progress", *, compute: bool = True
) -> "FirstResult | None":
    """Make suggestions by names where a vocabulary is given or nothing else is there; None where that is not so."""
    from tagloom.exceptions import StoreBusyError, StoreError

    if vocabulary is not None:
        from tagloom.learning import read_vocabulary  # here, as it loads what learns

        return project.suggest_first(read_vocabulary(vocabulary), compute=compute, progress=progress)
    if project.store.suggestions.latest() is not None or not project.needs_first_suggestions():
        return None
    try:
        return project.suggest_first(compute=compute, progress=progress)
    except StoreBusyError:
        raise
    except StoreError:  # no names to go by: as before, what is missing is a model
        return None


def print_first(result: "FirstResult") -> None:
    """Say which tags were found, and in about how many photos."""
    found = [f"{one.n_photos} of {cut(one.tag)}" for one in result.tags if one.n_photos]
    source = {"everyday": "everyday words", "tags": "the tags of this project", "vocabulary": "your vocabulary"}
    if found:
        more = f" and {counted(len(found) - N_TAGS, 'more tag')}" if len(found) > N_TAGS else ""
        print_line(f"Among {counted(result.n_photos, 'photo')}, about {', '.join(found[:N_TAGS])}{more}.")
    print_line(
        f"These come from the names of tags alone ({source[result.source]}), and are not calibrated on your photos. "
        "They stay in the project until you accept them or train."
    )
    if result.unknown:
        unknown = ", ".join(cut(tag) for tag in result.unknown[:N_TAGS])
        print_line(f"No suggestions by name for {unknown}: label some examples.")
