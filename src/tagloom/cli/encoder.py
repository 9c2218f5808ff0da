"""``tagloom encoder``: add, list and try your own image encoders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.exit_codes import EPILOG
from tagloom.cli.readable import Command, Group
from tagloom.cli.shared import Json, Quiet

if TYPE_CHECKING:
    from tagloom.jobs import EncoderTrial

__all__ = ["encoder"]

encoder = typer.Typer(
    cls=Group,
    help="Add, list and try image encoders of your own (ONNX: CLIP, SigLIP, DINOv2 …).",
    epilog="tagloom downloads nothing: you bring the files.",
    rich_markup_mode=None,
)


@encoder.command("add", cls=Command, epilog=EPILOG)
def add(
    source: Annotated[
        Path, typer.Argument(metavar="FILE|FOLDER", help="ONNX or TOML file, or the folder of an export.")
    ],
    name: Annotated[str | None, typer.Option("--name", help="How to call it; default: as the file or folder.")] = None,
    size: Annotated[
        int | None, typer.Option("--size", min=1, max=4096, help="Side of the square it takes, where no file tells.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Describe an encoder, run it once, and keep it under a name for --encoder.

    tagloom reads names and sizes from the model and from preprocessor_config.json beside it, and finds a text tower
    and its tokenizer.json. The models stay where they are.

    Example: tagloom encoder add ~/models/clip-vit-base-patch32
    """
    from tagloom.cli.console import print_json, print_line, working
    from tagloom.jobs import add_encoder

    with working("running the encoder", quiet=quiet):
        found = add_encoder(source, name=name or "", size=size)
    if as_json:
        print_json(found.as_dict())
        return
    if not quiet:
        print_line(f"Added {_told(found)}. Its settings are in {found.settings}")
        print_line(f'Use it: tagloom train --encoder {found.name}, or encoder = "{found.name}" in tagloom.toml')


@encoder.command("list", cls=Command, epilog=EPILOG)
def list_(as_json: Json = False) -> None:
    """List the encoders that you added.

    Example: tagloom encoder list
    """
    from tagloom.cli.console import print_json, print_line, print_table
    from tagloom.jobs import list_encoders

    found = list_encoders()
    if as_json:
        print_json({"encoders": [one.as_dict() for one in found]})
    elif not found:
        print_line("No encoder was added. Add one: tagloom encoder add FILE")
    else:
        rows = [(one.name, one.problem or one.model, "yes" if one.reads_text else "no") for one in found]
        print_table("Encoders", ("name", "model", "reads text"), rows, n_left=3)


@encoder.command("test", cls=Command, epilog=EPILOG)
def try_(
    name: Annotated[Path, typer.Argument(metavar="NAME|FILE", help="An encoder that you added, or a TOML file.")],
    photos: Annotated[list[Path] | None, typer.Argument(help="Photos to run it on.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run an encoder once: its columns, its time, and, where it reads text, what it sees in photos.

    Example: tagloom encoder test clip-vit-base-patch32 beach/IMG_0042.jpg
    """
    from tagloom.cli.console import print_json, print_line, working
    from tagloom.jobs import try_encoder

    with working("running the encoder", quiet=quiet):
        found = try_encoder(name, photos or ())
    if as_json:
        print_json(found.as_dict())
        return
    print_line(_told(found))
    for photo, words in found.words:
        if words:
            print_line(f"{photo}: {', '.join(f'{word} {share:.2f}' for word, share in words)}")


def _told(found: "EncoderTrial") -> str:
    text = ", with a text tower" if found.reads_text else ""
    return f"{found.name}: {found.n_columns} columns, {found.milliseconds:.0f} ms a photo in one thread{text}"
