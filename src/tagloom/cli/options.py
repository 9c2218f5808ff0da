"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AbsentMeans",
    "EncoderOption",
    "EngineOption",
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

Method = Annotated[str | None, typer.Option("--method", help="Learning method; `tagloom methods` lists them.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Parameter of the method, repeatable; `tagloom methods NAME` lists them.",
    ),
]
NeighborsOption = Annotated[int | None, typer.Option("--neighbors", help="Neighbours per photo in the graph.")]
WorkersOption = Annotated[int | None, typer.Option("--workers", help="Number of processes that decode photos.")]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="local|processes|dask|dask://HOST:PORT",
        help="Where photos are read: here, in a pool of processes, or by the workers of a Dask cluster.",
    ),
]
ThreadsOption = Annotated[int | None, typer.Option("--threads", help="Number of threads for computing.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress; print results only.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print full lists, and log each step to standard error.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        envvar="TAGLOOM_PROJECT",
        metavar="DIR",
        help="The project, or the photo folder that holds it. Default: the current folder or the nearest one above.",
    ),
]
OutFolder = Annotated[Path, typer.Option("--out", help="Folder for the results; created if needed.")]
AbsentMeans = Annotated[
    str | None,
    typer.Option(
        "--absent-means",
        metavar="no|unknown",
        help="Whether a tag missing on a listed photo is rejected (no) or undecided (unknown).",
    ),
]
GroupsOption = Annotated[
    str | None,
    typer.Option("--groups", help="Feature groups or descriptors, separated by commas; `tagloom doctor` lists them."),
]
EncoderOption = Annotated[
    Path | None, typer.Option("--encoder", help="TOML file that describes your own ONNX encoder.")
]
RetryOption = Annotated[bool, typer.Option("--retry", help="Retry files that crashed the decoder before.")]
