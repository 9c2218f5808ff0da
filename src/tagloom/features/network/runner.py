"""One place where onnxruntime is started: a fixed number of threads, no spinning, no telemetry, clear errors."""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import cache_folder, cpu_count, write_bytes
from tagloom.exceptions import ModelError, WriteError

__all__ = ["OnnxRunner", "cached_model", "file_digest", "kept_digest"]


# Models built from weights are kept in the user's cache folder; a damaged or missing one is built again.

# File systems tell times apart by up to 2 s: a file changed less than that ago can change again and look the same.
_SETTLED_NS = 3_000_000_000
_digests: dict[str, tuple[tuple[int, ...], str]] = {}


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def kept_digest(path: str | os.PathLike[str]) -> str:
    """Return what `file_digest` does; the file is read again only if it has been changed or replaced since.

    Its place on the disk, its size and its times tell: another file of the same size and date is seen, too.
    """
    now, status = time.time_ns(), os.stat(path)
    state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    known = _digests.get(os.fspath(path))
    if known is not None and known[0] == state:
        return known[1]
    digest = file_digest(path)
    if now - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS:
        _digests[os.fspath(path)] = (state, digest)
    return digest


def cached_model(name: str, build: Callable[[], bytes], *, folder: Path | None = None) -> bytes:
    """Return the model of this name from the cache, or build and keep it.

    The file's name ends in the SHA-256 of its content, so that a damaged file is seen, built again and replaced. A
    cache that cannot be written costs time at the next start and nothing else.

    Parameters
    ----------
    name : str
        What the content depends on: weights, builder version.
    build : callable
        Makes the model's bytes.
    folder : path, default=None
        Where to keep it; None takes ``models`` under `cache_folder`.
    """
    folder = cache_folder() / "models" if folder is None else folder
    for path in sorted(folder.glob(f"{name}-*.onnx")):
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            if path.stem == f"{name}-{hashlib.sha256(data).hexdigest()}":
                return data
    data = build()
    with contextlib.suppress(OSError, WriteError):
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / f"{name}-{hashlib.sha256(data).hexdigest()}.onnx", data)
    return data


class OnnxRunner:
    """An ONNX model ready to run on the processor.

    Parameters
    ----------
    model : bytes or path
        A serialised model, or a file.
    n_threads : int or None, default=None
        Threads inside one run; None takes every core of this process.
    label : str, default="the model"
        How errors call the model.

    Attributes
    ----------
    inputs, outputs : dict of str to (type, shape)
        What the model takes and gives, in ONNX words; a dimension is an int, or a name where it is free.
    """

    def __init__(
        self, model: bytes | os.PathLike[str], *, n_threads: int | None = None, label: str = "the model"
    ) -> None:
        import onnxruntime

        # The public wheels for Linux and macOS have nothing to switch off; the Windows ones do.
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = cpu_count() if n_threads is None else max(1, int(n_threads))
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session: Any = onnxruntime.InferenceSession(
                model if isinstance(model, bytes) else os.fspath(model),
                sess_options=options,
                providers=["CPUExecutionProvider"],
            )
        except Exception as error:  # onnxruntime has an exception type of its own for each of its status codes
            raise ModelError(f"{label} cannot be opened as an ONNX model: {_first_line(error)}") from error
        self.label = label
        self.inputs = {node.name: (node.type, tuple(node.shape)) for node in self._session.get_inputs()}
        self.outputs = {node.name: (node.type, tuple(node.shape)) for node in self._session.get_outputs()}

    def run(self, input_name: str, batch: NDArray[Any], output_names: Sequence[str]) -> list[NDArray[Any]]:
        """Run one batch through the model; several threads may do so at once.

        Parameters
        ----------
        input_name : str
            The input to feed.
        batch : ndarray
            Its values.
        output_names : sequence of str
            The outputs to return, in this order.
        """
        try:
            return [np.asarray(value) for value in self._session.run(list(output_names), {input_name: batch})]
        except Exception as error:  # see above
            raise ModelError(f"{self.label} failed on a batch of shape {batch.shape}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
