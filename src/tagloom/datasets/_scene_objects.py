"""The near parts of a made-up scene: road, houses, trees, flowers, boats, cars, birds and fog."""

import numpy as np

from tagloom.datasets._canvas import Colour, Random, mix
from tagloom.datasets._scene_backdrop import LEAVES, Stage

__all__ = [
    "paint_bird",
    "paint_boat",
    "paint_car",
    "paint_flower",
    "paint_fog",
    "paint_house",
    "paint_road",
    "paint_tree",
]

# Directions around a circle, written out because sines differ between machines in the last bit.
_AROUND = (
    (1.0, 0.0), (0.809, 0.588), (0.309, 0.951), (-0.309, 0.951), (-0.809, 0.588),
    (-1.0, 0.0), (-0.809, -0.588), (-0.309, -0.951), (0.309, -0.951), (0.809, -0.588),
)  # fmt: skip
_PAINT: tuple[Colour, ...] = (
    (196, 44, 40),
    (40, 84, 160),
    (232, 232, 228),
    (44, 46, 52),
    (226, 180, 50),
    (70, 130, 90),
)
_PETALS: tuple[Colour, ...] = (
    (216, 50, 56),
    (240, 200, 60),
    (236, 236, 240),
    (170, 90, 180),
    (240, 130, 160),
    (90, 110, 210),
)


def _standing_place(stage: Stage, random: Random, near: float) -> tuple[float, float, float]:
    """Return x, y of a foot on the foreground and the size of things there (1 at the lower border)."""
    canvas = stage.canvas
    x = random.between(0.06, 0.94) * canvas.right
    top = stage.shore_at(x)
    share = random.between(0.04, near)
    y = top + share * (canvas.bottom - top)
    return x, y, 0.3 + 0.7 * share


def paint_road(stage: Stage, random: Random) -> None:
    """Lay a road from the lower border to the horizon, or across the picture."""
    canvas, plan = stage.canvas, stage.plan
    dirt = plan.place in ("woods", "meadow") and random.chance(0.6)
    grey = stage.lit(random.shade((150, 128, 98) if dirt else (92, 92, 98)))
    texture = stage.textured(grey, canvas.noise(random, 0.04, 2, 1.5), 0.12)
    start, end, swing = stage.lane
    top = stage.shore_at(end)
    along = np.clip((canvas.y - np.float32(top)) / np.float32(max(0.05, canvas.bottom - top)), 0, 1)
    bend = np.float32(swing) * along * (1 - along) * 4
    middle = np.float32(end) + np.float32(start - end) * along + bend
    half = np.float32(0.012) + along * np.float32(random.between(0.14, 0.32))
    inside = np.clip((half - np.abs(canvas.x - middle)) * np.float32(canvas.unit) + 0.5, 0, 1)
    mask = inside * canvas.below(top)
    if plan.snowy_ground:
        mask = mask * np.float32(0.75)
    canvas.blend(mask, texture)
    if not dirt:
        # Dashes shorten towards the horizon because the phase runs with the distance, not with the height.
        phase = np.float32(1.6) / (along + np.float32(0.12))
        dash = (phase - np.floor(phase) < 0.5) * canvas.below(top)
        stripe = np.clip((half * np.float32(0.06) - np.abs(canvas.x - middle)) * np.float32(canvas.unit) + 0.5, 0, 1)
        canvas.blend(dash * stripe, stage.lit((226, 224, 210)))


def paint_house(stage: Stage, random: Random) -> None:
    """Build one to four houses with roof, door and windows."""
    n_houses = random.count(1, 4) if stage.plan.place == "village" else random.count(1, 2)
    near = 0.6 if stage.plan.place == "village" else 0.4
    places = sorted((_standing_place(stage, random, near) for _ in range(n_houses)), key=lambda place: place[1])
    for x, y, size in places:
        _paint_one_house(stage, random, (x, y), size * random.between(0.32, 0.5))


