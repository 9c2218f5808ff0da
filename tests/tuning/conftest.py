"""Problems that several tests of choosing and combining share."""

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups


@pytest.fixture
def sparse_groups():
    """Return features, labels and groups: one of ten groups shows each tag, which kernels of all groups do not find."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 20))
    shown = np.column_stack([X[:, 2 * tag : 2 * tag + 2] @ rng.standard_normal(2) for tag in range(5)])
    Y = (shown > 1.1 * shown.std(axis=0)).astype(np.int8)
    Y[110:] = -1
    return X, Y, FeatureGroups([f"g{number}" for number in range(10)], [2] * 10)
