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
