"""Bursts and events against loops written from their definitions."""

import itertools
import math

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.features.relations import occasions
from tagloom.features.relations.occasions import bursts, events

NAN = float("nan")


def literal_bursts(times, gap, embeddings, min_cosine):
    """Return the set of bursts, each a frozenset of photos: spread along links until nothing changes."""
    group = {i: {i} for i in range(len(times))}
    for i, j in itertools.combinations(range(len(times)), 2):
        near = abs(times[i] - times[j]) <= gap
        if near and embeddings is not None:
            a, b = embeddings[i], embeddings[j]
            near = sum(a * b) >= min_cosine * math.sqrt(sum(a * a) * sum(b * b))
        if near:
            merged = group[i] | group[j]
            for photo in merged:
                group[photo] = merged
    return {frozenset(members) for members in group.values() if len(members) > 1}


def as_sets(labels):
    return {frozenset(np.flatnonzero(labels == number).tolist()) for number in set(labels.tolist()) - {-1}}


def make_times(n, seed):
    generator = np.random.default_rng(seed)
    times = generator.integers(0, 3 * n, n).astype(float) + generator.choice([0, 0.5], n)
    times[generator.random(n) < 0.1] = NAN
    return times


@pytest.mark.parametrize("tile", [3, 512])
@pytest.mark.parametrize("with_embeddings", [False, True])
@pytest.mark.parametrize("gap", [0, 1.5, 10])
def test_bursts_against_a_loop(monkeypatch, tile, with_embeddings, gap):
    monkeypatch.setattr(occasions, "_TILE", tile)
    times = make_times(60, seed=int(gap))
    embeddings = np.random.default_rng(2).normal(0.5, 1, (60, 3)) if with_embeddings else None
    labels = bursts(times, max_gap_seconds=gap, embeddings=embeddings, min_cosine=0.6)
    expected = literal_bursts(times, gap, embeddings, 0.6)
    assert expected
    assert as_sets(labels) == expected
    starts = [np.nanmin(times[labels == number]) for number in range(labels.max() + 1)]
    assert starts == sorted(starts)
    assert (labels[np.isnan(times)] == -1).all()


@pytest.mark.parametrize("with_embeddings", [False, True])
def test_bursts_of_photos_in_another_order(with_embeddings):
    times = make_times(300, seed=7)
    generator = np.random.default_rng(8)
    embeddings = generator.normal(1, 1, (300, 4)) if with_embeddings else None
    order = generator.permutation(300)
    labels = bursts(times, embeddings=embeddings)
    shuffled = bursts(times[order], embeddings=None if embeddings is None else embeddings[order])
    assert as_sets(shuffled) == {frozenset(np.argsort(order)[sorted(one)].tolist()) for one in as_sets(labels)}


def test_a_burst_may_last_longer_than_its_gap():
    assert bursts(np.arange(100.0), max_gap_seconds=1).tolist() == [0] * 100
    assert bursts(np.arange(100.0), max_gap_seconds=0.9).tolist() == [-1] * 100


def test_two_cameras_at_one_time():
    times = [0, 0, 1, 1, 2, 2]
    embeddings = [[1, 0], [0, 1]] * 3
    assert bursts(times).tolist() == [0] * 6
    assert bursts(times, embeddings=embeddings).tolist() == [0, 1] * 3


def literal_events(times, window, ratio, max_gap):
    known = sorted(i for i in range(len(times)) if not math.isnan(times[i]))
    known.sort(key=lambda i: times[i])
    gaps = [max(1.0, times[b] - times[a]) for a, b in itertools.pairwise(known)]
    labels, number = [-1] * len(times), 0
    for place, photo in enumerate(known):
        if place > 0:
            here = place - 1
            around = [math.log(gaps[j]) for j in range(here - window, here + window + 1) if 0 <= j < len(gaps)]
            adaptive = math.log(gaps[here]) >= math.log(ratio) + sum(around) / len(around)
            number += adaptive or gaps[here] > max_gap
        labels[photo] = number
    return labels


def make_diary(seed, n_events=30):
    generator = np.random.default_rng(seed)
    starts = np.cumsum(generator.exponential(4 * 86_400, n_events))
    times = [start + generator.uniform(0, generator.uniform(600, 15_000), 15) for start in starts]
    truth = np.repeat(np.arange(n_events), 15)
    order = generator.permutation(len(truth))
    return np.concatenate(times)[order], truth[order]


@pytest.mark.parametrize(("window", "ratio", "max_gap"), [(10, 17.0, 604_800.0), (1, 1.5, math.inf), (3, 5.0, 3600.0)])
def test_events_against_a_loop(window, ratio, max_gap):
    for seed in range(3):
        times, _ = make_diary(seed)
        times[::17] = NAN
        times[5] = times[6]
        labels = events(times, window=window, ratio=ratio, max_gap_seconds=max_gap)
        assert labels.max() > 3
        assert labels.tolist() == literal_events(times.tolist(), window, ratio, max_gap)


def test_events_of_a_diary_are_found():
    times, truth = make_diary(1)
    labels = events(times)
    agree = (labels[:, None] == labels) == (truth[:, None] == truth)
    assert agree.mean() > 0.98


def test_events_of_photos_in_another_order():
    times, _ = make_diary(4)
    times = np.append(times, [NAN, times[0], times[0]])
    order = np.random.default_rng(0).permutation(len(times))
    np.testing.assert_array_equal(events(times[order]), events(times)[order])


def test_lone_photos():
    year = 365 * 86_400
    assert events([0, year]).tolist() == [0, 1]
    assert events([0, year], max_gap_seconds=math.inf).tolist() == [0, 0]
    assert events([5.0]).tolist() == [0]
    assert events([1.0] * 50).tolist() == [0] * 50


def test_no_photos_and_no_times():
    for function in (bursts, events):
        assert function([]).tolist() == []
        assert function([]).dtype == np.int64
        assert function([NAN, NAN]).tolist() == [-1, -1]
    assert bursts([], embeddings=np.empty((0, 4))).tolist() == []
    assert bursts([NAN], embeddings=np.ones((1, 4))).tolist() == [-1]


@pytest.mark.parametrize(
    ("function", "times", "options"),
    [
        (bursts, [[1.0]], {}),
        (bursts, [math.inf], {}),
        (bursts, [1.0], {"max_gap_seconds": -1}),
        (bursts, [1.0], {"max_gap_seconds": NAN}),
        (bursts, [1.0], {"embeddings": np.ones((2, 3))}),
        (bursts, [1.0], {"embeddings": np.ones((1, 3)), "min_cosine": 2}),
        (events, [[1.0]], {}),
        (events, [-math.inf], {}),
        (events, [1.0], {"window": 0}),
        (events, [1.0], {"window": 1.5}),
        (events, [1.0], {"ratio": 1.0}),
        (events, [1.0], {"ratio": NAN}),
        (events, [1.0], {"max_gap_seconds": 0}),
    ],
)
def test_what_is_refused(function, times, options):
    with pytest.raises(InvalidInputError):
        function(times, **options)
