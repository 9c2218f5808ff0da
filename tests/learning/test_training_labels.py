"""Which silence counts as a no."""

import numpy as np

from tagloom.learning.labels import fill_silence, read_labels
from tests.made_labels import labels_of


def test_photos_judged_as_a_whole_stay_as_they_are():
    Y = np.array([[1, 0], [0, 0], [0, 1], [-1, -1]], dtype=np.int8)
    filled, named = fill_silence(Y)
    assert np.array_equal(filled, Y)
    assert not named.any()


def test_a_named_tag_is_absent_where_anything_else_was_said():
    Y = np.array([[1, 1, -1], [0, -1, -1], [0, -1, -1], [1, -1, 0], [-1, -1, -1]], dtype=np.int8)
    filled, named = fill_silence(Y)
    assert named.tolist() == [False, True, False]  # the last tag has no yes: nothing is gained
    assert filled[:, 1].tolist() == [1, 0, 0, 0, -1]
    assert np.array_equal(filled[:, [0, 2]], Y[:, [0, 2]])


def test_half_of_the_touched_photos_is_judged():
    Y = np.array([[1, 1], [0, 0], [0, -1], [0, -1]], dtype=np.int8)
    assert not fill_silence(Y)[1].any()
    Y[1, 1] = -1
    assert fill_silence(Y)[1].tolist() == [False, True]


def test_one_tag_for_many_photos_tells_nothing_of_the_others():
    Y = np.full((200, 3), -1, dtype=np.int8)
    Y[:60, :2] = 0
    Y[:25, 0] = 1  # judged on the first sixty photos
    Y[:50, 1] = 1  # of a frequent one there are not noes enough to do without the silence of others
    Y[60:, 2] = 1  # then one is given to all others, and none is refused
    filled, named = fill_silence(Y)
    assert named.tolist() == [False, True, True]
    assert np.array_equal(filled[:, 0], Y[:, 0])
    assert filled[:, 2].tolist() == [0] * 60 + [1] * 140


def test_photos_whose_tags_are_listed_later_have_noes_too():
    rng = np.random.default_rng(0)
    Y = np.full((300, 5), -1, dtype=np.int8)
    Y[:100] = rng.random((100, 5)) < 0.4
    later = (rng.random((150, 5)) < 0.4).astype(np.int8)
    Y[100:250] = np.where(later == 1, 1, -1)
    filled, named = fill_silence(Y)
    assert not named.any()
    several = later.sum(axis=1) >= 2  # one tag may have been given for another reason
    assert np.array_equal(filled[100:250][several], later[several])
    assert np.array_equal(filled[100:250][~several], Y[100:250][~several])
    assert np.array_equal(filled[:100], Y[:100])
    assert (filled[250:] == -1).all()
    # What was given to many at once is no list, and neither is one with a refusal among it.
    spoken = np.where(np.arange(300) < 200, (Y == 1).sum(axis=1), 0)
    Y[110, 0] = 0
    filled, _ = fill_silence(Y, None, spoken)
    assert np.array_equal(filled[200:250], Y[200:250])
    assert np.array_equal(filled[110], Y[110])
    # Where every photo has just one tag, one is a list.
    single = np.eye(5, dtype=np.int8)[rng.integers(5, size=300)]
    Y = np.where((np.arange(300) < 100)[:, None] | (single == 1), single, -1).astype(np.int8)
    assert np.array_equal(fill_silence(Y)[0], single)


def two_lists(first, second, n_tags):
    """Make two lists of 60 photos, each of which speaks of some tags, and a third part of which nothing is said."""
    rng = np.random.default_rng(0)
    truth = (rng.random((150, n_tags)) < 0.2).astype(np.int8)
    Y = np.full(truth.shape, -1, dtype=np.int8)
    for rows, columns in ((np.arange(60), first), (np.arange(60, 120), second)):
        Y[np.ix_(rows, columns)] = truth[np.ix_(rows, columns)]
    return Y


def test_what_one_of_two_lists_of_a_kind_does_not_name_is_absent_there():
    Y = two_lists(np.arange(24), np.arange(6, 30), 30)
    filled, named = fill_silence(Y)
    assert not named.any()
    assert np.array_equal(filled[:120], np.where(Y[:120] == -1, 0, Y[:120]))
    assert (filled[120:] == -1).all()
    # Not on photos of which only some tags were said, one by one.
    Y[60:120, 6:] = np.where(np.arange(24) < 8, Y[60:120, 6:], -1)
    assert np.array_equal(fill_silence(Y)[0][60:120, 14:24], Y[60:120, 14:24])


