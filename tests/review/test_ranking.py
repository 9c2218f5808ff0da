"""Photos whose labels the model clearly disagrees with, in projects that were trained on them."""

import numpy as np
import pytest

from tagloom.review.ranking import PhotoQuery
from tagloom.review.session import ReviewSession

N_LABELED = 240


def _trained(made_up, method, n_turned):
    """Return a trained project, and the photos of each tag that have it and of which a person said no."""
    made = made_up(320, 3)
    made.say(range(N_LABELED))
    generator, turned = np.random.default_rng(1), {}
    for place, tag in enumerate(made.tags.tolist()):
        rows = generator.choice(np.flatnonzero(made.truth[:N_LABELED, place] == 1), n_turned, replace=False)
        turned[tag] = set(made.ids[rows].tolist())
        for photo in turned[tag]:
            made.project.store.decisions.decide(photo, tag, 0)
    made.project.train(method)
    return made.project, turned


def _conflicts(session, tag=None):
    return session.ranking(PhotoQuery(state="conflicts", tag=tag, sort="score")).ids.tolist()


@pytest.mark.parametrize("method", ["auto", "smoothed-ridge"])
def test_labels_that_are_as_the_model_says_are_hardly_ever_conflicts(made_up, method):
    project, _ = _trained(made_up, method, 0)
    with ReviewSession(project, with_looks=False) as session:
        assert len(_conflicts(session)) <= 2
        values, limits = session.state.values, session.state.limits
        assert np.count_nonzero((session.state.labels == 1) & (values <= limits[:, None])) > 20  # yet hardly any wrong


@pytest.mark.parametrize("method", ["auto", "smoothed-ridge"])
def test_conflicts_are_labels_that_are_likely_wrong(made_up, method):
    project, turned = _trained(made_up, method, 2)
    with ReviewSession(project, with_looks=False) as session:
        found = _conflicts(session)
        wrong = set().union(*turned.values())
        assert found[0] in wrong
        assert len(wrong.intersection(found)) >= 3
        assert len(set(found) - wrong) <= 2
        by_tag = {tag: _conflicts(session, tag) for tag in turned}
        assert set(found) == set().union(*by_tag.values())
        for tag, photos in by_tag.items():
            # Those said to have it not come by falling probability.
            noes = [photo for photo in photos if session.state.labels[session.state.place(tag)][photo - 1] == 0]
            numbers = session.state.values[session.state.place(tag), session.photos.rows(noes)]
            assert (np.diff(numbers) <= 0).all()


def test_scores_tell_no_conflicts(made_up):
    made = made_up(60, 2)
    made.say(range(12))
    made.project.train("ridge")
    with ReviewSession(made.project, with_looks=False) as session:
        assert session.state.kind == "score"
        assert _conflicts(session) == []
