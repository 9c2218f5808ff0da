"""Group lasso by adelie, one tag after another; runs in its own environment, see ``adelie.txt``."""

import adelie
import numpy as np

Arrays = dict[str, np.ndarray]
#: In single precision its default, 1e-12, is out of reach and ends in an error.
SINGLE_NEWTON = 1e-5


def _inputs(arrays: Arrays, dtype: type) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict]:
    """Return features, targets and strengths in a precision, and the options of both solvers."""
    sizes = arrays["sizes"]
    options = {
        "groups": np.cumsum(sizes) - sizes,
        "penalty": np.ones(len(sizes), dtype=dtype),
        "tol": float(arrays["tol"]),
        "early_exit": False,
        "progress_bar": False,
    }
    if dtype is np.float32:
        options["newton_tol"] = SINGLE_NEWTON
    return *(arrays[name].astype(dtype) for name in ("X", "T", "strengths")), options


def _naive(arrays: Arrays, dtype: type) -> Arrays:
    X, T, strengths, options = _inputs(arrays, dtype)
    matrix = adelie.matrix.dense(np.asfortranarray(X), method="naive", n_threads=1)
    coef = np.zeros((X.shape[1], T.shape[1]))
    for tag in range(T.shape[1]):
        target = adelie.glm.gaussian(np.ascontiguousarray(T[:, tag]), dtype=dtype)
        found = adelie.grpnet(matrix, target, lmda_path=strengths[tag : tag + 1], intercept=False, **options)
        coef[:, tag] = found.betas[-1].toarray()
    return {"coef": coef}


def _covariance(arrays: Arrays, dtype: type) -> Arrays:
    X, T, strengths, options = _inputs(arrays, dtype)
    gram, products = X.T @ X / dtype(len(X)), X.T @ T / dtype(len(X))
    matrix = adelie.matrix.dense(np.asfortranarray(gram), method="cov", n_threads=1)
    coef = np.zeros(products.shape)
    for tag in range(T.shape[1]):
        product = np.ascontiguousarray(products[:, tag])
        found = adelie.gaussian_cov(matrix, product, lmda_path=strengths[tag : tag + 1], rdev_tol=0.0, **options)
        coef[:, tag] = found.betas[-1].toarray()
    return {"coef": coef}


def group_lasso(arrays: Arrays) -> Arrays:
    """Return coefficients for centred ``X`` and targets ``T``, strengths, and sizes of the groups."""
    return _naive(arrays, np.float64)


def group_lasso_single(arrays: Arrays) -> Arrays:
    """Return the same in single precision."""
    return _naive(arrays, np.float32)


def group_lasso_covariance(arrays: Arrays) -> Arrays:
    """Return the same from the covariance matrix, which all tags share."""
    return _covariance(arrays, np.float64)


def group_lasso_covariance_single(arrays: Arrays) -> Arrays:
    """Return the same from the covariance matrix in single precision."""
    return _covariance(arrays, np.float32)
