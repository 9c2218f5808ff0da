"""The far parts of a made-up scene: sky, lights in it, mountains, skyline, forest, water and ground."""

from dataclasses import dataclass

import numpy as np

from tagloom.core import Singles
from tagloom.datasets._canvas import Canvas, Colour, Random, mix, smooth_line
from tagloom.datasets._scene_plan import ScenePlan

__all__ = [
    "Stage",
    "paint_beach",
    "paint_city",
    "paint_cloud",
    "paint_forest",
    "paint_grass",
    "paint_ground",
    "paint_lake",
    "paint_moon",
    "paint_mountain",
    "paint_sea",
    "paint_sky",
    "paint_snow",
    "paint_stars",
    "paint_sun",
]

_LIGHT: dict[str, Colour] = {"day": (1.0, 1.0, 1.0), "sunset": (0.72, 0.52, 0.5), "night": (0.26, 0.31, 0.46)}
LEAVES: dict[str, tuple[Colour, ...]] = {
    "spring": ((96, 150, 62), (120, 170, 70), (84, 130, 66)),
    "summer": ((52, 104, 44), (70, 120, 50), (40, 88, 50)),
    "autumn": ((190, 110, 36), (170, 72, 34), (200, 150, 50), (96, 108, 46)),
    "winter": ((78, 72, 64), (52, 76, 60), (94, 86, 78)),
}
# What may stand up to `_TALLEST` of the sky above the horizon; sun and moon keep clear of it.
_TALL = frozenset({"mountain", "city", "forest"})
_TALLEST = 0.6
# Brighter than white, so that the sun stays the brightest spot at any exposure.
_HIGH_SUN: Colour = (340, 336, 318)
_LOW_SUN: tuple[Colour, ...] = ((320, 290, 200), (310, 200, 90), (320, 260, 150))
_GRASS: dict[str, tuple[Colour, ...]] = {
    "spring": ((118, 172, 66), (100, 158, 70)),
    "summer": ((88, 142, 52), (120, 146, 66), (176, 164, 90)),
    "autumn": ((132, 140, 62), (172, 158, 84)),
    "winter": ((128, 132, 84), (110, 124, 76)),
}


@dataclass(frozen=True)
class Stage:
    """The canvas with what all painters need to agree on.

    Parameters
    ----------
    canvas : Canvas
        Where to paint.
    plan : ScenePlan
        What to paint.
    horizon, shore : arrays of shape (1, width)
        Where the ground begins, and where the foreground begins (below sea or lake).
    air : Colour
        The colour of the sky at the horizon; far things fade into it.
    glare : float
        Where along the picture the sun or the moon stands.
    lane : (float, float, float)
        Where a road leaves the picture below, where it meets the horizon, and how far it bends between.
    """

    canvas: Canvas
    plan: ScenePlan
    horizon: Singles
    shore: Singles
    air: Colour
    glare: float
    lane: tuple[float, float, float]

    def lit(self, colour: Colour, distance: float = 0.0) -> Colour:
        """Return how a colour looks in this light and from this distance (0 near, 1 lost in the air)."""
        light = _LIGHT[self.plan.light]
        seen = (colour[0] * light[0], colour[1] * light[1], colour[2] * light[2])
        if self.plan.overcast:
            grey = (seen[0] + seen[1] + seen[2]) / 3
            seen = mix(seen, (grey, grey, grey), 0.3)
        return mix(seen, self.air, distance)

    def horizon_at(self, x: float) -> float:
        """Return the height of the horizon at x."""
        column = min(self.canvas.width - 1, max(0, int(x * self.canvas.unit)))
        return float(self.horizon[0, column])

    def shore_at(self, x: float) -> float:
        """Return the height at which the foreground begins at x."""
        column = min(self.canvas.width - 1, max(0, int(x * self.canvas.unit)))
        return float(self.shore[0, column])

    def textured(self, colour: Colour, texture: Singles, strength: float) -> Singles:
        """Return an array of one colour made lighter and darker by a texture in [-1, 1]."""
        shading = 1 + texture * np.float32(strength)
        shaded: Singles = shading * np.asarray(colour, dtype=np.float32)[:, None, None]
        return shaded


