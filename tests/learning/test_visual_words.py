import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import SettingsError
from tagloom.learning.methods import visual_words

GROUPS = FeatureGroups(["color", "blobs", "words-rgsift", "semantic"], [2, 3, 2, 3])


def test_groups_of_words_become_counts():
    X = np.array(
        [
            [-1.0, 9.0, 2.0, 0.0, 6.0, 0.5, 0.5, 0.7, 0.2995, 0.0005],
            [-1.0, 9.0, 0.0, 8.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        ],
        dtype=np.float32,
    )
    words = visual_words(X, GROUPS)
    assert words.format == "csr"
    assert words.dtype == np.float32
    np.testing.assert_allclose(words.toarray()[0], [2, 0, 6, 25, 25, 35, 14.975, 0], rtol=1e-6)
    np.testing.assert_allclose(words.toarray()[1], [0, 8, 0, 50, 0, 0, 0, 0], rtol=1e-6)


def test_features_without_words_are_refused():
    with pytest.raises(SettingsError, match="needs visual words, but the features are color, deep"):
        visual_words(np.ones((2, 3)), FeatureGroups(["color", "deep"], [1, 2]))
