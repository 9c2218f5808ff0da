"""Drawing with arithmetic that gives the same pixels on every machine.

Only ``+ - * /``, ``sqrt``, ``floor``, comparisons and uniform random numbers are used, element by element: IEEE 754
fixes their results, whereas sines, powers, sums over an axis and the rasterisers of graphics libraries differ between
builds. Lengths are in units of the shorter side of the picture, so that a scene looks alike at any size; y grows
downwards.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from tagloom.core import Singles

__all__ = ["Canvas", "Colour", "Random", "interpolate", "mix", "smooth_line"]

Colour = tuple[float, float, float]
Window = tuple[slice, slice]
T = TypeVar("T")


class Random:
    """Uniform random numbers of one part of one photo.

    Parameters
    ----------
    *key : int
        The seed of the set, the photo and the part; each key has its own stream, so that a photo does not depend on
        how many there are, nor a part on whether another one is drawn.
    """

    def __init__(self, *key: int) -> None:
        seed, *path = key
        # PCG64 by name: the default generator of NumPy may change one day, the scenes may not.
        self._generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=path)))

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return bool(self._generator.random() < probability)

    def between(self, low: float, high: float) -> float:
        """Return a number in [low, high)."""
        return low + (high - low) * float(self._generator.random())

    def count(self, low: int, high: int) -> int:
        """Return an integer in low … high, both included."""
        return low + int(float(self._generator.random()) * (high - low + 1))

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.count(0, len(items) - 1)]

    def weighted(self, weights: dict[str, float]) -> str:
        """Return one of the keys with chances in the proportion of their weights."""
        left = self.between(0.0, sum(weights.values()))
        for name, weight in weights.items():
            left -= weight
            if left < 0:
                return name
        return next(reversed(weights))

    def uniform(self, *shape: int) -> Singles:
        """Return an array of numbers in [0, 1)."""
        return self._generator.random(shape, dtype=np.float32)

    def shade(self, colour: Colour, amount: float = 12.0) -> Colour:
        """Return the colour, each channel moved by up to ``amount``."""
        red, green, blue = colour
        return (
            red + self.between(-amount, amount),
            green + self.between(-amount, amount),
            blue + self.between(-amount, amount),
        )


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """Return the colour between two, ``share`` of the way to the second."""
    red, green, blue = (a + (b - a) * share for a, b in zip(first, second, strict=True))
    return red, green, blue


def interpolate(knots: Singles, n: int, axis: int = 0) -> Singles:
    """Stretch an array along an axis to n samples, with smooth steps between the knots."""
    n_spans = knots.shape[axis] - 1
    where = (np.arange(n, dtype=np.float32) + np.float32(0.5)) * np.float32(n_spans / n)
    left = np.minimum(where.astype(np.intp), n_spans - 1)
    step = where - left.astype(np.float32)
    step = step * step * (np.float32(3) - np.float32(2) * step)
    shape = [1] * knots.ndim
    shape[axis] = n
    start = np.take(knots, left, axis=axis)
    rise = np.take(knots, left + 1, axis=axis) - start
    stretched: Singles = start + rise * step.reshape(shape)
    return stretched


def smooth_line(random: Random, n: int, n_spans: int, octaves: int = 3) -> Singles:
    """Return n heights in about [-1, 1] of a hilly line: smooth steps between random knots, then finer ones."""
    line = np.zeros(n, dtype=np.float32)
    size = np.float32(1)
    for octave in range(octaves):
        knots = random.uniform(n_spans * 2**octave + 1) * np.float32(2) - np.float32(1)
        line += size * interpolate(knots, n)
        size *= np.float32(0.5)
    return line


class Canvas:
    """A picture in the making.

    Parameters
    ----------
    width, height : int
        Pixels.

    Attributes
    ----------
    pixels : array of shape (3, height, width)
        Red, green and blue from 0 to 255, not yet clipped. One plane per colour, because arithmetic with a mask runs
        several times as fast along rows of pixels as along the three colours of one.
    x, y : arrays of shape (1, width) and (height, 1)
        Pixel centres in units of the shorter side.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.unit = min(width, height)
        self.right, self.bottom = width / self.unit, height / self.unit
        self.pixels: Singles = np.zeros((3, height, width), dtype=np.float32)
        self.x: Singles = ((np.arange(width, dtype=np.float32) + np.float32(0.5)) / np.float32(self.unit))[None, :]
        self.y: Singles = ((np.arange(height, dtype=np.float32) + np.float32(0.5)) / np.float32(self.unit))[:, None]

    def noise(self, random: Random, cell: float, octaves: int = 2, stretch: float = 1.0) -> Singles:
        """Return a cloudy texture in about [-1, 1].

        Parameters
        ----------
        random : Random
            The stream.
        cell : float
            Size of the coarsest spots.
        octaves : int, default=2
            How many finer layers, each of half the size and strength.
        stretch : float, default=1
            How much wider than high the spots are.
        """
        field = np.zeros((self.height, self.width), dtype=np.float32)
        size = np.float32(0.65)
        for _ in range(octaves):
            rows = min(self.height, max(1, round(self.bottom / cell)))
            columns = min(self.width, max(1, round(self.right / (cell * stretch))))
            knots = random.uniform(rows + 1, columns + 1) * np.float32(2) - np.float32(1)
            field += size * interpolate(interpolate(knots, self.height), self.width, axis=1)
            size *= np.float32(0.5)
            cell /= 2
        return field

    def below(self, line: Any) -> Singles:
        """Return how much of each pixel lies below a line (a height, or one per column)."""
        covered: Singles = np.clip((self.y - np.asarray(line, dtype=np.float32)) * np.float32(self.unit) + 0.5, 0, 1)
        return np.broadcast_to(covered, (self.height, self.width))

    def window(self, left: float, top: float, right: float, bottom: float) -> Window:
        """Return the pixels that hold a rectangle, one more on each side, cut at the border."""
        rows = slice(max(0, int(top * self.unit) - 1), max(0, min(self.height, int(bottom * self.unit) + 2)))
        columns = slice(max(0, int(left * self.unit) - 1), max(0, min(self.width, int(right * self.unit) + 2)))
        return rows, columns

    def blend(self, mask: Any, colour: Any, window: Window = (slice(None), slice(None))) -> None:
        """Lay a colour (or an array of colours, planes first) over a window as far as the mask covers it."""
        part = self.pixels[:, window[0], window[1]]
        colours = np.asarray(colour, dtype=np.float32)
        change = (colours if colours.ndim == 3 else colours[:, None, None]) - part
        change *= np.asarray(mask, dtype=np.float32)
        part += change

    def ellipse(self, x: float, y: float, across: float, down: float, colour: Any, opacity: float = 1.0) -> None:
        """Fill an ellipse given by its centre and half-axes."""
        window = self.window(x - across, y - down, x + across, y + down)
        dx = (self.x[:, window[1]] - np.float32(x)) / np.float32(across)
        dy = (self.y[window[0]] - np.float32(y)) / np.float32(down)
        inside = (1 - np.sqrt(dx * dx + dy * dy)) * np.float32(min(across, down) * self.unit) + np.float32(0.5)
        self.blend(np.clip(inside, 0, 1) * np.float32(opacity), colour, window)

    def glow(self, x: float, y: float, radius: float, colour: Colour, strength: float) -> None:
        """Lay light over the surroundings of a point, falling off smoothly."""
        window = self.window(x - radius, y - radius, x + radius, y + radius)
        dx = (self.x[:, window[1]] - np.float32(x)) / np.float32(radius)
        dy = (self.y[window[0]] - np.float32(y)) / np.float32(radius)
        fall = np.clip(1 - np.sqrt(dx * dx + dy * dy), 0, 1)
        self.blend(fall * fall * np.float32(strength), colour, window)

    def polygon(self, corners: Sequence[tuple[float, float]], colour: Any, opacity: float = 1.0) -> None:
        """Fill a convex polygon; the corners go round clockwise as seen."""
        across, down = [corner[0] for corner in corners], [corner[1] for corner in corners]
        window = self.window(min(across), min(down), max(across), max(down))
        x, y = self.x[:, window[1]], self.y[window[0]]
        inside: Singles | None = None
        for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[0]], strict=True):
            edge_x, edge_y = x1 - x0, y1 - y0
            scale = np.float32(self.unit / max(1e-6, float(np.sqrt(edge_x * edge_x + edge_y * edge_y))))
            depth = ((y - np.float32(y0)) * np.float32(edge_x) - (x - np.float32(x0)) * np.float32(edge_y)) * scale
            inside = depth if inside is None else np.minimum(inside, depth)
        if inside is not None:
            self.blend(np.clip(inside + np.float32(0.5), 0, 1) * np.float32(opacity), colour, window)

    def rectangle(self, left: float, top: float, right: float, bottom: float, colour: Any) -> None:
        """Fill a rectangle."""
        window = self.window(left, top, right, bottom)
        unit = np.float32(self.unit)
        across = np.minimum(self.x[:, window[1]] - np.float32(left), np.float32(right) - self.x[:, window[1]])
        down = np.minimum(self.y[window[0]] - np.float32(top), np.float32(bottom) - self.y[window[0]])
        self.blend(np.clip(across * unit + 0.5, 0, 1) * np.clip(down * unit + 0.5, 0, 1), colour, window)
