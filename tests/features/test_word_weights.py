"""What tag names say before any photo is labelled: weights over classes, whatever the spelling; none for names."""

import subprocess
import sys

import numpy as np
import pytest

from tagloom.core.tag_names import fold_tag
from tagloom.exceptions import InvalidInputError
from tagloom.features.network.words import class_names, seen_classes, word_log_odds, word_scores, word_weights


def row(tag):
    return word_weights([tag]).weights.toarray()[0]


def best(tag):
    return class_names()[int(row(tag).argmax())]


@pytest.mark.parametrize(
    ("tag", "class_name"),
    [("zebra", "zebra"), ("golden retriever", "golden retriever"), ("volcano", "volcano"), ("shopping basket",) * 2],
)
def test_the_name_of_a_class_has_its_largest_weight_there(tag, class_name):
    assert best(tag) == class_name


def test_a_word_above_classes_has_weights_of_all_of_them():
    # Of WordNet: n02084071, dog, is above classes 151 to 268, its domestic breeds.
    dog = row("dog")
    assert dog[151:269].min() > 0.4
    assert dog[151:269].min() >= np.delete(dog, np.arange(151, 269)).max()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("zebra", "ZEBRA"),
        ("zebra", "zebras"),
        ("wolf", "Wolves"),
        ("butterfly", "butterflies"),
        ("mouse", "mice"),
        ("beach", "beaches"),
        ("traffic light", "traffic_lights"),
        ("teddy bear", "teddy-bear"),
        ("cat", "Animals|Cat"),
        ("cat", "Animals|Pets|cats"),
        ("animal", "Animals|Anna"),
        ("beach", "the beach"),
        ("car", "my car"),
        ("house", "house's"),
    ],
)
def test_spelling_makes_no_difference(one, other):
    assert row(one).any()
    np.testing.assert_array_equal(row(one), row(other))
    assert fold_tag(one) != other or one == other


@pytest.mark.parametrize(
    "tag", ["Anna", "2019", "Paris", "China", "Anna 2019", "IMG_1234", "xqzv", "", "|", "John's", "你好"]
)
def test_names_years_and_unknown_words_have_no_weights(tag):
    found = word_weights([tag, "dog"])
    assert found.known.tolist() == [False, True]
    assert not found.weights[[0]].toarray().any()


def test_nouns_of_several_word_pieces_have_weights():
    tags = ["giraffe", "frisbee", "skateboard", "toothbrush", "aeroplane", "tulip"]
    assert word_weights(tags).known.all()
    assert best("aeroplane") == "airliner"


def test_a_phrase_has_the_weights_of_its_words():
    # Not in the table: 1 for the last word, 0.3 for the other.
    expected = row("ball") + np.float32(0.3) * row("sport")
    np.testing.assert_allclose(row("sports ball"), expected / expected.max(), rtol=1e-6)
    assert not row("Quux ball").any()


def test_weights_are_within_0_and_1_and_the_largest_is_1():
    tags = ["dog", "sky", "Anna", "tree", "sports ball"]
    found = word_weights(tags)
    assert found.weights.shape == (5, 1000)
    largest = found.weights.toarray().max(axis=1)
    np.testing.assert_allclose(largest, [1, 1, 0, 1, 1], rtol=1e-6)
    assert found.weights.data.min() > 0
    assert word_weights([]).weights.shape == (0, 1000)


def test_scores_are_those_of_the_formula():
    generator = np.random.default_rng(0)
    p = generator.dirichlet(np.full(1000, 0.05), size=7).astype(np.float32)
    tags = ["zebra", "Anna", "dog"]
    expected = np.zeros((7, 3))
    for photo in range(7):
        for tag, name in enumerate(tags):
            w = row(name)
            length = np.sqrt((w**2).sum()) or 1.0
            expected[photo, tag] = (np.sqrt(p[photo]) * w / length).sum()
    np.testing.assert_allclose(word_scores(p, tags), expected, rtol=1e-5)
    assert (word_scores(p, tags)[:, 1] == 0).all()


def test_a_photo_of_a_zebra_scores_highest_for_zebra():
    p = np.full((1, 1000), 1e-5)
    p[0, class_names().index("zebra")] = 0.99
    scores = word_scores(p, ["dog", "zebra", "car", "beach"])[0]
    assert scores.argmax() == 1
    assert word_scores(p, ["animal"])[0, 0] > word_scores(p, ["vehicle"])[0, 0]


def test_wrong_shapes_are_refused():
    with pytest.raises(InvalidInputError, match="1000"):
        word_scores(np.zeros((3, 999)), ["dog"])
    with pytest.raises(InvalidInputError, match="sequence"):
        word_weights("dog")


def test_no_network_library_is_loaded_for_words():
    code = (
        "import sys; from tagloom.features.network.words import word_weights; word_weights(['dog']); "
        "sys.exit('torch' in sys.modules or 'tokenizers' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_log_odds_rank_as_scores_do_and_say_nothing_of_unknown_names():
    probabilities = np.random.default_rng(0).dirichlet(np.full(1000, 0.01), 50)
    tags = ["zebra", "dog", "Anna", "beach"]
    scores, log_odds = word_scores(probabilities, tags), word_log_odds(probabilities, tags)
    assert np.isnan(log_odds[:, 2]).all()
    for tag in (0, 1, 3):
        order = np.argsort(scores[:, tag])
        assert (np.diff(log_odds[order, tag]) >= 0.0).all()


def test_a_photo_that_the_network_is_sure_of_is_likely():
    probabilities = np.full((2, 1000), 1e-5)
    probabilities[0, class_names().index("zebra")] = 0.97
    sure, other = word_log_odds(probabilities, ["zebra"])[:, 0]
    assert sure > 2.0
    assert other < -3.0


def test_the_classes_that_speak_for_a_name():
    probabilities = np.full(1000, 1e-5)
    probabilities[class_names().index("zebra")] = 0.9
    assert seen_classes(probabilities, "Animals|Zebras") == [("zebra", 0.9)]
    assert seen_classes(probabilities, "Anna") == []


def test_a_word_that_is_only_like_a_class_needs_more_than_one_that_is_a_class():
    photo = np.zeros((1, 1000), dtype=np.float32)
    photo[0, class_names().index("seashore")] = 0.7
    sea, seashore = word_log_odds(photo, ["coast", "seashore"])[0]
    assert seashore - sea > 1.0
    photo[0] = 0.0
    photo[0, class_names().index("African elephant")] = 0.7
    elephants, kinds = word_log_odds(photo, ["Animals|Elephants", "African elephant"])[0]
    assert abs(elephants - kinds) < 1.0
