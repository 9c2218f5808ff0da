"""What was said photo by photo."""

from tagloom.learning.constants import MOST_AT_ONCE
from tagloom.learning.labels import Judgements


def test_the_latest_look_comes_last(made_up):
    made = made_up(30, 2)
    decisions, tag = made.project.store.decisions, int(made.tags[0])
    photos = made.ids.tolist()
    looks = Judgements()
    decisions.decide([photos[0]], [tag], [1], origin="suggested")
    decisions.decide([photos[1]], [tag], [0], origin="suggested")
    looks.read(decisions)
    assert looks.suggested(tag).tolist() == [[photos[0], 1], [photos[1], 0]]
    decisions.decide([photos[0]], [tag], [0], origin="suggested")
    looks.read(decisions)
    assert looks.suggested(tag).tolist() == [[photos[1], 0], [photos[0], 0]]
    assert looks.photos(tag).tolist() == [photos[1], photos[0]]
    decisions.decide([photos[1]], [tag], [1], origin="human")  # looked at, and not as a suggestion
    looks.read(decisions)
    assert looks.suggested(tag).tolist() == [[photos[0], 0]]
    assert looks.photos(tag).tolist() == [photos[0], photos[1]]


def test_what_nobody_looked_at_is_no_look(made_up):
    made = made_up(30, 2)
    decisions, tag = made.project.store.decisions, int(made.tags[1])
    photos = made.ids.tolist()
    many = photos[: MOST_AT_ONCE + 1]
    decisions.decide(many, [tag] * len(many), [1] * len(many), origin="suggested")  # all above here
    decisions.decide([photos[20]], [tag], [1], origin="imported")
    looks = Judgements()
    looks.read(decisions)
    assert looks.suggested(tag).tolist() == []
    assert looks.photos(tag).tolist() == []
