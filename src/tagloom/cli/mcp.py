"""``tagloom mcp``: tools for assistants that speak the Model Context Protocol."""

from typing import Annotated

import typer

from tagloom.cli.shared import ProjectOption

__all__ = ["mcp"]


def mcp(
    project: ProjectOption = None,
    pictures: Annotated[
        bool,
        typer.Option(
            "--pictures", help="Let the assistant see thumbnails; they leave this computer if it runs elsewhere."
        ),
    ] = False,
) -> None:
    """Let an assistant search photos, read suggestions and propose tags; you decide on the review page.

    It speaks the Model Context Protocol on standard input and output: give this command to the assistant's program. It
    cannot decide, train or write files. Needs `pip install 'tagloom[mcp]'`.

    Example: tagloom mcp --project ~/Pictures
    """
    from tagloom.cli.shared import logged, opened
    from tagloom.connectors.assistants import make_server

    with opened(project) as found, logged(found):
        make_server(found, pictures=pictures).run()
