"""``tagloom serve``: the review page and the HTTP API for other programs, other machines and several people."""

from pathlib import Path
from typing import Annotated

import typer

from tagloom.cli.exit_codes import EPILOG
from tagloom.cli.readable import Command, Group
from tagloom.cli.shared import Json, ProjectOption, Verbose

__all__ = ["serve"]

serve = typer.Typer(
    cls=Group,
    epilog=EPILOG,
    rich_markup_mode=None,
    invoke_without_command=True,
)
user = typer.Typer(
    cls=Group,
    help="Add, list and remove those who may use the project over HTTP.",
    epilog="A reader looks, a labeller decides and undoes their own decisions, an owner may do everything.",
    rich_markup_mode=None,
)
serve.add_typer(user, name="user")

UserName = Annotated[str, typer.Argument(help="A person or a program; their decisions carry this name.")]


@serve.callback(cls=Group)
def run(
    context: typer.Context,
    project: ProjectOption = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="Port; 0 reuses the last one or picks a free one."),
    ] = None,
    host: Annotated[
        str,
        typer.Option("--host", help="Address to listen on; others than 127.0.0.1 and ::1 need HTTPS or --plain-http."),
    ] = "127.0.0.1",
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate for HTTPS, PEM.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its private key, PEM.")] = None,
    plain_http: Annotated[
        bool,
        typer.Option(
            "--plain-http", help="Allow HTTP beyond this computer: behind a proxy with HTTPS, or in a container."
        ),
    ] = False,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="ADDRESS",
            help="Address that others use, such as https://photos.example.org; repeatable. Others are refused.",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Serve the review page and the HTTP API to programs and to other people, each with a token and a role.

    By default only this computer can reach it. The printed address opens the page once, for you as the owner. Others
    need a token: `tagloom serve user add NAME --role labeller`.

    Example: tagloom serve --port 8765
    """
    if context.invoked_subcommand is not None:
        return
    from tagloom.catalog.users import UserBook
    from tagloom.cli.console import print_note
    from tagloom.cli.review import serve_project
    from tagloom.cli.shared import logged, opened
    from tagloom.web.server import Network

    with opened(project, verbose=verbose) as found, logged(found):
        book = UserBook(found.store)
        network = Network(
            host=host,
            certificate=tls_cert,
            key=tls_key,
            is_plain_allowed=plain_http,
            names=tuple(name or ()),
            users=book,
        )
        network.check()
        if not book.users():
            print_note("Nobody else has a token yet. To add one, run: tagloom serve user add NAME --role labeller")
        serve_project(found, port=port, browser=False, network=network)


@user.command("add", cls=Command, epilog=EPILOG)
def add(
    name: UserName,
    role: Annotated[str, typer.Option("--role", help="reader, labeller or owner.")] = "reader",
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """Add a user and print their token, which is shown only now.

    A running server lets them in at once. A browser asks for the token on the first page; a program sends it as
    `Authorization: Bearer TOKEN`.

    Example: tagloom serve user add anna --role labeller
    """
    from tagloom.catalog.users import UserBook
    from tagloom.cli.console import print_json, print_line, print_note
    from tagloom.cli.shared import opened

    with opened(project) as found:
        token = UserBook(found.store).add(name, role)
    if as_json:
        print_json({"name": name, "role": role, "token": token})
        return
    print_line(token)
    print_note(f"This is the token of {name} ({role}). Only its hash is kept: note it now")


@user.command("list", cls=Command, epilog=EPILOG)
def list_users(project: ProjectOption = None, as_json: Json = False) -> None:
    """List users and their roles.

    Example: tagloom serve user list
    """
    from tagloom.catalog.users import UserBook
    from tagloom.cli.console import print_json, print_note, print_table
    from tagloom.cli.shared import opened

    with opened(project) as found:
        users = UserBook(found.store).users()
    if as_json:
        print_json({"users": [{"name": one.name, "role": one.role} for one in users]})
    elif users:
        print_table(f"{len(users)} users", ("name", "role"), [(one.name, one.role) for one in users], n_left=2)
    else:
        print_note("No users. To add one, run: tagloom serve user add NAME --role labeller")


@user.command("remove", cls=Command, epilog=EPILOG)
def remove(name: UserName, project: ProjectOption = None, as_json: Json = False) -> None:
    """Remove a user: their token is worth nothing from now on. Their decisions stay.

    Example: tagloom serve user remove anna
    """
    from tagloom.catalog.users import UserBook
    from tagloom.cli.console import print_json, print_note
    from tagloom.cli.shared import opened

    with opened(project) as found:
        UserBook(found.store).remove(name)
    if as_json:
        print_json({"name": name})
    else:
        print_note(f"{name} is removed. Their decisions stay")
