"""LapRLS, LapSVM and LPSSVM with landmarks, each run in a process of its own for its peak memory (see worker.py)."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tagloom.methods.baselines.laprls import LapRLS
from tagloom.methods.baselines.lapsvm import LapSVM
from tagloom.methods.lpssvm import LPSSVM

Arrays = dict[str, Any]


def laprls(arrays: Arrays) -> Arrays:
    model = LapRLS(n_landmarks=int(arrays["landmarks"])).fit(arrays["X"], arrays["Y"])
    return {"optimality": np.array(model.optimality_)}


def lapsvm(arrays: Arrays) -> Arrays:
    model = LapSVM(n_landmarks=int(arrays["landmarks"])).fit(arrays["X"], arrays["Y"])
    return {"optimality": np.array(model.optimality_)}


def lpssvm(arrays: Arrays) -> Arrays:
    model = LPSSVM(n_landmarks=int(arrays["landmarks"])).fit(arrays["X"], arrays["Y"])
    part = slice(0, 500)
    difference = model.decision_function(arrays["X"][part]) - model.transduction_[part]
    return {"difference": np.array(np.abs(difference).max())}
