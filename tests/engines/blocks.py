"""Functions that workers import: what tests give to engines."""

import os

import numpy as np


def die_of(poison, block):
    """Return a block's double; end the process at once where the block is the poison."""
    if block == poison:
        os._exit(1)
    return 2 * block


def moments(seed):
    """Return the sum and the products of made-up rows."""
    X = np.random.default_rng(seed).normal(size=(50, 4)).astype(np.float32)
    return len(X), X.sum(axis=0), X.T @ X


def rows(seed):
    """Return a few rows."""
    return np.full((seed % 3, 2), seed, dtype=np.float32)


def refuse(block):
    """Raise an error of its own."""
    raise ValueError(f"no {block}")
