"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AbsentMeans",
    "EncoderOption",
    "GroupsOption",
    "Json",
    "Method",
    "NeighborsOption",
    "OutFolder",
    "ProjectOption",
    "Quiet",
    "RetryOption",
    "SetOption",
    "ThreadsOption",
    "Verbose",
    "WorkersOption",
]

Method = Annotated[str | None, typer.Option("--method", help="How to learn; `tagloom methods` lists the names.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the method, as often as needed; `tagloom methods NAME` lists them.",
    ),
]
NeighborsOption = Annotated[int | None, typer.Option("--neighbors", help="Neighbours of each photo in the graph.")]
WorkersOption = Annotated[int | None, typer.Option("--workers", help="Processes that decode photos.")]
ThreadsOption = Annotated[int | None, typer.Option("--threads", help="Threads of numerical work.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only results.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Lists in full, and on standard error what is done meanwhile.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document in place of tables.")]
ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        envvar="TAGLOOM_PROJECT",
        metavar="DIR",
        help="The project's folder, or the photos' folder that holds it. "
        "Default: the current folder or the nearest one above it.",
    ),
]
OutFolder = Annotated[Path, typer.Option("--out", help="Folder for the results; made if needed.")]
AbsentMeans = Annotated[
    str | None,
    typer.Option(
        "--absent-means", metavar="no|unknown", help="What a tag not named on a listed photo means: no or unknown."
    ),
]
GroupsOption = Annotated[
    str | None,
    typer.Option("--groups", help="Feature groups or descriptors, split by commas; `tagloom doctor` lists them."),
]
EncoderOption = Annotated[
    Path | None, typer.Option("--encoder", help="TOML file that describes another ONNX image network.")
]
RetryOption = Annotated[bool, typer.Option("--retry", help="Try files again that crashed the decoder before.")]
