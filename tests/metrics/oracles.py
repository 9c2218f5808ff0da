"""Problems with ties and unknown entries, and what the literal loops of the metrics' tests share."""

import numpy as np
import pytest
from hypothesis import strategies as st

from tagloom.exceptions import NothingToScoreError


@st.composite
def problems(draw):
    """Draw small label matrices with unknown entries and scores with many ties."""
    n, c = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = draw(st.sampled_from([(0.0, 0.7, 0.3), (0.3, 0.4, 0.3), (0.6, 0.3, 0.1)]))
    Y = rng.choice([-1, 0, 1], size=(n, c), p=weights).astype(np.int8)
    scores = rng.integers(0, draw(st.sampled_from([1, 3, 100])), size=(n, c)).astype(float)
    return Y, scores


def outcome(metric, *arguments):
    """Return a metric's value, or None where it says that nothing can be scored."""
    try:
        return metric(*arguments)
    except NothingToScoreError:
        return None


def mean_or_none(values):
    return float(np.mean(values)) if len(values) else None


def agree(found, expected):
    if expected is None:
        assert found is None
    else:
        assert found == pytest.approx(expected, abs=1e-12)


def known_columns(Y, scores):
    for column in range(Y.shape[1]):
        known = Y[:, column] != -1
        yield Y[known, column], scores[known, column]


def worst_order(labels, scores):
    """Sort one list by falling score, zeros before ones among equals."""
    return sorted(range(len(labels)), key=lambda i: (-scores[i], labels[i]))
