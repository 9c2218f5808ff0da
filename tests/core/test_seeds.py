import numpy as np
import pytest

from tagloom.core.seeds import check_generator, spawn_generators
from tagloom.exceptions import InvalidInputError


def test_same_seed_same_stream():
    assert check_generator(3).random() == check_generator(3).random()
    assert check_generator(np.random.RandomState(3)).random() == check_generator(np.random.RandomState(3)).random()
    generator = np.random.default_rng(0)
    assert check_generator(generator) is generator
    assert check_generator(None).random() != check_generator(None).random()


def test_spawned_streams_are_reproducible_and_differ():
    first = [item.random() for item in spawn_generators(1, 3)]
    assert first == [item.random() for item in spawn_generators(1, 3)]
    assert len(set(first)) == 3


@pytest.mark.parametrize("seed", [-1, 1.5, "a"])
def test_bad_seeds(seed):
    with pytest.raises(InvalidInputError, match="random_state"):
        check_generator(seed)