def paint_sky(stage: Stage, random: Random) -> None:
    """Paint a gradient from the zenith to the horizon; without a sky, leaves out of focus."""
    canvas, plan = stage.canvas, stage.plan
    if plan.enclosed:
        leaf = stage.lit(random.shade(mix(random.pick(LEAVES[plan.season]), (70, 90, 60), 0.4), 25))
        canvas.pixels[...] = stage.textured(leaf, canvas.noise(random, random.between(0.12, 0.3), 2), 0.45)
        return
    zenith: Colour = {
        "day": random.pick([(64, 122, 204), (88, 150, 220), (40, 96, 180), (120, 164, 210)]),
        "sunset": random.pick([(70, 72, 130), (110, 84, 120), (46, 60, 110), (150, 100, 110)]),
        "night": random.pick([(12, 15, 36), (20, 26, 56), (26, 24, 44)]),
    }[plan.light]
    if plan.overcast:
        grey = sum(zenith) / 3 * random.between(0.9, 1.25)
        zenith = mix(zenith, (grey, grey, grey * 1.04), 0.8)
    height = np.float32(plan.horizon * canvas.bottom)
    step = np.clip(canvas.y / height, 0, 1)
    top, bottom = (np.asarray(colour, dtype=np.float32)[:, None, None] for colour in (zenith, stage.air))
    canvas.pixels[...] = top + (bottom - top) * step * step
    if plan.light == "sunset":
        warm = random.pick([(255, 150, 60), (250, 110, 70), (255, 190, 100)])
        canvas.glow(stage.glare, float(height), random.between(0.7, 1.2), warm, 0.75)


def paint_stars(stage: Stage, random: Random) -> None:
    """Scatter points of light over the sky."""
    canvas = stage.canvas
    n_stars = random.count(40, 110)
    places = random.uniform(3, n_stars)
    rows = (places[0] * np.float32(stage.plan.horizon * canvas.height * 0.95)).astype(np.intp)
    columns = (places[1] * np.float32(canvas.width)).astype(np.intp)
    brightness = np.float32(90) + np.float32(165) * places[2] * places[2]
    canvas.pixels[:, rows, columns] = np.maximum(canvas.pixels[:, rows, columns], brightness)
    for x, y in random.uniform(random.count(3, 9), 2).tolist():
        canvas.ellipse(x * canvas.right, y * stage.plan.horizon * canvas.bottom * 0.8, 0.008, 0.008, (240, 240, 250))


def paint_moon(stage: Stage, random: Random) -> None:
    """Paint a full moon or a crescent with a faint glow."""
    canvas = stage.canvas
    radius = random.between(0.025, 0.06)
    x, y = stage.glare, random.between(0.14, 0.3) * stage.plan.horizon * canvas.bottom
    canvas.glow(x, y, radius * 4, (150, 160, 190), 0.35)
    behind = canvas.pixels[:, min(canvas.height - 1, int(y * canvas.unit)), 0].tolist()
    canvas.ellipse(x, y, radius, radius, random.shade((236, 232, 212), 10))
    if random.chance(0.5):
        canvas.ellipse(x + radius * random.pick([-0.5, 0.5]), y - radius * 0.15, radius * 0.9, radius * 0.9, behind)


def paint_sun(stage: Stage, random: Random) -> None:
    """Paint the sun: high and white by day, low and orange in the evening."""
    canvas, plan = stage.canvas, stage.plan
    top = plan.horizon * canvas.bottom
    radius = random.between(0.03, 0.065)
    evening = plan.light == "sunset"
    height = random.between(0.72, 0.9) if evening and not plan.tags & _TALL else random.between(0.14, 0.3)
    glow: Colour = (255, 190, 110) if evening else (255, 250, 228)
    canvas.glow(stage.glare, top * height, radius * 6, glow, 0.7)
    canvas.ellipse(stage.glare, top * height, radius, radius, random.pick(_LOW_SUN) if evening else _HIGH_SUN)


