"""The page's search box finds what the network sees, before anything has a tag."""

import time

import numpy as np
import pytest

from tagloom.features.network.words import class_names
from tagloom.review.ranking import PhotoQuery
from tagloom.review.session import ReviewSession
from tests.made_named import Made, N


@pytest.fixture
def session(tmp_path):
    made = Made(tmp_path, tags=())
    with ReviewSession(made.project) as found:
        for _ in range(200):
            if found.looks.seen is not None:
                break
            time.sleep(0.05)
        yield made, found
    made.project.close()


def rows(made, session, *words, **options):
    ids = session.ranking(PhotoQuery(words=words, **options)).ids
    return np.searchsorted(made.ids, ids).tolist()


def test_what_the_network_sees_is_found_best_first(session):
    made, page = session
    place = 1280 + class_names().index("zebra")
    found = rows(made, page, "Zebras")
    sure = np.flatnonzero(made.X[:N, place] > 0.3)
    assert set(found[: len(sure)]) == set(sure.tolist())
    assert rows(made, page, "a", "zebra", "on", "the", "volcano") == rows(made, page, "zebra", "volcano")
    assert len(rows(made, page, "zebra", "volcano")) < len(found)


def test_names_of_files_are_found_as_ever(session):
    made, page = session
    assert rows(made, page, "00012") == [12]
    assert rows(made, page, "qqqq") == []
    assert rows(made, page) == list(range(N))


def test_another_order_stays(session):
    made, page = session
    assert rows(made, page, "zebra", sort="time") == sorted(rows(made, page, "zebra"))
