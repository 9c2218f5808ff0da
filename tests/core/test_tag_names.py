import pytest

from tagloom.core.tag_names import fold_tag, similar_tags, split_tag


@pytest.mark.parametrize(
    ("one", "other"),
    [("Dog", "DOG"), ("STRASSE", "straße"), ("caf\u00e9", "CAFE\u0301"), ("Animals|Cat", "animals|cat")],
)
def test_spellings_of_one_tag_fold_to_the_same_text(one, other):
    assert fold_tag(one) == fold_tag(other)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("dgo", "dog"),
        ("zebr", "zebra"),
        ("cats", "cat"),
        ("sun set", "sunset"),
        ("Sun-Set", "sunset"),
        ("elephent", "elephant"),
        ("mountian", "mountain"),
        ("Animals|Zebr", "Animals|Zebra"),
    ],
)
def test_typing_errors_are_similar_both_ways(name, known):
    assert similar_tags(name, ["unrelated", known]) == [known]
    assert similar_tags(known, ["unrelated", name]) == [name]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("cat", "car"),
        ("boat", "goat"),
        ("house", "mouse"),
        ("2019", "2018"),
        ("trip 12", "trip 21"),
        ("dog", "god sent"),
        ("Anna", "Anne"),
        ("sea", "seal"),
    ],
)
def test_different_words_are_not_similar(name, known):
    assert similar_tags(name, [known]) == []
    assert similar_tags(known, [name]) == []


def test_two_spellings_of_one_tag_are_not_called_similar():
    assert similar_tags("DOG", ["dog"]) == []


def test_the_likeliest_comes_first():
    assert similar_tags("flowers", ["flowerss", "flower", "flo-wers"]) == ["flo-wers", "flower", "flowerss"]


def test_a_list_in_one_tag_is_taken_apart():
    assert split_tag("airplane, plane, sky") == ["airplane", "plane", "sky"]
    assert split_tag("a;b") == ["a", "b"]
    assert split_tag("airplane, Plane;sky , plane,") == ["airplane", "Plane", "sky"]
    assert split_tag("airplane") == []
    assert split_tag("Fleetwood,") == []