def _paint_one_house(stage: Stage, random: Random, foot: tuple[float, float], width: float) -> None:
    canvas, night = stage.canvas, stage.plan.light == "night"
    x, y = foot
    wall = stage.lit(
        random.shade(random.pick([(226, 214, 190), (198, 120, 90), (236, 236, 232), (150, 110, 84), (210, 190, 120)]))
    )
    roof_colour = (
        (232, 236, 244) if stage.plan.snowy_ground else random.pick([(160, 70, 52), (90, 74, 68), (80, 86, 98)])
    )
    roof, height = stage.lit(random.shade(roof_colour)), width * random.between(0.5, 0.8)
    peak = height * random.between(0.5, 0.9)
    left, right, eaves = x - width / 2, x + width / 2, y - height
    canvas.rectangle(left, eaves, right, y, wall)
    canvas.rectangle(x + width * 0.15, eaves, right, y, mix(wall, (20, 20, 30), 0.18))
    if random.chance(0.5):
        canvas.rectangle(x + width * 0.2, eaves - peak, x + width * 0.3, eaves, mix(roof, (40, 30, 30), 0.4))
    overhang = width * 0.08
    if random.chance(0.6):
        corners = [(left - overhang, eaves), (x, eaves - peak), (right + overhang, eaves)]
    else:
        corners = [(left - overhang, eaves), (left + width * 0.15, eaves - peak * 0.8),
                   (right - width * 0.15, eaves - peak * 0.8), (right + overhang, eaves)]  # fmt: skip
    canvas.polygon(corners, roof)
    glass = (252, 214, 120) if night else stage.lit((72, 88, 108))
    canvas.rectangle(x - width * 0.08, y - height * 0.5, x + width * 0.08, y, stage.lit((96, 64, 44)))
    for offset in (-0.34, 0.22):
        canvas.rectangle(x + width * offset, y - height * 0.75, x + width * (offset + 0.16), y - height * 0.4, glass)


def paint_tree(stage: Stage, random: Random) -> None:
    """Plant one to six trees: broad, pointed, or palms on a beach."""
    palm = "beach" in stage.plan.tags
    n_trees = random.count(1, 3) if palm else random.count(1, 6)
    pointed = random.chance(0.35)
    places = sorted((_standing_place(stage, random, 0.5) for _ in range(n_trees)), key=lambda place: place[1])
    for x, y, size in places:
        height = size * random.between(0.35, 0.7)
        if palm:
            _paint_palm(stage, random, (x, y), height)
        elif pointed:
            _paint_conifer(stage, random, (x, y), height)
        else:
            _paint_broadleaf(stage, random, (x, y), height)


def _paint_broadleaf(stage: Stage, random: Random, foot: tuple[float, float], height: float) -> None:
    canvas, (x, y) = stage.canvas, foot
    bark = stage.lit(random.shade((92, 72, 56)))
    canvas.polygon(
        [(x - height * 0.025, y - height * 0.6), (x + height * 0.025, y - height * 0.6), (x + height * 0.05, y),
         (x - height * 0.05, y)],
        bark,
    )  # fmt: skip
    leaf = random.shade(random.pick(LEAVES[stage.plan.season]), 14)
    bare = 0.45 if stage.plan.season == "winter" else 1.0
    for number in range(random.count(14, 22)):
        dx, dy = random.between(-0.25, 0.25) * height, random.between(-0.22, 0.24) * height
        radius = random.between(0.07, 0.15) * height
        # Lower and later leaves lie in shadow, upper ones in the light.
        tone = mix(random.shade(leaf, 10), (20, 30, 20), 0.35 if dy > 0 else 0.0 if number % 2 else 0.15)
        canvas.ellipse(x + dx, y - height * 0.68 + dy, radius, radius * 0.8, stage.lit(tone), bare)


def _paint_conifer(stage: Stage, random: Random, foot: tuple[float, float], height: float) -> None:
    canvas, (x, y) = stage.canvas, foot
    canvas.rectangle(x - height * 0.03, y - height * 0.15, x + height * 0.03, y, stage.lit((84, 66, 50)))
    needle = random.shade((38, 78, 56))
    for number in range(5):
        base, top = y - height * (0.1 + 0.16 * number), y - height * (0.42 + 0.145 * number)
        half = height * (0.24 - 0.042 * number)
        shade = stage.lit(mix(needle, (10, 20, 20), 0.1 * (number % 2)))
        canvas.polygon([(x - half, base), (x, top), (x + half, base)], shade)
        if stage.plan.snowy_ground:
            canvas.polygon([(x - half * 0.6, base - height * 0.1), (x, top), (x + half * 0.5, base - height * 0.12)],
                           stage.lit((226, 232, 240)), 0.8)  # fmt: skip


