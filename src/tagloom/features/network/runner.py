"""One place where onnxruntime is started: a fixed number of threads, no spinning, no telemetry, clear errors."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.system import cpu_count
from tagloom.exceptions import ModelError

__all__ = ["OnnxRunner"]


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