def test_lists_of_different_tags_say_nothing_of_each_others():
    Y = two_lists(np.arange(15), np.arange(15, 30), 30)
    assert np.array_equal(fill_silence(Y)[0], Y)
    # A third of the tags of either is no list of the same kind.
    Y = two_lists(np.arange(18), np.arange(12, 30), 30)
    assert np.array_equal(fill_silence(Y)[0], Y)


def test_a_list_of_a_few_tags_is_no_list_of_all():
    Y = two_lists(np.arange(40), np.arange(12), 40)
    assert np.array_equal(fill_silence(Y)[0], Y)


def test_tags_given_photo_by_photo_are_told_from_those_given_to_many(made_up):
    made = made_up(80, 4)
    made.say(range(40))
    decisions = made.project.store.decisions
    for row in range(40, 44):
        decisions.decide([int(made.ids[row])] * 2, made.tags[:2], [1, 1])
    for tag in made.tags[:2]:
        decisions.decide(made.ids[50:70], int(tag), np.ones(20, dtype=int))
    labels = read_labels(made.project.store, made.ids[::-1])
    assert (labels.Y[::-1][40:44] == [1, 1, 0, 0]).all()
    assert (labels.Y[::-1][50:70] == [1, 1, -1, -1]).all()
    # Of two tags of which one is taken back, one stands: that is no list.
    decisions.decide([int(made.ids[75])], [int(made.tags[0])], [1])
    made.project.undo()
    decisions.decide([int(made.ids[75])], [int(made.tags[1])], [1])
    assert read_labels(made.project.store, made.ids).Y[75].tolist() == [-1, 1, -1, -1]


def test_rows_are_those_asked_for_in_their_order(made_up):
    made = made_up(20, 3)
    made.say([2, 5, 9])
    order = np.random.default_rng(0).permutation(made.ids)
    labels = read_labels(made.project.store, order)
    expected = np.full((20, 3), -1)
    expected[[2, 5, 9]] = made.truth[[2, 5, 9]]
    at = np.searchsorted(made.ids, order)
    assert np.array_equal(labels.said, expected[at])
    assert labels.n_labeled == 3
    same = read_labels(made.project.store, made.ids)
    assert same.column_digests == labels.column_digests
    made.say([11], [1])
    changed = read_labels(made.project.store, made.ids).column_digests
    assert [old == new for old, new in zip(same.column_digests, changed, strict=True)] == [True, False, True]


def test_a_photo_without_features_is_left_out(made_up):
    made = made_up(20, 3)
    made.say([2, 5, 9])
    labels = read_labels(made.project.store, made.ids[:6])
    assert labels.said.shape == (6, 3)
    assert labels.n_labeled == 2


def test_silence_may_be_forgetting_only_where_hardly_anything_was_refused():
    said = np.full((40, 3), -1)
    said[:, 2] = 1  # every photo is touched, and this tag is judged
    said[:10, 0] = 1  # named, never refused
    said[:10, 1], said[10:14, 1] = 1, 0  # gone through from the likeliest down
    found = labels_of(said)
    assert found.named.tolist() == [True, True, False]
    assert found.forgettable.tolist() == [True, False, False]
    said[14, 0] = 0  # one slip in eleven is no review
    assert labels_of(said).forgettable.tolist() == [True, False, False]
    assert labels_of(said, reviewed=[True, False, False]).forgettable.tolist() == [False, False, False]


def test_a_photo_of_which_only_suggestions_were_judged_says_nothing_of_other_tags(made_up):
    made = made_up(40, 3)
    photos, (first, second, third) = made.ids.tolist(), made.tags.tolist()
    decisions = made.project.store.decisions
    decisions.decide(photos[:6], [first] * 6, [1] * 6, origin="human")
    decisions.decide(photos[:2], [second] * 2, [1] * 2, origin="imported")
    for photo in photos[10:30]:
        decisions.decide([photo], [third], [1], origin="suggested")
    labels = read_labels(made.project.store, made.ids)
    assert labels.listed.tolist() == [True] * 6 + [False] * 34
    assert labels.reviewed.tolist() == [False, False, True]
    assert labels.Y[:, 1].tolist() == [1] * 2 + [0] * 4 + [-1] * 34
    assert labels.Y[:, 2].tolist() == [0] * 6 + [-1] * 4 + [1] * 20 + [-1] * 10
    assert labels.evidence(np.array([2]))[:, 0].tolist() == [True] * 6 + [False] * 4 + [True] * 20 + [False] * 10


def test_where_nobody_has_listed_tags_all_photos_touched_count(made_up):
    made = made_up(40, 3)
    decisions = made.project.store.decisions
    decisions.decide(made.ids[:6].tolist(), [int(made.tags[0])] * 6, [1, 1, 1, 0, 0, 0], origin="suggested")
    assert read_labels(made.project.store, made.ids).listed.tolist() == [True] * 6 + [False] * 34
