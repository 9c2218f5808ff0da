"""TKML and wTKML, each to be run in a process of its own for its peak memory (see worker.py)."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tagloom.methods.tkml import TKML

Arrays = dict[str, Any]


def _fitted(arrays: Arrays, *, weighted: bool) -> Arrays:
    model = TKML(weighted=weighted, tol=0.0, random_state=0, n_threads=1).fit(arrays["X"], arrays["Y"])
    return {"scores": model.transduction_, "objective": np.array(model.objective_)}


def tkml(arrays: Arrays) -> Arrays:
    return _fitted(arrays, weighted=False)


def wtkml(arrays: Arrays) -> Arrays:
    return _fitted(arrays, weighted=True)
