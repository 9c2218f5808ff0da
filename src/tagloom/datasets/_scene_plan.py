"""What a made-up photo shows: kinds of places, light, season, and the tags that follow.

A place makes some tags certain and others likely; the light, the weather and the season add theirs. Rules at the end
keep a scene possible (no flowers in the snow, no sun at night), so that tags occur together as they do in albums.
"""

from dataclasses import dataclass

from tagloom.datasets._canvas import Random

__all__ = ["SCENE_TAGS", "ScenePlan", "plan_scene"]

SCENE_TAGS = (
    "beach",
    "bird",
    "boat",
    "car",
    "city",
    "cloud",
    "flower",
    "fog",
    "forest",
    "grass",
    "house",
    "lake",
    "moon",
    "mountain",
    "night",
    "road",
    "sea",
    "sky",
    "snow",
    "stars",
    "sun",
    "sunset",
    "tree",
)

_PLACES: dict[str, float] = {
    "coast": 0.22,
    "highlands": 0.17,
    "meadow": 0.17,
    "woods": 0.12,
    "village": 0.14,
    "town": 0.12,
    "close-up": 0.06,
}

# Chance of each tag in each place; 1 is what makes the place.
_LIKELY: dict[str, dict[str, float]] = {
    "coast": {"sea": 1, "beach": 0.55, "boat": 0.42, "mountain": 0.2, "tree": 0.2, "bird": 0.33, "grass": 0.1},
    "highlands": {"mountain": 1, "lake": 0.3, "forest": 0.4, "grass": 0.5, "house": 0.1, "tree": 0.25, "bird": 0.05},
    "meadow": {"grass": 1, "flower": 0.45, "tree": 0.65, "house": 0.15, "mountain": 0.2, "road": 0.15, "bird": 0.1},
    "woods": {"forest": 1, "road": 0.2, "lake": 0.15, "grass": 0.35, "flower": 0.1, "bird": 0.04},
    "village": {"house": 1, "road": 0.7, "car": 0.4, "tree": 0.65, "grass": 0.55, "flower": 0.12, "mountain": 0.1},
    "town": {"city": 1, "road": 0.8, "car": 0.65, "tree": 0.15, "sea": 0.12, "boat": 0.1, "bird": 0.05},
    "close-up": {"flower": 1, "grass": 0.6},
}  # fmt: skip

_SEASONS = {"spring": 0.25, "summer": 0.38, "autumn": 0.22, "winter": 0.15}


@dataclass(frozen=True)
class ScenePlan:
    """The decisions behind one photo.

    Parameters
    ----------
    place, season : str
        What kind of scene, and when in the year.
    tags : frozenset of str
        What it shows.
    horizon : float
        Height of the horizon as a share of the picture's height from the top.
    tilt : float
        Slope of the horizon: a camera is seldom level.
    portrait : bool
        Whether the camera was held upright.
    enclosed : bool
        Whether the view is shut off by leaves, without horizon and sky.
    overcast : bool
        Whether the sky is grey all over.
    quality : int
        JPEG quality the file is written with.
    """

    place: str
    season: str
    tags: frozenset[str]
    horizon: float
    tilt: float
    portrait: bool
    enclosed: bool
    overcast: bool
    quality: int

    @property
    def light(self) -> str:
        """The time of day: "day", "sunset" or "night"."""
        return "night" if "night" in self.tags else "sunset" if "sunset" in self.tags else "day"

    @property
    def snowy_ground(self) -> bool:
        """Whether snow lies on the ground and not on summits alone."""
        return "snow" in self.tags and (self.season == "winter" or "mountain" not in self.tags)

    @property
    def foreground(self) -> bool:
        """Whether there is land this side of the water."""
        return "sea" not in self.tags or self.snowy_ground or bool(self.tags & {"beach", "grass", "tree", "house"})


def plan_scene(seed: int, index: int) -> ScenePlan:
    """Decide what photo ``index`` of the set ``seed`` shows."""
    random = Random(seed, index, 0)
    place = random.weighted(_PLACES)
    season = random.weighted(_SEASONS)
    enclosed = place == "close-up" or (place == "woods" and random.chance(0.4))
    tags = {tag for tag, chance in _LIKELY[place].items() if random.chance(chance)}
    tags |= _sky_tags(random, place, enclosed)
    if (season == "winter" and place != "close-up") or ("mountain" in tags and random.chance(0.3)):
        tags.add("snow")
    _forbid(tags, season, enclosed)
    return ScenePlan(
        place=place,
        season=season,
        tags=frozenset(tags),
        horizon=random.between(0.34, 0.66),
        tilt=random.between(-0.06, 0.06),
        portrait=random.chance(0.22),
        enclosed=enclosed,
        overcast="fog" in tags or ("cloud" in tags and random.chance(0.35)),
        quality=random.count(72, 93),
    )


def _sky_tags(random: Random, place: str, enclosed: bool) -> set[str]:
    """Draw time of day and weather."""
    if enclosed:
        return {"fog"} if place == "woods" and random.chance(0.25) else set()
    night = 0.34 if place == "town" else 0.15
    light = random.weighted({"day": 0.8 - night, "sunset": 0.28 if place == "coast" else 0.16, "night": night})
    tags = {"sky"} if light == "day" else {"sky", light}
    chances = {
        "day": {"cloud": 0.5, "sun": 0.22, "fog": 0.09},
        "sunset": {"cloud": 0.45, "sun": 0.6, "fog": 0.03},
        "night": {"cloud": 0.2, "moon": 0.5, "stars": 0.6},
    }
    return tags | {tag for tag, chance in chances[light].items() if random.chance(chance)}


def _forbid(tags: set[str], season: str, enclosed: bool) -> None:
    """Take out what cannot be seen together."""
    if "fog" in tags:
        tags -= {"sun", "stars", "moon", "cloud"}
    if season == "winter" and "snow" in tags:
        tags -= {"grass", "flower", "beach"}
    if "sea" not in tags and "lake" not in tags:
        tags.discard("boat")
    if "sea" in tags:
        tags -= {"road", "lake"}
    if "road" not in tags:
        tags.discard("car")
    if "beach" in tags:
        tags -= {"grass", "snow"}
    if enclosed:
        tags -= {"lake", "boat", "bird"}
    if "night" in tags:
        tags -= {"bird", "flower"}
