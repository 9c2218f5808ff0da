"""What a clip sounds like: mel-frequency cepstral coefficients, how they move, and how they vary together."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from tagloom.core import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.features.descriptor import BaseDescriptor
from tagloom.images import DecodedPhoto, Rendition

__all__ = ["MfccDescriptor", "deltas", "log_mel", "mel_filters", "mfcc"]

SOUND_RATE = 16_000
WINDOW, STEP, LENGTH = 400, 160, 512  # samples: 25 ms every 10 ms, filled up with zeros for the transform
N_BANDS, N_COEFFICIENTS, DELTA_WIDTH = 40, 20, 9
LOWEST, HIGHEST = 20.0, 8_000.0
FLOOR, RANGE = 1e-10, 80.0  # power, and decibels below the loudest that count
SILENCE = 1e-4  # of full scale: a sound whose root mean square is less is no sound
_BLOCK = 4096


def mel_filters(n_bands: int = N_BANDS) -> Floats:
    """Return triangular filters that are evenly spaced on the mel scale, shape (n_bands, 257), of one area each.

    Notes
    -----
    The mel scale of Slaney's Auditory Toolbox: linear up to 1 kHz, logarithmic above.
    """
    edges = _hertz(np.linspace(_mel(LOWEST), _mel(HIGHEST), n_bands + 2))
    frequencies = np.arange(LENGTH // 2 + 1) * SOUND_RATE / LENGTH
    low, centre, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rise, fall = (frequencies - low) / (centre - low), (high - frequencies) / (high - centre)
    return np.asarray(np.maximum(0.0, np.minimum(rise, fall)) * 2.0 / (high - low), dtype=np.float64)


def log_mel(sound: NDArray[Any]) -> Floats:
    """Return the power in each band in decibels, shape (frames, 40).

    Parameters
    ----------
    sound : array of shape (n,)
        At least 400 samples, 16,000 a second.
    """
    n_frames = 1 + (len(sound) - WINDOW) // STEP
    if n_frames < 1:
        raise InvalidInputError(f"expected at least {WINDOW} samples of sound, got {len(sound)}")
    frames = np.lib.stride_tricks.sliding_window_view(np.asarray(sound, dtype=np.float64), WINDOW)[::STEP]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    bands = np.empty((n_frames, N_BANDS))
    for start in range(0, n_frames, _BLOCK):
        spectrum = np.fft.rfft(frames[start : start + _BLOCK] * window, LENGTH)
        bands[start : start + _BLOCK] = (spectrum.real**2 + spectrum.imag**2) @ _filters().T
    decibels = 10.0 * np.log10(np.maximum(bands, FLOOR))
    return np.maximum(decibels, decibels.max() - RANGE)


def mfcc(sound: NDArray[Any]) -> Floats:
    """Return mel-frequency cepstral coefficients, shape (frames, 20).

    Parameters
    ----------
    sound : array of shape (n,)
        At least 400 samples, 16,000 a second.

    Examples
    --------
    >>> import numpy as np
    >>> mfcc(np.sin(np.arange(16_000) / 5)).shape
    (98, 20)
    """
    return np.asarray(dct(log_mel(sound), type=2, norm="ortho", axis=1)[:, :N_COEFFICIENTS], dtype=np.float64)


def deltas(coefficients: NDArray[Any], order: int = 1) -> Floats:
    """Return how coefficients change: derivatives of the parabolas (or lines) through nine frames.

    Parameters
    ----------
    coefficients : array of shape (frames, d)
        At least nine frames.
    order : {1, 2}, default=1
        Of the derivative, and of the polynomial.
    """
    from scipy.signal import savgol_filter  # here, as it loads much that other commands do without

    found = savgol_filter(coefficients, DELTA_WIDTH, polyorder=order, deriv=order, axis=0, mode="interp")
    return np.asarray(found, dtype=np.float64)


class MfccDescriptor(BaseDescriptor):
    """The sound of a video; a photo has none.

    20 MFCC of 25 ms every 10 ms, from 40 bands between 20 Hz and 8 kHz; the group ``audio:mfcc`` has the means of
    coefficients and of their first and second derivatives, the deviations of both derivatives, and the covariances of
    the coefficients. A photo, and a video without sound or with nothing but silence, lacks the group: its row is all
    zeros, which `tagloom.features.GroupScaler` takes for that.
    """

    name = "audio"
    version = 1
    thread_safe = True
    of_clips = "whole"

    @property
    def outputs(self) -> Mapping[str, int]:
        """One group: ``audio:mfcc``."""
        return {"audio:mfcc": 5 * N_COEFFICIENTS + N_COEFFICIENTS * (N_COEFFICIENTS + 1) // 2}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """None: no pixels are needed."""
        return ()

    @property
    def parameters(self) -> Mapping[str, Any]:
        """There are none."""
        return {}

    def compute(self, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        """Return one float32 row per photo."""
        rows = np.zeros((len(photos), self.n_columns), dtype=np.float32)
        for row, photo in zip(rows, photos, strict=True):
            if photo.clip is not None:
                row[:] = self.describe([piece for _, piece in photo.clip.sound])
        return rows

    def describe(self, pieces: Sequence[NDArray[np.int16]]) -> Floats:
        """Return the row of a sound.

        Parameters
        ----------
        pieces : sequence of int16 arrays
            Parts of the sound, 16,000 samples a second; those that are too short are not used.
        """
        shortest = WINDOW + (DELTA_WIDTH - 1) * STEP
        sounds = [piece / 32_768.0 for piece in pieces if len(piece) >= shortest]
        n = sum(len(sound) for sound in sounds)
        if not n or np.sqrt(sum(float(sound @ sound) for sound in sounds) / n) < SILENCE:
            return np.zeros(self.n_columns)
        plain = [mfcc(sound) for sound in sounds]
        coefficients, first, second = (
            np.concatenate(part)
            for part in (plain, [deltas(each) for each in plain], [deltas(each, 2) for each in plain])
        )
        centred = coefficients - coefficients.mean(axis=0)
        covariance = centred.T @ centred / len(centred)
        moments = (coefficients.mean(axis=0), first.mean(axis=0), second.mean(axis=0), first.std(axis=0))
        return np.concatenate([*moments, second.std(axis=0), covariance[np.triu_indices(N_COEFFICIENTS)]])


@functools.cache
def _filters() -> Floats:
    return mel_filters()


def _mel(hertz: float) -> float:
    return hertz * 3 / 200 if hertz < 1_000 else 15 + 27 * float(np.log(hertz / 1_000) / np.log(6.4))


def _hertz(mels: Floats) -> Floats:
    return np.where(mels < 15, mels * 200 / 3, 1_000 * np.exp((mels - 15) * np.log(6.4) / 27))
