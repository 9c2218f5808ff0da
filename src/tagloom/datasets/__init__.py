"""Photos and tables with known tags: made-up scenes, toy problems and loaders of public sets."""

from tagloom.datasets._tables import AnnotatedImages
from tagloom.datasets.awa import load_awa_attributes, load_awa_subset
from tagloom.datasets.clips import Clips, make_clips, write_clips
from tagloom.datasets.group_tables import load_kodak, load_msra_mm
from tagloom.datasets.grouped import GroupedRegression, make_grouped_regression
from tagloom.datasets.nus_wide import load_nus_wide
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
from tagloom.datasets.toy import make_arms, make_moons, make_suns

__all__ = [
    "AnnotatedImages",
    "Clips",
    "GroupedRegression",
    "Scenes",
    "load_awa_attributes",
    "load_awa_subset",
    "load_coco_free",
    "load_corel5k",
    "load_corel16k",
    "load_kodak",
    "load_msra_mm",
    "load_msrc_v2",
    "load_multiview_msrc_v1",
    "load_nus_wide",
    "load_scene",
    "load_uci",
    "make_arms",
    "make_clips",
    "make_grouped_regression",
    "make_moons",
    "make_scenes",
    "make_suns",
    "write_clips",
    "write_scenes",
]
