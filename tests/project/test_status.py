import pytest


@pytest.mark.parametrize("method", ["ridge", "harmonic"])
def test_status_and_update_agree_on_what_is_new(made_up, method):
    made = made_up(80, 3)
    made.say(range(30))
    project = made.project
    project.train(method)
    assert project.status().n_new_decisions == 0
    # Said and taken back: nothing is new.
    made.say([40], [0])
    assert project.status().n_new_decisions == 1
    project.undo()
    assert project.status().n_new_decisions == 0
    assert project.update().tag_ids == ()
    # Learnt by an update, whatever the model: nothing is new.
    made.say(range(40, 44), [0])
    assert project.status().n_new_decisions == 4
    assert project.update().tag_ids
    assert project.status().n_new_decisions == 0
    assert project.update().tag_ids == ()
    made.say([50], [1])
    assert project.status().n_new_decisions == 1
    # What was learnt and is taken back is new once more.
    project.undo()
    project.undo()
    assert project.status().n_new_decisions == 4
    project.update()
    assert project.status().n_new_decisions == 0


def test_the_advice_follows_the_state(made_up):
    """Label, train, review, write; nothing is to be written while hardly anything is labelled or reviewed."""
    made = made_up(80, 12)
    project, advice = made.project, lambda: (project.status().command, project.status().next_step)
    store = project.store
    command, sentence = advice()
    assert command == "tagloom review"
    assert "No photo is labelled yet" in sentence
    made.say([0])
    assert advice()[0] == "tagloom train"
    project.train("ridge")
    command, sentence = advice()
    assert (command, "Label 19 more photos" in sentence) == ("tagloom review", True)
    made.say(range(1, 30))
    assert advice()[0] == "tagloom train"
    project.train("ridge")
    command, sentence = advice()
    assert (command, "Review the suggestions" in sentence) == ("tagloom review", True)
    store.decisions.decide([made.ids[60]], [made.tags[0]], [1], origin="suggested")
    assert advice()[0] == "tagloom train"
    project.update()
    assert advice()[0] == "tagloom write --dry-run"
    project.write()
    assert advice()[0] == "tagloom review"


def test_a_collection_labelled_by_hand_is_written(made_up):
    made = made_up(12, 3)
    made.say(range(12))
    made.project.train("ridge")
    assert made.project.status().command == "tagloom write --dry-run"


def test_no_more_photos_are_asked_for_than_there_are(made_up):
    made = made_up(12, 3)
    made.say(range(5))
    made.project.train("ridge")
    status = made.project.status()
    assert status.command == "tagloom review"
    assert status.next_step.startswith("Label the remaining 7 photos on the review page")
    assert "more photo" not in status.next_step
