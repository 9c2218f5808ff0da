import pytest

from tagloom.review.events import EventHub


def test_events_reach_every_listener_in_order():
    hub, first, second = EventHub(), [], []
    stop, missed = hub.listen(first.append)
    assert missed == []
    hub.listen(second.append)
    hub.publish("a", {"x": 1})
    stop()
    hub.publish("b", {})
    assert [event.name for event in first] == ["a"]
    assert [event.name for event in second] == ["a", "b"]


def test_what_was_missed_is_told_again():
    hub, heard = EventHub(n_kept=3), []
    hub.listen(heard.append)
    for number in range(5):
        hub.publish(str(number), {})
    last = [event.id for event in heard]
    assert [event.name for event in hub.listen(print, last[2])[1]] == ["3", "4"]
    assert hub.listen(print, last[4])[1] == []
    assert hub.listen(print, last[0])[1] is None  # no longer kept


@pytest.mark.parametrize("unknown", ["", "x", "1-1", "99"])
def test_ids_of_an_earlier_start_are_unknown(unknown):
    assert EventHub().listen(print, unknown)[1] is None


def test_the_end_is_told_now_and_later():
    hub, heard = EventHub(), []
    hub.listen(heard.append)
    hub.close()
    hub.listen(heard.append)
    assert heard == [None, None]
