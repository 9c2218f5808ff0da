"""``tagloom tags``: list, rename, merge, split, alias, imply, forget."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.console import counted, cut, print_json, print_line, print_table
from tagloom.cli.exit_codes import EPILOG
from tagloom.cli.readable import Command, Group
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, opened, print_some, tag_names, who

if TYPE_CHECKING:
    from tagloom.project import Project

__all__ = ["tags"]

Known = Annotated[str, typer.Argument(help="The tag, by name or alias.", autocompletion=tag_names)]
Child = Annotated[str, typer.Argument(help="The narrower tag, such as heron.", autocompletion=tag_names)]
Parent = Annotated[str, typer.Argument(help="The wider tag, such as bird.", autocompletion=tag_names)]


class _ListByDefault(Group):
    """A group whose sub-command ``list`` need not be named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_bare = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        if is_bare and not ctx.resilient_parsing:  # the shell's completion asks for the sub-commands
            args = ["list", *args]
        return super().parse_args(ctx, args)


tags = typer.Typer(
    cls=_ListByDefault,
    help="List, rename, merge and split tags, and set aliases and implications.",
    epilog="`tagloom tags` alone lists them. `tagloom undo` takes back any change.",
    rich_markup_mode=None,
)


@tags.command("list", cls=Command, epilog=EPILOG)
def list_tags(
    project: ProjectOption = None, as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """List all tags with their accepted and rejected photos, aliases and implied tags.

    The counts include photos that have a tag by implication.

    Example: tagloom tags list
    """
    with opened(project, verbose=verbose) as found:
        listed, pairs, hints = found.tags(), found.implications(), found.similar_tags()
    parents: dict[str, list[str]] = {}
    for child, parent in pairs:
        parents.setdefault(child, []).append(parent)
    if as_json:
        from tagloom.catalog import plain

        print_json({"tags": [plain(tag) | {"implies": parents.get(tag.text, [])} for tag in listed], "hints": hints})
    elif listed:
        shown = str if verbose else cut
        rows = [
            (
                shown(tag.text),
                shown(", ".join(tag.aliases)),
                shown(", ".join(parents.get(tag.text, ()))),
                f"{tag.n_yes}",
                f"{tag.n_no}",
            )
            for tag in listed
        ]
        print_table(counted(len(listed), "tag"), ("tag", "other names", "implies", "yes", "no"), rows, n_left=3)
        print_some(hints, verbose=verbose, more="hints")
    elif not quiet:
        print_line("No tags yet. Run: tagloom review (or tagloom import LABELS.csv)")


@tags.command("rename", cls=Command, epilog=EPILOG)
def rename(
    tag: Known,
    new: Annotated[str, typer.Argument(help="The new name.")],
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Rename a tag. The old name keeps working as an alias.

    Example: tagloom tags rename see sea
    """
    _change(
        project, as_json, quiet, verbose, lambda found, who: found.rename_tag(tag, new, who=who), f"{tag} is now {new}"
    )


@tags.command("merge", cls=Command, epilog=EPILOG)
def merge(
    tag: Known,
    into: Annotated[str, typer.Argument(help="The tag to merge into.", autocompletion=tag_names)],
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Merge one tag into another, with all its photos.

    Example: tagloom tags merge ocean sea
    """
    _change(
        project,
        as_json,
        quiet,
        verbose,
        lambda found, who: found.merge_tags(tag, into, who=who),
        f"{tag} is now {into}",
    )


@tags.command("split", cls=Command, epilog=EPILOG)
def split(
    tag: Known,
    separator: Annotated[
        str, typer.Option("--separator", metavar="TEXT", help="The separator between the tags; | for levels.")
    ] = ",",
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Split a tag that is really a list into its single tags.

    Example: tagloom tags split "airplane, plane, sky"
    """
    done = f"{tag} is split"
    _change(project, as_json, quiet, verbose, lambda found, who: found.split_tag(tag, separator, who=who), done)


@tags.command("alias", cls=Command, epilog=EPILOG)
def alias(
    name: Annotated[str, typer.Argument(metavar="ALIAS", help="The other name.")],
    tag: Known,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Give a tag another name that also leads to it.

    Example: tagloom tags alias mer sea
    """
    done = f"{name} means {tag}"
    _change(project, as_json, quiet, verbose, lambda found, who: found.alias_tag(name, tag, who=who), done)


@tags.command("imply", cls=Command, epilog=EPILOG)
def imply(
    child: Child,
    parent: Parent,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Declare that every photo with one tag also has another.

    Example: tagloom tags imply heron bird
    """
    done = f"{child} implies {parent}"
    _change(project, as_json, quiet, verbose, lambda found, who: found.imply_tag(child, parent, who=who), done)


@tags.command("forget", cls=Command, epilog=EPILOG)
def forget(
    child: Child,
    parent: Parent,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Remove an implication between two tags.

    Example: tagloom tags forget heron bird
    """
    done = f"{child} no longer implies {parent}"
    _change(project, as_json, quiet, verbose, lambda found, who: found.forget_implication(child, parent, who=who), done)


def _change(
    project: Path | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    change: "Callable[[Project, str], int | None]",
    done: str,
) -> None:
    """Make a change of tags, and say so on one line: nothing heavy is imported for a table."""
    with opened(project, verbose=verbose) as found:
        batch = change(found, who())
    if as_json:
        print_json({"batch": batch, "done": done})
    elif not quiet:
        print_line(f"{done} (action {batch})" if batch is not None else f"{done}: already so; nothing changed")
