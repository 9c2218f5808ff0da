"""The engines give the same, bit for bit, and survive their workers."""

from functools import partial

import numpy as np
import pytest

from tagloom.engines import BlockFailure, LocalEngine, start_engine
from tagloom.exceptions import EngineError, InvalidInputError
from tests.engines.blocks import die_of, moments, refuse, rows

pytestmark = pytest.mark.medium

N_BLOCKS = 11


@pytest.fixture(scope="module", params=["local", "processes", "dask"])
def engine(request):
    if request.param == "dask":
        request.getfixturevalue("distributed")
    with start_engine(request.param, n_workers=2) as started:
        yield started


def test_results_come_in_the_order_of_the_blocks(engine):
    taken = []

    def blocks():
        for block in range(40):
            taken.append(block)
            yield block

    results = engine.map_blocks(partial(die_of, None), blocks())
    assert next(results) == 0
    assert len(taken) <= 2 * engine.n_workers
    assert list(results) == list(range(2, 80, 2))


def test_rows_and_sums_are_the_same_to_the_last_bit(engine):
    here = LocalEngine()
    np.testing.assert_array_equal(engine.gather(rows, range(5)), here.gather(rows, range(5)))
    n, total, products = engine.tree_sum(moments, range(N_BLOCKS))
    mine = here.tree_sum(moments, range(N_BLOCKS))
    assert n == mine[0] == 50 * N_BLOCKS
    np.testing.assert_array_equal(total, mine[1])
    np.testing.assert_array_equal(products, mine[2])


def test_an_error_of_the_function_is_raised_here(engine):
    with pytest.raises(ValueError, match="no 3"):
        list(engine.map_blocks(refuse, [3]))
    assert list(engine.map_blocks(abs, [-1])) == [1]


@pytest.mark.parametrize("engine", ["processes", "dask"], indirect=True)
def test_a_block_that_kills_its_workers_costs_no_other(engine):
    results = list(engine.map_blocks(partial(die_of, 3), [3]))
    assert isinstance(results[0], BlockFailure)
    with pytest.raises(EngineError, match="workers died"):
        engine.tree_sum(partial(die_of, 3), [3])
    assert list(engine.map_blocks(partial(die_of, None), range(6))) == [0, 2, 4, 6, 8, 10]


def test_sums_are_made_pairwise():
    class Text(str):
        def __add__(self, other):
            return Text("(" + str.__add__(self, other) + ")")

    texts = [Text(letter) for letter in "abcdefg"]
    assert LocalEngine().tree_sum(lambda text: text, texts) == "(((ab)(cd))((ef)g))"
    with pytest.raises(InvalidInputError, match="got none"):
        LocalEngine().tree_sum(float, [])


def test_what_cannot_be_started_is_said(distributed, monkeypatch):
    with pytest.raises(InvalidInputError, match="dask://HOST:PORT"):
        start_engine("ray")
    with pytest.raises(InvalidInputError, match="n_workers"):
        start_engine("processes", n_workers=0)
    monkeypatch.setattr("tagloom.engines.cluster.START_SECONDS", 0.5)
    with pytest.raises(EngineError, match=r"tcp://127\.0\.0\.1:9"):
        start_engine("dask://127.0.0.1:9")
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(EngineError, match=r"pip install tagloom\[cluster\]"):
        start_engine("dask")
