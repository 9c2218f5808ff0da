"""ONNX files of a user: what they hold, a digest of all they are made of, and the part that one output needs."""

import difflib
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tagloom.exceptions import ModelError
from tagloom.features.network.runner import OnnxRunner, file_digest

__all__ = ["OnnxFile"]


class OnnxFile:
    """An ONNX file, read without its weights.

    Parameters
    ----------
    path : path
        The file.

    Attributes
    ----------
    inputs, outputs : tuple of str
        What the whole model takes and gives.

    Raises
    ------
    ModelError
        If it cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._model = _load(self.path, weights=False)
        graph = self._model.graph
        given = {one.name for one in graph.initializer}
        self.inputs: tuple[str, ...] = tuple(one.name for one in graph.input if one.name not in given)
        self.outputs: tuple[str, ...] = tuple(one.name for one in graph.output)
        self._makers = {name: node for node in graph.node for name in node.output if name}

    @property
    def label(self) -> str:
        """What errors call it."""
        return f"{self.path.name!r}"

    def digest(self) -> str:
        """Return the SHA-256 of the file and of the files that hold its weights, where it has any.

        Raises
        ------
        ModelError
            If weights are kept outside the folder of the file, or cannot be read.
        """
        try:
            digest = hashlib.sha256(file_digest(self.path).encode())
        except OSError as error:
            raise ModelError(f"cannot read the model {self.label}: {error.strerror or error}") from error
        folder = self.path.parent
        for location in sorted(
            {name for part in (self._model.graph, *self._model.functions) for name in _other_files(part)}
        ):
            file = folder / location
            if Path(location).is_absolute() or not file.resolve().is_relative_to(folder.resolve()):
                raise ModelError(f"{self.label} keeps weights in {location!r}, outside its folder, where none are read")
            try:
                digest.update(file_digest(file).encode())
            except OSError as error:
                raise ModelError(
                    f"{self.label} keeps weights in {location!r}, which cannot be read: {error}"
                ) from error
        return digest.hexdigest()

    def inputs_of(self, output: str) -> tuple[str, ...]:
        """Return the inputs that a value depends on.

        Parameters
        ----------
        output : str
            An output, or any value inside the model.
        """
        needed = self._needed(output)
        return tuple(name for name in self.inputs if name in needed)

    def outputs_of(self, source: str) -> tuple[str, ...]:
        """Return the outputs that need one input and no other.

        Parameters
        ----------
        source : str
            The input.
        """
        return tuple(name for name in self.outputs if self.inputs_of(name) == (source,))

    def choose(self, what: str, wanted: str, present: Sequence[str]) -> str:
        """Return the wanted name if it is there, or the only one where none is named.

        Parameters
        ----------
        what : {"input", "output"}
            Which of both.
        wanted : str
            A name, or empty.
        present : sequence of str
            The names.

        Raises
        ------
        ModelError
            If there is no such name; it lists those that there are.
        """
        if wanted in present or (what == "output" and wanted in self._makers):
            return wanted
        if not wanted and len(present) == 1:
            return present[0]
        problem = (
            f"has no {what} {wanted!r}" if wanted else f"has {len(present)} {what}s, so the settings must name one"
        )
        close = difflib.get_close_matches(wanted, self._makers, n=3) if what == "output" and wanted else []
        inner = f"; inside it are {', '.join(map(repr, close))}" if close else ""
        raise ModelError(f"{self.label} {problem}; it has {', '.join(map(repr, present))}{inner}")

    def open(self, output: str, *, n_threads: int | None = None, device: str = "cpu") -> OnnxRunner:
        """Return the model ready to run; where more than one output is left out, only what it needs.

        Parameters
        ----------
        output : str
            The output to have, or any value inside the model, at which it is cut off.
        n_threads : int, optional
            Threads; default: every core of this process.
        device : str, default="cpu"
            See `find_device`.
        """
        whole = output in self.outputs and self.inputs_of(output) == self.inputs
        model = self.path if whole else self._cut(output)
        return OnnxRunner(model, n_threads=n_threads, label=self.label, device=device)

    def _cut(self, output: str) -> bytes:
        """Return the part that gives one value, its weights included."""
        from onnx import helper

        self.digest()  # looks at the names of other files before any is opened
        model, needed = _load(self.path, weights=True), self._needed(output)
        graph = model.graph
        nodes = [node for node in graph.node if needed & set(node.output)]
        for kept, wanted in (
            (graph.node, nodes),
            (graph.input, [one for one in graph.input if one.name in needed]),
            (graph.initializer, [one for one in graph.initializer if one.name in needed]),
            (
                graph.output,
                [one for one in graph.output if one.name == output] or [helper.make_empty_tensor_value_info(output)],
            ),
        ):
            del kept[:]
            kept.extend(wanted)
        try:
            return bytes(model.SerializeToString())
        except ValueError as error:  # protobuf holds 2 GiB at most
            raise ModelError(
                f"{self.label} is too large to cut {output!r} out of it; export it with this as its only output"
            ) from error

    def _needed(self, output: str) -> set[str]:
        """Return the names of all values that one depends on, itself included."""
        found, waiting = set[str](), [output]
        while waiting:
            name = waiting.pop()
            if name and name not in found:
                found.add(name)
                if name in self._makers:
                    waiting += _taken(self._makers[name])
        return found


def _load(path: Path, *, weights: bool) -> Any:
    import onnx

    try:
        return onnx.load(path, load_external_data=weights)
    except OSError as error:
        raise ModelError(f"cannot read the model {path.name!r}: {error.strerror or error}") from error
    except Exception as error:  # protobuf's own exception types
        raise ModelError(f"{path.name!r} is not an ONNX model: {error}") from error


def _taken(node: Any) -> Iterator[str]:
    """Yield what a node takes; graphs inside it take values of the graph around them, too."""
    yield from node.input
    for attribute in node.attribute:
        for inner in (attribute.g, *attribute.graphs):
            for one in inner.node:
                yield from _taken(one)
            yield from (one.name for one in inner.output)


def _other_files(graph: Any) -> Iterator[str]:
    """Yield the names of files that hold values of a graph or function: weights, constants, those of inner graphs."""
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data

    attributes = [attribute for node in graph.node for attribute in node.attribute]
    tensors = list(getattr(graph, "initializer", ()))  # functions have nodes only
    for sparse in getattr(graph, "sparse_initializer", ()):
        tensors += [sparse.values, sparse.indices]
    for attribute in attributes:
        tensors += [attribute.t, *attribute.tensors]
        for inner in (attribute.g, *attribute.graphs):
            yield from _other_files(inner)
    yield from (ExternalDataInfo(tensor).location for tensor in tensors if uses_external_data(tensor))
