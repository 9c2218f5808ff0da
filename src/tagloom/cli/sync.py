"""``tagloom sync``: photos and tags of another program's server."""

from pathlib import Path
from typing import Annotated

import typer

from tagloom.cli.exit_codes import EPILOG
from tagloom.cli.readable import Command, Group
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose

__all__ = ["sync"]

LONGEST_KEY = 10_000

sync = typer.Typer(
    cls=Group,
    help="Bring in photos and tags of another program's server, and write accepted tags there.",
    epilog=EPILOG,
    rich_markup_mode=None,
)


@sync.callback(cls=Group)
def group() -> None:
    """Bring in photos and tags of another program's server, and write accepted tags there."""


@sync.command("immich", cls=Command, epilog=EPILOG)
def immich(
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Address of the Immich server.")],
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", metavar="FILE", help="File with an API key. Default: $TAGLOOM_IMMICH_KEY."),
    ] = None,
    pull_only: Annotated[bool, typer.Option("--pull-only", help="Write nothing to the server.")] = False,
    push_only: Annotated[bool, typer.Option("--push-only", help="Only write accepted tags.")] = False,
    plain_http: Annotated[
        bool, typer.Option("--plain-http", help="Allow HTTP beyond this computer, in a network you trust.")
    ] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Bring previews and tags of an Immich server into a project, and write the tags that you accepted to the server.

    Previews are stored below the folder of photos as immich/ID.jpg. tagloom takes out only tags that it wrote itself,
    and deletes no photo, album or tag. After an interruption the same command goes on.

    Example: tagloom sync immich --url https://immich.example.org --key-file immich.key
    """
    import os

    from tagloom.cli.console import print_json, print_line, working
    from tagloom.cli.shared import logged, opened
    from tagloom.connectors.immich import ImmichServer, sync_immich
    from tagloom.exceptions import InvalidInputError

    if pull_only and push_only:
        raise InvalidInputError("--pull-only and --push-only leave nothing to do; give one of them")
    if key_file is None:
        key = os.environ.get("TAGLOOM_IMMICH_KEY", "")
    else:
        with open(key_file, encoding="utf-8", errors="replace") as file:
            key = file.read(LONGEST_KEY).strip()
    server = ImmichServer(url, key, allow_plain_http=plain_http)
    with (
        opened(project, verbose=verbose) as found,
        logged(found),
        working("synchronising with Immich", quiet=quiet) as progress,
    ):
        result = sync_immich(found, server, pull=not push_only, push=not pull_only, progress=progress)
    if as_json:
        print_json(result.as_dict())
        return
    print_line(
        f"{result.n_assets} photos there, {result.n_fetched} previews fetched, {result.n_imported} tags imported; "
        f"{result.n_written} tags written, {result.n_taken_out} taken out"
    )
    if result.n_failed:
        print_line(f"{result.n_failed} photos have no preview yet; run the same again later")
    if result.skipped:
        print_line(f"not written, as Immich parts levels by slashes: {', '.join(result.skipped[:5])}")