def paint_cloud(stage: Stage, random: Random) -> None:
    """Lay clouds over the sky: heaps, veils or a closed cover."""
    canvas, plan = stage.canvas, stage.plan
    colour = {"day": (246, 247, 250), "sunset": random.pick([(240, 150, 120), (120, 84, 100)]), "night": (52, 56, 72)}
    cell, stretch = random.between(0.16, 0.4), random.between(1.4, 3.5)
    field = canvas.noise(random, cell, 4, stretch)
    threshold = random.between(-0.25, 0.0) if plan.overcast else random.between(-0.05, 0.15)
    cover = np.clip((field - np.float32(threshold)) * np.float32(random.between(2.0, 5.0)), 0, 1)
    shade = stage.textured(colour[plan.light], np.clip(-field, -1, 0.4), -0.12 if plan.overcast else 0.12)
    fade = np.clip((stage.horizon - canvas.y) * np.float32(6), 0.15, 1)
    canvas.blend(cover * fade * np.float32(0.92), shade)


def paint_mountain(stage: Stage, random: Random) -> None:
    """Raise one to three ranges, the nearer the lower and the darker; snow on summits where the plan says so."""
    canvas, plan = stage.canvas, stage.plan
    rock = random.pick([(104, 100, 104), (112, 96, 84), (84, 98, 92), (96, 104, 124)])
    n_ranges = random.count(1, 3)
    rise = random.between(0.5, 0.85) * plan.horizon * canvas.bottom
    for number in range(n_ranges):
        line = smooth_line(random, canvas.width, random.count(2, 4), 5)
        height = np.float32(rise * (1 - 0.3 * number)) * (np.float32(0.55) + np.float32(0.33) * line)
        # Scaled and not cut, because a cut would make table mountains.
        height *= np.float32(min(1.0, _TALLEST * plan.horizon * canvas.bottom / float(height.max())))
        crest = stage.horizon - np.maximum(height, np.float32(0.04))
        texture = canvas.noise(random, 0.09, 3, 0.6)
        colour = stage.lit(random.shade(rock, 8), 0.55 - 0.2 * number)
        mask = canvas.below(crest)
        canvas.blend(mask, stage.textured(colour, texture, 0.28))
        if "snow" in plan.tags and number == 0:
            depth = (canvas.y - crest) * np.float32(1 / max(rise, 0.05)) + texture * np.float32(0.16)
            white = np.clip((np.float32(random.between(0.2, 0.42)) - depth) * np.float32(12), 0, 1) * mask
            canvas.blend(white, stage.textured(stage.lit((240, 243, 250), 0.12), texture, 0.08))


def paint_city(stage: Stage, random: Random) -> None:
    """Set a skyline of two rows of buildings on the horizon, with windows."""
    canvas, night = stage.canvas, stage.plan.light == "night"
    near = stage.plan.place == "town"
    for distance in (0.5, 0.12):
        x = -0.05
        while x < canvas.right:
            width = random.between(0.05, 0.14) * (1.0 if near else 0.5)
            height = random.between(0.09, _TALLEST) * (1.0 if near else 0.4) * stage.plan.horizon * canvas.bottom
            wall = random.pick([(128, 128, 136), (158, 146, 132), (96, 104, 118), (150, 110, 92), (186, 182, 176)])
            base = stage.horizon_at(x + width / 2) + 0.02
            canvas.rectangle(x, base - height, x + width, base, stage.lit(random.shade(wall), distance))
            lamp = random.pick([(250, 214, 130), (240, 230, 190)]) if night else stage.lit((70, 82, 100), distance)
            _paint_windows(stage, random, (x, base - height, x + width, base), lamp, 0.45 if night else 0.8)
            x += width * random.between(0.8, 1.4)


def _paint_windows(
    stage: Stage, random: Random, box: tuple[float, float, float, float], lamp: Colour, share: float
) -> None:
    """Put a grid of windows on a wall, a share of them seen."""
    canvas = stage.canvas
    window = canvas.window(*box)
    x, y = canvas.x[:, window[1]] - np.float32(box[0]), canvas.y[window[0]] - np.float32(box[1])
    if x.size == 0 or y.size == 0:
        return
    pitch = np.float32(random.between(0.02, 0.032))
    across, down = x / pitch, y / (pitch * np.float32(1.3))
    column, row = np.floor(across).astype(np.intp), np.floor(down).astype(np.intp)
    seen = random.uniform(64, 64) < share
    inside = (across - column > 0.3) & (across - column < 0.8) & (down - row > 0.3) & (down - row < 0.75)
    inside &= (x > pitch * np.float32(0.3)) & (x < np.float32(box[2] - box[0]) - pitch * np.float32(0.3)) & (y > 0)
    canvas.blend((inside & seen[row % 64, column % 64]).astype(np.float32) * np.float32(0.85), lamp, window)


