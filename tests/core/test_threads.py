"""Limits of numerical libraries; threadpoolctl's own fresh look at the process is the oracle."""

import json
import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from tagloom.core import threads
from tagloom.core.system import cpu_count
from tagloom.core.threads import limit_libraries

# Every way to limit libraries is used before faiss, which brings some of its own, is there. Then as many modules are
# forgotten as came with it.
LATER = """
import json, sys
from threadpoolctl import threadpool_info
from tagloom.core.threads import limit_libraries
from tagloom.features.engine import RowComputer
from tagloom.graph.runtime import single_threaded_libraries

def look():
    return {pool["filepath"]: (pool["user_api"], pool["num_threads"]) for pool in threadpool_info()}

ways = {
    "core": lambda: limit_libraries(1),
    "graph": single_threaded_libraries,
    "features": RowComputer(1)._one_thread_each,
    "blas": lambda: limit_libraries(1, only_blas=True),
}
def limited():
    seen = {}
    for name, way in ways.items():
        with way():
            seen[name] = look()
    return seen

limited()
early, n_modules = look(), len(sys.modules)
import faiss
for name in [name for name in sys.modules if name.startswith("scipy.")]:
    if len(sys.modules) > n_modules:
        del sys.modules[name]
print(json.dumps([early, look(), limited(), look(), len(sys.modules) - n_modules]))
"""


@pytest.fixture(scope="module")
def later():
    if cpu_count() < 2:
        pytest.skip("libraries have one thread anyway on one core")
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", LATER], check=True, capture_output=True, text=True, env=environment)
    early, free, limited, after, n_more = json.loads(done.stdout)
    if set(free) == set(early):
        pytest.skip("faiss brings no library of its own here")
    assert n_more == 0  # the number of modules does not tell
    return free, limited, after


@pytest.mark.parametrize("way", ["core", "graph", "features"])
def test_a_library_loaded_later_is_limited_too(later, way):
    free, limited, after = later
    assert {count for _, count in free.values()} == {2}
    assert limited[way] == {path: [api, 1] for path, (api, _) in free.items()}
    assert after == free


def test_a_blas_loaded_later_is_limited_too(later):
    free, limited, _ = later
    blas = {path for path, (api, _) in free.items() if api == "blas"}
    assert {limited["blas"][path][1] for path in blas} == {1}


class Counting:
    """Stands for threadpoolctl's search and counts how often it is made."""

    def __init__(self, monkeypatch, during=lambda: None):
        self.n_searches, self.during = 0, during
        monkeypatch.setattr(threads, "_found", None)
        monkeypatch.setattr(threads, "ThreadpoolController", self)

    def __call__(self):
        self.n_searches += 1
        self.during()
        return ThreadpoolController()


def enter_and_leave():
    with limit_libraries(1):
        pass


def test_libraries_are_looked_for_only_when_modules_have_changed(monkeypatch):
    search = Counting(monkeypatch)
    for _ in range(5):
        enter_and_leave()
    assert search.n_searches == 1
    monkeypatch.setitem(sys.modules, "made_up_one", ModuleType("made_up_one"))
    enter_and_leave()
    enter_and_leave()
    assert search.n_searches == 2
    monkeypatch.delitem(sys.modules, "made_up_one")
    monkeypatch.setitem(sys.modules, "made_up_two", ModuleType("made_up_two"))
    enter_and_leave()
    enter_and_leave()
    assert search.n_searches == 3


def test_what_is_imported_during_the_search_is_looked_for_again(monkeypatch):
    def during():
        monkeypatch.setitem(sys.modules, "made_up", sys)

    search = Counting(monkeypatch, during)
    for _ in range(3):
        enter_and_leave()
    assert search.n_searches == 2


def pools():
    return {pool["filepath"]: (pool["user_api"], pool["num_threads"]) for pool in threadpool_info()}


def test_limits_are_nested_and_undone():
    assert np.ones((2, 2)) @ np.ones(2) @ np.ones(2) == 4  # a BLAS is there
    with threadpool_limits(2):
        before = pools()
        with limit_libraries(1):
            assert {count for _, count in pools().values()} == {1}
            with limit_libraries(2), limit_libraries(None):
                assert pools() == before
            assert {count for _, count in pools().values()} == {1}
        assert pools() == before
        with limit_libraries(1, only_blas=True):
            assert {count for api, count in pools().values() if api == "blas"} == {1}
        assert pools() == before


def test_limits_end_with_an_error():
    with threadpool_limits(2):
        before = pools()
        with pytest.raises(ZeroDivisionError), limit_libraries(1):
            1 / len([count for _, count in pools().values() if count > 1])
        assert pools() == before
