"""Group lasso by celer, one tag after another; runs in its own environment, see ``celer.txt``."""

import warnings

import numpy as np
from celer import GroupLasso


def group_lasso(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return coefficients for centred ``X`` and targets ``T``, strengths, and sizes of the groups."""
    X, T, strengths, sizes = (arrays[name] for name in ("X", "T", "strengths", "sizes"))
    X = np.asfortranarray(X)
    coef = np.zeros((X.shape[1], T.shape[1]))
    model = GroupLasso(groups=sizes.tolist(), tol=float(arrays["tol"]), fit_intercept=False)
    for tag, strength in enumerate(strengths):
        model.alpha = float(strength)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where it stops short of the tolerance, the accuracy column says so
            coef[:, tag] = model.fit(X, T[:, tag]).coef_
    return {"coef": coef}
