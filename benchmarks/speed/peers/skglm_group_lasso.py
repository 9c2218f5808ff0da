"""Group lasso by skglm, one tag after another; runs in its own environment, see ``skglm.txt``."""

import warnings

import numpy as np
from numba import float64
from skglm.datafits import QuadraticGroup
from skglm.penalties import WeightedGroupL2
from skglm.solvers import GroupBCD

Arrays = dict[str, np.ndarray]


class KnownConstants(QuadraticGroup):
    """The quadratic with Lipschitz constants given, which skglm otherwise computes anew for each tag."""

    def __init__(self, grp_ptr: np.ndarray, grp_indices: np.ndarray, constants: np.ndarray) -> None:
        self.grp_ptr, self.grp_indices = grp_ptr, grp_indices
        self.constants = constants

    def get_spec(self) -> tuple:
        """Return the types of the attributes."""
        return (*super().get_spec(), ("constants", float64[:]))

    def params_to_dict(self) -> dict:
        """Return the attributes."""
        return super().params_to_dict() | {"constants": self.constants}

    def get_lipschitz(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Return what was given."""
        return self.constants


def group_lasso(arrays: Arrays) -> Arrays:
    """Return coefficients for centred ``X`` and targets ``T``, strengths, and sizes of the groups."""
    return _solve(arrays, QuadraticGroup(*_groups(arrays)))


def group_lasso_known_constants(arrays: Arrays) -> Arrays:
    """Return the same with the Lipschitz constants computed once for all tags, by skglm's own function."""
    plain = QuadraticGroup(*_groups(arrays))
    constants = plain.get_lipschitz(np.asfortranarray(arrays["X"]), arrays["T"][:, 0])
    return _solve(arrays, KnownConstants(*_groups(arrays), constants))


def _groups(arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    sizes = arrays["sizes"]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32), np.arange(sizes.sum(), dtype=np.int32)


def _solve(arrays: Arrays, datafit: QuadraticGroup) -> Arrays:
    T, strengths = arrays["T"], arrays["strengths"]
    X = np.asfortranarray(arrays["X"])
    weights = np.ones(len(arrays["sizes"]))
    coef = np.zeros((X.shape[1], T.shape[1]))
    for tag, strength in enumerate(strengths):
        # Its tolerance is absolute; relative to λ it asks the same of every tag.
        solver = GroupBCD(tol=float(arrays["tol"] * strength), fit_intercept=False)
        penalty = WeightedGroupL2(float(strength), weights, *_groups(arrays))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where it stops short of the tolerance, the accuracy column says so
            coef[:, tag] = solver.solve(X, np.ascontiguousarray(T[:, tag]), datafit, penalty)[0]
    return {"coef": coef}