def paint_forest(stage: Stage, random: Random) -> None:
    """Line up trees by the hundred along the horizon, or trunks all around."""
    if stage.plan.enclosed:
        _paint_trunks(stage, random)
        return
    canvas, plan = stage.canvas, stage.plan
    pointed = random.chance(0.6)
    tall = random.between(0.2, 0.5) if plan.place == "woods" else random.between(0.1, 0.2)
    tall *= plan.horizon * canvas.bottom
    for number, distance in enumerate((0.35, 0.15, 0.0)):
        n_trees = random.count(25, 45)
        places = random.uniform(3, n_trees, 1)
        gap = np.abs(canvas.x - places[0] * np.float32(canvas.right))
        height = np.float32(tall) * (np.float32(0.6) + np.float32(0.6) * places[1])
        width = height * (np.float32(0.22) + np.float32(0.1) * places[2])
        ratio = gap / width
        crowns = height * (1 - ratio * (1 if pointed else ratio * np.float32(0.6)))
        crest = stage.horizon - np.max(crowns, axis=0)[None, :] + np.float32(0.03 * number)
        leaf = random.shade(mix(random.pick(LEAVES[plan.season]), (40, 70, 50), 0.5 if pointed else 0.1))
        texture = canvas.noise(random, 0.03, 2, 0.7)
        base = np.clip((stage.horizon + np.float32(0.03 + 0.03 * number) - canvas.y) * np.float32(30), 0, 1)
        canvas.blend(canvas.below(crest) * base, stage.textured(stage.lit(leaf, distance), texture, 0.45))


def _paint_trunks(stage: Stage, random: Random) -> None:
    """Stand trunks from the top to the bottom of an enclosed view, far ones first."""
    canvas, plan = stage.canvas, stage.plan
    bark = random.pick([(84, 66, 50), (110, 96, 84), (60, 52, 46), (190, 186, 176)])
    grain = canvas.noise(random, 0.02, 2, 0.4)
    for number in range(random.count(12, 26)):
        nearness = number / 26
        half = 0.008 + 0.035 * nearness * random.between(0.6, 1.3)
        x, lean = random.between(0, canvas.right), random.between(-0.05, 0.05)
        foot = (0.62 + 0.4 * nearness) * canvas.bottom
        inside = np.float32(half) - np.abs(canvas.x - np.float32(x) - canvas.y * np.float32(lean))
        mask = np.clip(inside * np.float32(canvas.unit) + 0.5, 0, 1) * (1 - canvas.below(foot))
        canvas.blend(mask, stage.textured(stage.lit(random.shade(bark), 0.4 * (1 - nearness)), grain, 0.35))
    leaf = stage.lit(random.shade(random.pick(LEAVES[plan.season])))
    crown = np.clip((canvas.noise(random, 0.08, 3) + np.float32(0.55) - canvas.y * np.float32(1.6)) * 4, 0, 1)
    canvas.blend(crown * np.float32(0.85), stage.textured(leaf, grain, 0.5))


def paint_ground(stage: Stage, random: Random) -> None:
    """Paint bare earth, pavement or forest floor up to the horizon."""
    canvas, plan = stage.canvas, stage.plan
    earth: Colour = (
        (128, 124, 128) if plan.place in ("town", "village") else random.pick([(122, 100, 76), (104, 92, 76)])
    )
    if plan.enclosed:
        earth = mix(earth, random.pick(LEAVES[plan.season]), 0.5)
    texture = canvas.noise(random, 0.06, 3, 2.5)
    top = stage.shore if "sea" in plan.tags else stage.horizon
    canvas.blend(canvas.below(top), stage.textured(stage.lit(random.shade(earth)), texture, 0.2))


