"""Random numbers: one seed in, independent streams out, no global state."""

import numbers
from typing import Any

import numpy as np

from tagloom.exceptions import InvalidInputError

__all__ = ["check_generator", "spawn_generators"]


def check_generator(random_state: Any = None) -> np.random.Generator:
    """Turn a ``random_state`` parameter into a generator.

    Parameters
    ----------
    random_state : None, int, numpy Generator, SeedSequence or RandomState
        None: fresh entropy. An integer: the same stream each time. A Generator is used as it is; a legacy
        ``RandomState`` seeds a generator by one draw.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1))
    if random_state is None or isinstance(random_state, np.random.SeedSequence):
        return np.random.default_rng(random_state)
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return np.random.default_rng(int(random_state))
    raise InvalidInputError(
        f"random_state must be None, a non-negative integer or a numpy random Generator, got {random_state!r}"
    )


def spawn_generators(random_state: Any, n: int) -> list[np.random.Generator]:
    """Return n independent generators, the same for the same seed whatever each of them is used for."""
    return check_generator(random_state).spawn(n)
