"""Searching by words: each source of evidence, and all of them together."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.features.network.words import class_names, split_words
from tests.made_named import Made, N


@pytest.fixture
def made(tmp_path):
    found = Made(tmp_path, tags=())
    yield found
    found.project.close()


def seen(made, name):
    return set(np.flatnonzero(made.X[:N, 1280 + class_names().index(name)] > 0.3).tolist())


def rows(made, result):
    return [int(np.searchsorted(made.ids, one.photo_id)) for one in result.photos]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dog on a beach", ["dog", "beach"]),
        ("Ice Creams at night", ["ice creams", "night"]),
        ("hot dog 2024-05", ["hot dog", "2024-05"]),
        ("on a", ["on", "a"]),
        ("", []),
    ],
)
def test_words_of_a_search(text, words):
    assert split_words(text) == words


def test_without_labels_the_network_finds_what_it_sees(made):
    found = made.project.search("zebras", n=0)
    sure = [row for row, one in zip(rows(made, found), found.photos, strict=True) if one.score > 0.5]
    assert set(sure) == seen(made, "zebra")
    assert {one.matches[0].by for one in found.photos} == {"network"}
    assert [one.score for one in found.photos] == sorted((one.score for one in found.photos), reverse=True)


def test_every_word_counts(made):
    both = seen(made, "zebra") & seen(made, "volcano")
    found = made.project.search("a zebra beside the volcano".replace("beside", "on"), n=len(both))
    assert found.terms == ("zebra", "volcano")
    assert set(rows(made, found)) == both


def test_tags_and_refusals_come_before_what_is_seen(made):
    tag = int(made.project.store.tags.add(["Animals|Zebra"])[0])
    hidden = next(row for row in range(N) if row not in seen(made, "zebra"))
    refused = min(seen(made, "zebra"))
    made.project.store.decisions.decide(made.ids[[hidden, refused]], np.full(2, tag), np.array([1, 0]))
    found = made.project.search("zebra", n=0)
    assert rows(made, found)[0] == hidden
    assert found.photos[0].matches[0].by == "tag"
    assert refused not in rows(made, found)


def test_names_of_files_count(made):
    found = made.project.search("00007")
    assert [one.photo for one in found.photos] == [b"00007.jpg"]
    assert found.photos[0].matches[0].by == "file name"


def test_dates_count(made, monkeypatch):
    taken = np.full(N, np.nan)
    taken[3] = (np.datetime64("2024-05-31T23:59") - np.datetime64("1970-01-01")) / np.timedelta64(1, "s")
    taken[4] = (np.datetime64("2024-06-01T00:01") - np.datetime64("1970-01-01")) / np.timedelta64(1, "s")
    from tagloom.learning import search

    load = search.load_photos

    def with_dates(store):
        photos = load(store)
        photos.taken[:] = taken
        return photos

    monkeypatch.setattr(search, "load_photos", with_dates)
    for text, wanted in (("2024", [3, 4]), ("2024-05", [3]), ("2024-06-01", [4]), ("2024-13", []), ("2023", [])):
        assert rows(made, made.project.search(text)) == wanted


def test_suggestions_count(made):
    made.truth[:, 2] = made.truth[:, 3]
    tag = int(made.project.store.tags.add(["Anna"])[0])
    made.project.store.decisions.decide(made.ids[:130], np.full(130, tag), made.truth[:130, 2])
    made.project.train()
    found = made.project.search("anna", n=0)
    assert {one.matches[0].by for one in found.photos} == {"tag", "suggestion"}


def test_what_nobody_knows_is_said(made):
    made.project.store.tags.add(["Zebra"])
    made.project.store.tags.alias("Zebre", 1)
    found = made.project.search("zebr", n=5)
    assert (found.photos, found.unknown, found.similar) == ((), ("zebr",), ("Zebra",))


@pytest.mark.parametrize("query", ["", "  ", "?!"])
def test_a_search_needs_words(made, query):
    with pytest.raises(InvalidInputError, match="expected words"):
        made.project.search(query)


def test_without_features_tags_and_names_are_searched(made_up):
    made = made_up(20, 2)
    made.say([3])
    assert made.project.search("00003").n_found == 1
