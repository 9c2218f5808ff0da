"""Photos and tables with known tags: made-up scenes, toy problems and loaders of public sets."""

from tagloom.datasets._tables import AnnotatedImages
from tagloom.datasets.public_sets import (
    load_coco_free,
    load_corel5k,
    load_corel16k,
    load_msrc_v2,
    load_multiview_msrc_v1,
    load_scene,
    load_uci,
)
from tagloom.datasets.scenes import Scenes, make_scenes, write_scenes
from tagloom.datasets.toy import make_moons

__all__ = [
    "AnnotatedImages",
    "Scenes",
    "load_coco_free",
    "load_corel5k",
    "load_corel16k",
    "load_msrc_v2",
    "load_multiview_msrc_v1",
    "load_scene",
    "load_uci",
    "make_moons",
    "make_scenes",
    "write_scenes",
]
