"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "EncoderOption",
    "GroupsOption",
    "Method",
    "NeighborsOption",
    "OutFolder",
    "Quiet",
    "RetryOption",
    "ThreadsOption",
    "WorkersOption",
]

Method = Annotated[str | None, typer.Option("--method", help="How to learn; see `tagloom doctor` for the names.")]
NeighborsOption = Annotated[int | None, typer.Option("--neighbors", help="Neighbours of each photo in the graph.")]
WorkersOption = Annotated[int | None, typer.Option("--workers", help="Processes that decode photos.")]
ThreadsOption = Annotated[int | None, typer.Option("--threads", help="Threads of numerical work.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only results.")]
OutFolder = Annotated[Path, typer.Option("--out", help="Folder for the results; made if needed.")]
GroupsOption = Annotated[
    str | None,
    typer.Option("--groups", help="Feature groups or descriptors, split by commas; `tagloom doctor` lists them."),
]
EncoderOption = Annotated[
    Path | None, typer.Option("--encoder", help="TOML file that describes another ONNX image network.")
]
RetryOption = Annotated[bool, typer.Option("--retry", help="Try files again that crashed the decoder before.")]
