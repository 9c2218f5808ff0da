"""Made-up clips: the same for a seed, tags that are seen and heard, sounds that differ."""

import numpy as np
import pytest

from tagloom.datasets import make_clips
from tagloom.datasets._clip_sound import SOUND_TAGS, make_sound
from tagloom.exceptions import InvalidInputError


def test_a_seed_gives_the_same_clips_whatever_their_number():
    few, many = make_clips(4, size=(64, 48), random_state=5), make_clips(30, size=(64, 48), random_state=5)
    np.testing.assert_array_equal(few.Y, many.Y[:4])
    for one, other in zip(few.frames(2), many.frames(2), strict=True):
        np.testing.assert_array_equal(one, other)
    sound = few.sound(2)
    assert sound is None or np.array_equal(sound, many.sound(2))
    assert not np.array_equal(few.Y, make_clips(4, random_state=6).Y)


def test_tags_follow_the_shots():
    clips = make_clips(60, random_state=0)
    names = list(clips.tags)
    n_two = 0
    for shots, row in zip(clips.shots, clips.Y, strict=True):
        tags = {name for name, value in zip(names, row, strict=True) if value}
        assert tags - set(SOUND_TAGS) == set().union(*(shot.plan.tags for shot in shots))
        assert (shots[0].begin, shots[-1].end) == (0.0, clips.seconds)
        assert "waves" not in tags or "sea" in tags
        n_two += len(shots) == 2
    assert 10 <= n_two <= 35
    heard = clips.Y[:, [names.index(tag) for tag in ("music", "crowd", "engine", "speech")]]
    assert (heard.mean(axis=0) > 0.1).all()
    assert (heard.mean(axis=0) < 0.5).all()


def test_frames_have_the_size_and_move():
    clips = make_clips(1, size=(64, 48), seconds=2)
    frames = list(clips.frames(0))
    assert {frame.shape for frame in frames} == {(48, 64, 3)}
    assert len(frames) == 24
    assert any(not np.array_equal(frames[0], frame) for frame in frames)


@pytest.mark.parametrize("tag", SOUND_TAGS)
def test_each_sound_is_heard(tag):
    quiet, loud = (make_sound(tags, 1.0, np.random.default_rng(0)) for tags in ((), (tag,)))
    assert len(loud) == 16_000
    assert np.abs(loud).max() <= 1.0
    assert loud.std() > 2 * quiet.std()


def test_wrong_sizes_are_refused():
    for wrong in ({"n_clips": 0}, {"size": (63, 48)}, {"size": (8, 8)}, {"seconds": 0.1}):
        with pytest.raises(InvalidInputError):
            make_clips(**({"n_clips": 1} | wrong))
