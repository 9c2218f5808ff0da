"""The sounds of made-up clips: short recipes for what a microphone hears, mixed over a hiss."""

from collections.abc import Callable, Collection

import numpy as np
from scipy.signal import butter, lfilter

from tagloom.core import Floats

__all__ = ["SOUND_RATE", "SOUND_TAGS", "make_sound"]

SOUND_RATE = 16_000

Generator = np.random.Generator


def make_sound(tags: Collection[str], seconds: float, random: Generator) -> Floats:
    """Return the sound of a clip.

    Parameters
    ----------
    tags : collection of str
        Those of `SOUND_TAGS` are heard.
    seconds : float
        How long.
    random : Generator
        Where loudness, pitch and rhythm come from.

    Returns
    -------
    ndarray of shape (seconds × 16,000,)
        Between -1 and 1.
    """
    n = int(seconds * SOUND_RATE)
    hiss = _band(random.standard_normal(n), 60, 6_000) * random.uniform(0.005, 0.03)
    sound = hiss + _band(random.standard_normal(n), 30, 250) * random.uniform(0.0, 0.04)
    for tag, recipe in _RECIPES.items():
        if tag in tags:
            part = recipe(n, random)
            loudest = float(np.abs(part).max()) if n else 0.0
            sound += part / max(loudest, 1e-9) * random.uniform(0.15, 0.5)
    return np.clip(sound, -1.0, 1.0)


def _band(noise: Floats, low: float, high: float) -> Floats:
    b, a = butter(2, [low, high], btype="bandpass", fs=SOUND_RATE)
    return np.asarray(lfilter(b, a, noise), dtype=np.float64)


def _time(n: int) -> Floats:
    return np.arange(n) / SOUND_RATE


def _waves(n: int, random: Generator) -> Floats:
    """Return surf: broad noise that swells and breaks."""
    swell = 0.5 + 0.5 * np.sin(2 * np.pi * random.uniform(0.2, 0.5) * _time(n) + random.uniform(0, 6.3))
    return _band(random.standard_normal(n), 120, 1_800) * (0.15 + swell**2)


def _birdsong(n: int, random: Generator) -> Floats:
    """Return whistles that glide between two and six kilohertz."""
    found = np.zeros(n)
    for _ in range(max(2, int(n / SOUND_RATE * random.uniform(2, 4)))):
        length = int(random.uniform(0.05, 0.2) * SOUND_RATE)
        begin = int(random.integers(0, max(1, n - length)))
        t = _time(min(length, n - begin))
        pitch, glide = random.uniform(2_200, 5_500), random.uniform(-6_000, 6_000)
        envelope = np.sin(np.pi * np.arange(len(t)) / max(len(t), 1))
        found[begin : begin + len(t)] += envelope * np.sin(2 * np.pi * (pitch * t + glide * t * t / 2))
    return found


def _engine(n: int, random: Generator) -> Floats:
    """Return a motor: many harmonics of a low, trembling note."""
    drift = np.cumsum(random.standard_normal(n)) / SOUND_RATE
    phase = 2 * np.pi * np.cumsum(random.uniform(45, 110) * (1 + 0.5 * drift)) / SOUND_RATE
    tone = sum(np.sin(k * phase + random.uniform(0, 6.3)) / k for k in range(1, 16))
    return tone * (1 + 0.2 * _band(random.standard_normal(n), 5, 40))


def _voice(n: int, random: Generator) -> Floats:
    """Return one voice: pulses through formants that change with each syllable."""
    pitch = random.uniform(90, 230) * (1 + 0.1 * np.sin(2 * np.pi * random.uniform(0.5, 1.5) * _time(n)))
    phase = np.cumsum(pitch) / SOUND_RATE
    pulses = (np.diff(np.floor(phase), prepend=0.0) > 0) + 0.05 * random.standard_normal(n)
    found, begin = np.zeros(n), 0
    while begin < n:
        stop = min(n, begin + int(random.uniform(0.12, 0.3) * SOUND_RATE))
        part = pulses[begin:stop]
        for low, high in ((300, 800), (900, 2_300), (2_300, 3_000)):
            centre = random.uniform(low, high)
            found[begin:stop] += _band(part, centre * 0.92, centre * 1.08)
        found[begin:stop] *= np.sin(np.pi * np.arange(stop - begin) / max(stop - begin, 1)) ** 0.5
        begin = stop + int(random.choice([0.0, 0.0, 0.05, 0.2]) * SOUND_RATE)
    return found


def _crowd(n: int, random: Generator) -> Floats:
    """Return many voices at once."""
    return np.asarray(sum(_voice(n, random) * random.uniform(0.4, 1.0) for _ in range(8)), dtype=np.float64)


def _music(n: int, random: Generator) -> Floats:
    """Return plucked chords of a scale, on a beat."""
    scale = random.uniform(180, 300) * 2 ** (np.array([0, 2, 4, 7, 9, 12, 14, 16]) / 12)
    beat = int(random.uniform(0.22, 0.45) * SOUND_RATE)
    found = np.zeros(n)
    for begin in range(0, n, beat):
        t = _time(min(n - begin, 2 * beat))
        for note in random.choice(scale, size=3, replace=False):
            tone = sum(np.sin(2 * np.pi * k * note * t) / k**1.5 for k in range(1, 6))
            found[begin : begin + len(t)] += tone * np.exp(-t * random.uniform(3, 6))
    return found


_RECIPES: dict[str, Callable[[int, Generator], Floats]] = {
    "birdsong": _birdsong,
    "crowd": _crowd,
    "engine": _engine,
    "music": _music,
    "speech": _voice,
    "waves": _waves,
}
SOUND_TAGS = tuple(_RECIPES)