def _paint_palm(stage: Stage, random: Random, foot: tuple[float, float], height: float) -> None:
    canvas, (x, y) = stage.canvas, foot
    lean = random.between(-0.25, 0.25) * height
    top_x, top_y = x + lean, y - height
    canvas.polygon(
        [(top_x - 0.008, top_y), (top_x + 0.008, top_y), (x + 0.02, y), (x - 0.02, y)], stage.lit((120, 94, 66))
    )
    leaf = random.shade((60, 110, 50))
    for dx, dy in _AROUND:
        length = height * random.between(0.3, 0.42)
        tip_x, tip_y = top_x + dx * length, top_y + (dy * 0.55 + 0.22) * length
        side_x, side_y = -dy * 0.07 * length, dx * 0.09 * length + 0.01
        middle_x, middle_y = (top_x + tip_x) / 2, (top_y + tip_y) / 2 - 0.06 * height
        corners = [
            (top_x, top_y),
            (middle_x - side_x, middle_y - side_y),
            (tip_x, tip_y),
            (middle_x + side_x, middle_y + side_y),
        ]
        canvas.polygon(_clockwise(corners), stage.lit(random.shade(leaf, 10)))


def _clockwise(corners: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners in the order `Canvas.polygon` wants."""
    following = [*corners[1:], corners[0]]
    area = sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in zip(corners, following, strict=True))
    return corners if area > 0 else corners[::-1]


def paint_flower(stage: Stage, random: Random) -> None:
    """Strew flowers over the grass; in a close-up a few large ones."""
    canvas, close = stage.canvas, stage.plan.place == "close-up"
    petals = [random.pick(_PETALS) for _ in range(random.count(1, 3))]
    if close:
        for _ in range(random.count(1, 4)):
            x, y = random.between(0.15, 0.85) * canvas.right, random.between(0.2, 0.75) * canvas.bottom
            _paint_blossom(stage, random, (x, y), random.between(0.12, 0.26), random.pick(petals))
        return
    for x, y, size in sorted(
        (_standing_place(stage, random, 1.0) for _ in range(random.count(30, 70))), key=lambda p: p[1]
    ):
        radius = size * random.between(0.008, 0.022)
        canvas.ellipse(x, y, radius * 1.2, radius, stage.lit(random.shade(random.pick(petals))))
        canvas.ellipse(x, y, radius * 0.35, radius * 0.35, stage.lit((230, 190, 60)))


def _paint_blossom(stage: Stage, random: Random, centre: tuple[float, float], radius: float, petal: Colour) -> None:
    canvas, (x, y) = stage.canvas, centre
    canvas.polygon(
        [(x - 0.01, y), (x + 0.01, y), (x + 0.02, canvas.bottom), (x - 0.01, canvas.bottom)], stage.lit((70, 120, 50))
    )
    squash = random.between(0.6, 1.0)
    for dx, dy in _AROUND:
        tone = stage.lit(random.shade(petal, 16))
        canvas.ellipse(
            x + dx * radius * 0.6, y + dy * radius * 0.6 * squash, radius * 0.42, radius * 0.36 * squash, tone
        )
    heart = random.pick([(220, 170, 40), (90, 60, 40), (240, 220, 120)])
    canvas.ellipse(x, y, radius * 0.32, radius * 0.3 * squash, stage.lit(heart))


def paint_boat(stage: Stage, random: Random) -> None:
    """Float one to three boats, with sails or without."""
    canvas = stage.canvas
    for _ in range(random.count(1, 3)):
        x = random.between(0.1, 0.9) * canvas.right
        top, bottom = stage.horizon_at(x), min(stage.shore_at(x), canvas.bottom)
        share = random.between(0.1, 0.6)
        y, length = top + share * (bottom - top), random.between(0.12, 0.22) * (0.6 + share)
        hull = stage.lit(random.shade(random.pick(_PAINT)))
        if random.chance(0.7):
            _paint_sails(stage, random, (x, y), length)
        else:
            canvas.rectangle(x - length * 0.2, y - length * 0.3, x + length * 0.2, y, stage.lit((232, 232, 230)))
        deck, keel = y - length * 0.06, y + length * 0.12
        stern, bow = x - length / 2, x + length / 2
        canvas.polygon([(stern, deck), (bow, deck), (bow - length * 0.14, keel), (stern + length * 0.14, keel)], hull)


def _paint_sails(stage: Stage, random: Random, foot: tuple[float, float], length: float) -> None:
    canvas, (x, y) = stage.canvas, foot
    sail = stage.lit(random.pick([(244, 242, 234), (236, 226, 200), (204, 70, 56)]))
    tall, boom = length * random.between(0.9, 1.4), y - length * 0.12
    canvas.rectangle(x - 0.004, y - tall, x + 0.004, y, stage.lit((90, 70, 50)))
    canvas.polygon([(x + 0.008, y - tall), (x + length * 0.45, boom), (x + 0.008, boom)], sail)
    canvas.polygon(
        [(x - length * 0.35, boom), (x - 0.008, y - tall * 0.85), (x - 0.008, boom)], mix(sail, (90, 90, 110), 0.2)
    )


def paint_car(stage: Stage, random: Random) -> None:
    """Put one to three cars on the road or beside it."""
    canvas, night = stage.canvas, stage.plan.light == "night"
    start, end, swing = stage.lane
    top = stage.shore_at(end)
    for share in sorted(random.between(0.12, 0.7) for _ in range(random.count(1, 3))):
        x = end + (start - end) * share + swing * share * (1 - share) * 4 + random.between(-0.12, 0.12) * (0.3 + share)
        y, size = top + share * (canvas.bottom - top), 0.3 + 0.7 * share
        length = size * random.between(0.2, 0.32)
        body = stage.lit(random.shade(random.pick(_PAINT)))
        canvas.ellipse(x, y, length * 0.55, length * 0.06, stage.lit((30, 30, 34)), 0.6)
        roof, waist, sill = y - length * 0.42, y - length * 0.26, y - length * 0.07
        left, right = x - length * 0.22, x + length * 0.16
        glass = [(left, roof), (right, roof), (right + length * 0.16, waist), (left - length * 0.12, waist)]
        canvas.polygon(glass, stage.lit((60, 74, 92)))
        canvas.rectangle(x - length * 0.5, waist, x + length * 0.5, sill, body)
        canvas.rectangle(left, roof - length * 0.02, right, roof + length * 0.03, body)
        for wheel in (-0.28, 0.28):
            canvas.ellipse(x + wheel * length, sill, length * 0.09, length * 0.09, stage.lit((28, 28, 30)))
        if night:
            canvas.glow(x + length * 0.5, waist + length * 0.06, length * 0.4, (255, 244, 200), 0.9)


def paint_bird(stage: Stage, random: Random) -> None:
    """Let a few birds fly before the sky."""
    canvas = stage.canvas
    # Pale birds would be lost before clouds and in fog.
    dark = random.chance(0.7) or bool(stage.plan.tags & {"cloud", "fog"})
    for _ in range(random.count(2, 7)):
        x, y = random.between(0.08, 0.92) * canvas.right, random.between(0.1, 0.5) * stage.plan.horizon * canvas.bottom
        span = random.between(0.03, 0.07)
        lift = span * random.between(0.25, 0.6)
        colour = (40, 40, 46) if dark else (236, 238, 240)
        for side in (-1, 1):
            wing = [(x, y), (x + side * span * 0.5, y - lift), (x + side * span, y - lift * 0.6),
                    (x + side * span * 0.5, y - lift + span * 0.14)]  # fmt: skip
            canvas.polygon(_clockwise(wing), stage.lit(colour) if dark else colour)
        canvas.ellipse(x, y + span * 0.03, span * 0.14, span * 0.07, stage.lit(colour) if dark else colour)


def paint_fog(stage: Stage, random: Random) -> None:
    """Draw a veil over everything, densest around the horizon."""
    canvas = stage.canvas
    veil = canvas.noise(random, 0.3, 3, 3.0)
    distance = np.abs(canvas.y - stage.horizon)
    density = (
        np.float32(random.between(0.62, 0.85))
        - distance * np.float32(random.between(0.3, 0.7))
        + veil * np.float32(0.12)
    )
    light = {"day": (206, 210, 214), "sunset": (206, 172, 156), "night": (58, 62, 74)}[stage.plan.light]
    canvas.blend(np.clip(density, 0.1, 0.9), random.shade(light, 8))