def paint_sea(stage: Stage, random: Random) -> None:
    """Fill from the horizon down with waves that grow towards the viewer; light glitters under sun and moon."""
    canvas, plan = stage.canvas, stage.plan
    water = random.pick([(36, 108, 150), (44, 132, 142), (56, 108, 132), (26, 92, 122), (84, 126, 134)])
    colour = mix(stage.lit(random.shade(water)), stage.air, random.between(0.1, 0.4))
    waves = canvas.noise(random, random.between(0.03, 0.06), 2, random.between(4.0, 8.0))
    depth = np.clip((canvas.y - stage.horizon) * np.float32(2.5), 0.15, 1)
    canvas.blend(canvas.below(stage.horizon), stage.textured(colour, waves * depth, 0.35))
    if plan.tags & {"sun", "moon", "sunset"}:
        lane = np.clip(1 - np.abs(canvas.x - np.float32(stage.glare)) * np.float32(6) / (depth + np.float32(0.3)), 0, 1)
        sparkle = np.clip(waves * 3, 0, 1) * lane * canvas.below(stage.horizon) * np.float32(0.8)
        canvas.blend(sparkle, (255, 226, 170) if plan.light != "night" else (180, 186, 205))


def paint_lake(stage: Stage, random: Random) -> None:
    """Lay still water before the far shore, mirroring what stands above it."""
    canvas = stage.canvas
    near = stage.shore - np.float32(0.02) * smooth_line(random, canvas.width, 4, 2)
    mask = canvas.below(stage.horizon + np.float32(0.012)) * (1 - canvas.below(near))
    rows = np.arange(canvas.height)
    middle = int(stage.plan.horizon * canvas.height)
    mirror = canvas.pixels[:, np.clip(2 * middle - rows, 0, canvas.height - 1)]
    ripples = canvas.noise(random, 0.03, 2, 7.0)
    tint = np.asarray(stage.lit(random.pick([(60, 100, 120), (70, 110, 104), (50, 80, 120)])), dtype=np.float32)[
        :, None, None
    ]
    water = (mirror * np.float32(0.55) + tint * np.float32(0.45)) * (1 + np.float32(0.12) * ripples)
    canvas.blend(mask, water)


def paint_beach(stage: Stage, random: Random) -> None:
    """Spread sand below the shore line, wet and foamy at its edge."""
    canvas = stage.canvas
    sand = random.pick([(218, 196, 150), (196, 172, 130), (230, 214, 180), (170, 150, 126)])
    grain = canvas.noise(random, 0.02, 2, 2.0)
    canvas.blend(canvas.below(stage.shore), stage.textured(stage.lit(random.shade(sand, 8)), grain, 0.12))
    wet = np.clip(1 - np.abs(canvas.y - stage.shore - np.float32(0.02)) * np.float32(30), 0, 1)
    canvas.blend(wet * np.float32(0.5), stage.lit((130, 116, 96)))
    foam = np.clip(1 - np.abs(canvas.y - stage.shore + grain * np.float32(0.01)) * np.float32(70), 0, 1)
    canvas.blend(foam * np.float32(0.85), stage.lit((240, 244, 246)))


def paint_grass(stage: Stage, random: Random) -> None:
    """Cover the foreground with blades, finer in the distance."""
    canvas = stage.canvas
    green = random.shade(random.pick(_GRASS[stage.plan.season]), 14)
    depth = np.clip((canvas.y - stage.shore) * np.float32(1.6), 0.1, 1)
    blades = canvas.noise(random, 0.03, 2, 0.35) * depth + canvas.noise(random, 0.3, 1, 3.0) * np.float32(0.5)
    canvas.blend(canvas.below(stage.shore), stage.textured(stage.lit(green), blades, 0.38))


def paint_snow(stage: Stage, random: Random) -> None:
    """Cover the foreground with snow (summits get theirs with the mountains)."""
    if not stage.plan.snowy_ground:
        return
    canvas = stage.canvas
    drifts = canvas.noise(random, 0.25, 3, 3.0)
    white = stage.textured(stage.lit(random.pick([(236, 240, 248), (222, 230, 244), (244, 243, 240)])), drifts, 0.09)
    patches = np.clip((canvas.noise(random, 0.12, 2, 2.0) + np.float32(random.between(0.45, 1.0))) * 5, 0, 1)
    canvas.blend(canvas.below(stage.shore) * patches, white)
