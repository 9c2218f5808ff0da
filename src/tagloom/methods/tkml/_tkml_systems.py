"""Conjugate gradients where the matrix differs from column to column, or where columns are coupled."""

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tagloom.core.typing import Floats, Indices

__all__ = ["column_cg", "coupled_cg"]


def column_cg(
    apply: Callable[[Floats, Indices], Floats], rhs: Floats, *, tol: float, max_iter: int = 1000
) -> tuple[Floats, int]:
    """Solve one symmetric positive definite system for each column.

    Parameters
    ----------
    apply : function
        Of a block (n, w) and the numbers of its columns: the product of each with its own matrix.
    rhs : array of shape (n, c)
        Right-hand sides.
    tol : float
        A column is done when its residual is at most this share of its right-hand side.
    max_iter : int
        Most iterations.

    Returns
    -------
    x : array of shape (n, c)
        Solutions.
    n_iter : int
        Iterations of the slowest column.
    """
    x = np.zeros_like(rhs)
    norms = np.linalg.norm(rhs, axis=0)
    columns = np.flatnonzero(norms > 0)
    found, residual = x[:, columns], rhs[:, columns]
    direction, square = residual, np.square(norms[columns])
    n_iter = 0
    while columns.size and n_iter < max_iter:
        product = apply(direction, columns)
        step = square / np.einsum("ij,ij->j", direction, product)
        found = found + step * direction
        residual = residual - step * product
        fresh = np.einsum("ij,ij->j", residual, residual)
        direction = residual + (fresh / square) * direction
        square = fresh
        n_iter += 1
        done = np.sqrt(square) <= tol * norms[columns]
        if done.any():
            x[:, columns[done]] = found[:, done]
            left = ~done
            columns, square = columns[left], square[left]
            found, residual, direction = found[:, left], residual[:, left], direction[:, left]
    x[:, columns] = found
    if columns.size:
        _warn(float((np.sqrt(square) / norms[columns]).max()), tol, max_iter)
    return x, n_iter


def coupled_cg(
    apply: Callable[[Floats], Floats],
    rhs: Floats,
    *,
    precondition: Callable[[Floats], Floats],
    tol: float,
    max_iter: int = 2000,
) -> tuple[Floats, int]:
    """Solve one symmetric positive definite system whose unknown is a matrix.

    Parameters
    ----------
    apply : function
        The matrix times an array of the shape of ``rhs``.
    rhs : array of shape (m, k)
        Right-hand side.
    precondition : function
        An approximate inverse, symmetric positive definite.
    tol : float
        Done when the residual is at most this share of the right-hand side, both in the norm of the preconditioner.
    max_iter : int
        Most iterations.

    Returns
    -------
    x : array of shape (m, k)
        Solution.
    n_iter : int
        Iterations.
    """
    x = np.zeros_like(rhs)
    residual = rhs.copy()
    nearer = precondition(residual)
    square = start = float(np.vdot(residual, nearer))
    direction, n_iter = nearer, 0
    while square > tol * tol * start and n_iter < max_iter:
        product = apply(direction)
        step = square / float(np.vdot(direction, product))
        x += step * direction
        residual -= step * product
        nearer = precondition(residual)
        fresh = float(np.vdot(residual, nearer))
        direction = nearer + (fresh / square) * direction
        square = fresh
        n_iter += 1
    if square > tol * tol * start:
        _warn(float(np.sqrt(square / start)), tol, max_iter)
    return x, n_iter


def _warn(residual: float, tol: float, max_iter: int) -> None:
    warnings.warn(
        f"TKML: a linear system ended at the relative residual {residual:.2g} after {max_iter} iterations, above "
        f"solver_tol={tol:g}. Raise solver_tol or rank_penalty",
        ConvergenceWarning,
        stacklevel=3,
    )
