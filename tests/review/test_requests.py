"""A request that comes twice is carried out once, whatever happened in between."""

import pytest

from tagloom.review.session import N_KEPT, act_once
from tagloom.store.project import ProjectStore


@pytest.fixture
def folder(tmp_path):
    with ProjectStore(tmp_path / ".tagloom"):
        return tmp_path / ".tagloom"


def test_what_was_asked_for_is_done_once_also_after_a_new_start(folder):
    done = []
    for _ in range(3):
        with ProjectStore(folder, make=False) as store:
            assert act_once(store, "one", lambda: done.append(7) or 7) == 7
    with ProjectStore(folder, make=False) as store:
        assert act_once(store, "another", lambda: None) is None
        assert act_once(store, "another", lambda: done.append(8) or 8) is None
    assert done == [7]


def test_what_failed_may_be_tried_again(folder):
    with ProjectStore(folder, make=False) as store:
        with pytest.raises(ZeroDivisionError):
            act_once(store, "one", lambda: 1 // 0)
        assert act_once(store, "one", lambda: 5) == 5


def test_only_the_latest_are_kept(folder):
    with ProjectStore(folder, make=False) as store:
        for number in range(N_KEPT + 1):
            act_once(store, str(number), lambda: 1)
        assert act_once(store, "1", lambda: 2) == 1
        assert act_once(store, "0", lambda: 2) == 2
