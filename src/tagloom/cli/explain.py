"""``tagloom explain``: why the model gives a tag to a photo."""

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import print_json, print_line, print_table, working
from tagloom.cli.shared import (
    EncoderOption,
    GroupsOption,
    Json,
    ProjectOption,
    Quiet,
    ThreadsOption,
    Verbose,
    opened,
    tag_names,
)

if TYPE_CHECKING:
    from tagloom.learning import ExplainResult

__all__ = ["explain"]


def explain(
    photo: Annotated[str, typer.Argument(help="A photo of the project.")],
    tag: Annotated[str, typer.Argument(help="The tag, by name or alias.", autocompletion=tag_names)],
    photos: Annotated[
        int, typer.Option("--photos", "-n", min=0, help="How many labelled photos to list; 0 means all.")
    ] = 8,
    groups: GroupsOption = None,
    encoder: EncoderOption = None,
    threads: ThreadsOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show why a photo has its score for a tag: which labelled photos and which features speak for it.

    The amounts of each table add up to the score; of a video, the last table has the scores of its key frames. The
    features must be the ones that the model was trained on.

    Example: tagloom explain beach/IMG_0042.jpg sea
    """
    import os

    from tagloom.exceptions import PhotosError, StoreError

    flags = {"descriptors": groups, "encoder": encoder, "n_threads": threads}
    with opened(project, flags, verbose=verbose) as found, working("reading features", quiet=quiet):
        result = found.explain(photo, tag, n=photos, base=os.getcwd())
        moments: tuple[tuple[float, float], ...] = ()
        with contextlib.suppress(StoreError, PhotosError):  # some methods score no key frames
            moments = found.moments(photo, tag, base=os.getcwd())
    if as_json:
        print_json(result.as_dict() | ({"moments": [list(each) for each in moments]} if moments else {}))
        return
    _print(result, quiet)
    if moments:
        rows = [(f"{time:.1f} s", f"{score:.3f}") for time, score in moments]
        print_table("By key frame", ("at", "score"), rows)


def _print(result: "ExplainResult", quiet: bool) -> None:
    from tagloom.metadata import name_to_text

    said = {True: "yes", False: "no", None: "nothing"}
    print_line(f"{name_to_text(result.photo)}: {result.tag}, score {result.score:.3f} ({_number(result)})")
    own = "; the score uses it" if result.knows_own_label else "; score and probability do not use it"
    own = "" if result.decided is None else own
    print_line(f"your label: {said[result.decided]}{own}; model {result.model} ({result.method})")
    near = [(name_to_text(item.photo), said[item.has_tag], f"{item.amount:+.4f}") for item in result.photos]
    near += _rows_of_rest(
        ("if every label were the tag's frequency", result.photos_base),
        (f"{result.n_other} other labelled photos", result.photos_other if result.n_other else None),
        ("the model before the update", result.earlier or None),
        ("not explained", None if result.photos_exact else result.photos_rest),
    )
    print_table("By labelled photos", ("photo", "has it", "adds"), near, n_left=2)
    parts = [(item.name, "", f"{item.amount:+.4f}") for item in result.groups]
    parts += _rows_of_rest(
        ("an average photo", result.groups_base),
        ("the model before the update", result.earlier or None),
        ("not explained", None if result.groups_exact else result.groups_rest),
    )
    print_table("By feature groups", ("group", "", "adds"), parts, n_left=2)
    if result.tags:
        others = [(item.name, f"{item.amount:+.4f}") for item in result.tags]
        print_table("By tags", ("tag", "adds"), others)
    if result.by_name is not None:
        seen = ", ".join(f"{item.name}: {item.amount:.2f}" for item in result.seen)
        print_line(f"The network sees {seen}; the tag's name adds {result.by_name:+.2f} to the log-odds.")
    if not quiet:
        for note in result.notes:
            print_line(note)


def _number(result: "ExplainResult") -> str:
    if result.value is None:
        return "not suggested"
    return f"{'probability' if result.kind == 'probability' else 'suggested with'} {result.value:.3f}"


def _rows_of_rest(*rows: tuple[str, float | None]) -> list[tuple[str, str, str]]:
    """Return rows of amounts that belong to no photo or group; None leaves one out."""
    return [(name, "", f"{amount:+.4f}") for name, amount in rows if amount is not None]
