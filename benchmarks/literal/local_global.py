"""Learning with local and global consistency (Zhou et al., NIPS 2003) as printed: dense, closed form or iterated."""

import numpy as np
from numpy.typing import NDArray


def local_global_consistency(
    W: NDArray[np.float64], Y: NDArray[np.int8], alpha: float = 0.99, *, n_iter: int | None = None
) -> NDArray[np.float64]:
    """Return the scores of the paper's closed form, or of its iteration.

    Parameters
    ----------
    W : array of shape (n, n)
        Symmetric neighbour weights with zero diagonal and positive row sums.
    Y : label matrix of shape (n, c)
        1 where a row has the tag; 0 and -1 both count as 0, as in the paper's initial matrix.
    alpha : float
        Share of a row's score that comes from its neighbours.
    n_iter : int, optional
        Iterate step 3 of the paper this often instead of solving.
    """
    scale = 1.0 / np.sqrt(W.sum(axis=1))
    S = scale[:, None] * W * scale[None, :]  # step 2
    start = (Y == 1).astype(np.float64)
    if n_iter is None:
        return (1.0 - alpha) * np.linalg.inv(np.eye(len(W)) - alpha * S) @ start  # the limit of step 3
    F = start
    for _ in range(n_iter):
        F = alpha * S @ F + (1.0 - alpha) * start  # step 3
    return F
