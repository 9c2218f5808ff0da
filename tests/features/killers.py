"""Descriptors for workers in other processes: one that is slow, and one that photos can kill."""

import os
import signal
from pathlib import Path

import numpy as np

from tagloom.features import PixelDescriptor
from tagloom.images import Rendition


class Killing(PixelDescriptor):
    """Mean colours. Ends its process on a photo that is all black; and once, where a file says that it has not yet.

    Parameters
    ----------
    once : str
        The file; removed by the worker that is killed.
    """

    name = "killing"

    def __init__(self, once=""):
        self.once = once

    @property
    def outputs(self):
        return {"killing": 3}

    @property
    def renditions(self):
        return (Rendition("small", "fit", 32),)

    @property
    def parameters(self):
        return {}

    def describe(self, pixels):
        if not pixels.any():
            os._exit(1)
        if self.once:
            try:
                Path(self.once).unlink()
            except FileNotFoundError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        return pixels.astype(np.float64).mean(axis=(0, 1))
