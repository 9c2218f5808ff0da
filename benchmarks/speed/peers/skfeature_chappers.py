"""FSNM ("RFS") of skfeature; runs in its own environment, see ``skfeature-chappers.txt``."""

import numpy as np
from skfeature.function.sparse_learning_based import RFS


def joint_l21(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the coefficients for classes ``y`` and the strength ``gamma``."""
    return {"W": RFS.rfs(arrays["X"], arrays["y"], mode="raw", gamma=float(arrays["gamma"]))}
