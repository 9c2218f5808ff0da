"""From a plan to pixels: the parts in their order, then the camera."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Singles
from tagloom.datasets import _scene_backdrop as backdrop
from tagloom.datasets import _scene_objects as objects
from tagloom.datasets._canvas import Canvas, Colour, Random, mix, smooth_line
from tagloom.datasets._scene_backdrop import Stage
from tagloom.datasets._scene_plan import ScenePlan

__all__ = ["paint_scene"]

Painter = Callable[[Stage, Random], None]

# Far things first. "sky" and "ground" are always painted; the others where the plan has their tag.
_PARTS: tuple[tuple[str, Painter], ...] = (
    ("sky", backdrop.paint_sky),
    ("stars", backdrop.paint_stars),
    ("cloud", backdrop.paint_cloud),
    ("moon", backdrop.paint_moon),
    ("sun", backdrop.paint_sun),
    ("mountain", backdrop.paint_mountain),
    ("sea", backdrop.paint_sea),
    ("ground", backdrop.paint_ground),
    ("city", backdrop.paint_city),
    ("beach", backdrop.paint_beach),
    ("grass", backdrop.paint_grass),
    ("snow", backdrop.paint_snow),
    ("forest", backdrop.paint_forest),
    ("lake", backdrop.paint_lake),
    ("road", objects.paint_road),
    ("bird", objects.paint_bird),
    ("boat", objects.paint_boat),
    ("tree", objects.paint_tree),
    ("house", objects.paint_house),
    ("flower", objects.paint_flower),
    ("car", objects.paint_car),
    ("fog", objects.paint_fog),
)
_ALWAYS = frozenset({"sky", "ground"})
_LAYOUT_STREAM, _CAMERA_STREAM, _FIRST_PART_STREAM = 1, 2, 3


def paint_scene(plan: ScenePlan, seed: int, index: int, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Paint a plan.

    Parameters
    ----------
    plan : ScenePlan
        What to paint.
    seed, index : int
        The set and the photo in it.
    size : (int, int)
        Width and height of a landscape; a portrait has them exchanged.

    Returns
    -------
    array of uint8, shape (height, width, 3)
    """
    stage = _set_stage(plan, Random(seed, index, _LAYOUT_STREAM), size[::-1] if plan.portrait else size)
    for number, (tag, paint) in enumerate(_PARTS):
        if tag in plan.tags or tag in _ALWAYS:
            paint(stage, Random(seed, index, _FIRST_PART_STREAM + number))
    return _photograph(stage.canvas, Random(seed, index, _CAMERA_STREAM))


def _set_stage(plan: ScenePlan, random: Random, size: tuple[int, int]) -> Stage:
    """Fix horizon, shore, air and light before anything is painted."""
    canvas = Canvas(*size)
    level = np.float32((0.72 if plan.enclosed else plan.horizon) * canvas.bottom)
    horizon = level + (canvas.x - np.float32(canvas.right / 2)) * np.float32(plan.tilt)
    if not plan.tags & {"sea", "lake", "city"}:
        horizon = horizon + np.float32(0.03) * smooth_line(random, canvas.width, 3, 2)
    depth = np.float32(canvas.bottom) - level
    edge = random.between(0.35, 0.7) + random.between(-0.1, 0.1) * smooth_line(random, canvas.width, 2, 2)
    slope = (canvas.x - np.float32(canvas.right / 2)) * np.float32(random.between(-0.25, 0.25))
    far_shore = np.clip(level + depth * edge + slope, level + np.float32(0.05), None)
    shore: Singles = horizon
    if "lake" in plan.tags or ("sea" in plan.tags and plan.foreground):
        shore = far_shore
    elif "sea" in plan.tags:
        shore = np.full_like(horizon, canvas.bottom + 1)
    glare = random.between(0.15, 0.85) * canvas.right
    lane = (
        random.between(0.15, 0.85) * canvas.right,
        random.between(0.3, 0.7) * canvas.right,
        random.between(-0.25, 0.25),
    )
    return Stage(canvas, plan, horizon, np.maximum(shore, horizon), _air(plan, random), glare, lane)


def _air(plan: ScenePlan, random: Random) -> Colour:
    """Return the colour of the sky at the horizon."""
    air = {
        "day": random.pick([(190, 214, 236), (204, 222, 232), (168, 200, 230)]),
        "sunset": random.pick([(250, 176, 110), (236, 140, 110), (244, 196, 150)]),
        "night": random.pick([(30, 36, 60), (44, 40, 58), (26, 30, 44)]),
    }[plan.light]
    grey = sum(air) / 3
    return mix(random.shade(air, 8), (grey, grey, grey), 0.75 if plan.overcast else 0.0)


def _photograph(canvas: Canvas, random: Random) -> NDArray[np.uint8]:
    """Give the picture exposure, colour cast, saturation, focus, vignette and grain of a camera."""
    pixels = canvas.pixels
    grey = (pixels[0] + pixels[1] + pixels[2]) / np.float32(3)
    saturation = 0.0 if random.chance(0.02) else random.between(0.8, 1.12)
    pixels = grey + (pixels - grey) * np.float32(saturation)
    cast = (random.between(0.94, 1.06), random.between(0.97, 1.03), random.between(0.94, 1.06))
    gain = np.asarray(cast, dtype=np.float32)[:, None, None] * np.float32(random.between(0.88, 1.14))
    pixels = (pixels - np.float32(110)) * np.float32(random.between(0.88, 1.12)) + np.float32(110)
    dx = canvas.x - np.float32(canvas.right / 2)
    dy = canvas.y - np.float32(canvas.bottom / 2)
    vignette = 1 - np.float32(random.between(0.0, 0.35)) * (dx * dx + dy * dy)
    pixels *= gain * vignette
    for _ in range(random.pick([0, 0, 1, 1, 1, 3])):
        pixels = _soften(pixels)
    strength = np.float32(random.pick([2.0, 4.0, 7.0, 11.0]))
    grain = random.uniform(*pixels.shape) + random.uniform(*pixels.shape[1:]) - np.float32(1)
    pixels = np.clip(pixels + grain * strength + np.float32(0.5), 0, 255)
    # Conversion to integers cuts off the fraction, which rounds because of the half that was added.
    return np.ascontiguousarray(pixels.astype(np.uint8).transpose(1, 2, 0))


def _soften(pixels: Singles) -> Singles:
    """Average each pixel with its neighbours above and below, then left and right, with weights 1, 2, 1."""
    quarter = np.float32(0.25)
    padded = np.pad(pixels, ((0, 0), (1, 1), (1, 1)), mode="edge") * quarter
    rows = padded[:, :-2] + padded[:, 2:] + padded[:, 1:-1] + padded[:, 1:-1]
    softened: Singles = (rows[..., :-2] + rows[..., 2:] + rows[..., 1:-1] + rows[..., 1:-1]) * quarter
    return softened
