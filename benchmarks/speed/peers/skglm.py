"""Group lasso with logistic regression by skglm, one tag after another; runs in its own environment."""

import warnings

import numpy as np
from skglm.datafits import LogisticGroup
from skglm.penalties import WeightedGroupL2
from skglm.solvers import GroupProxNewton


def group_logistic(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return coefficients and intercepts for labels ``Y``, strengths and sizes of the groups."""
    X, Y, strengths, sizes = (arrays[name] for name in ("X", "Y", "strengths", "sizes"))
    X = np.asfortranarray(X)
    pointers = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    indices = np.arange(X.shape[1], dtype=np.int32)
    coef, intercept = np.zeros((X.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
    solver = GroupProxNewton(tol=float(arrays["tol"]), max_iter=50, fit_intercept=True)
    for tag in range(Y.shape[1]):
        penalty = WeightedGroupL2(float(strengths[tag]), np.sqrt(sizes), pointers, indices)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where it stops short of the tolerance, the accuracy column says so
            found = solver.solve(X, np.where(Y[:, tag] == 1, 1.0, -1.0), LogisticGroup(pointers, indices), penalty)[0]
        coef[:, tag], intercept[tag] = found[:-1], found[-1]
    return {"coef": coef, "intercept": intercept}
