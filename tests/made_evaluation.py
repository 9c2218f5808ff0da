"""An evaluation with every part, and one tag of a hostile name."""

from tagloom.learning.evaluation import Bin, CurvePoint, ModelEvaluation, TagFigures
from tagloom.tuning.evaluation.group_figures import GroupFigure
from tagloom.tuning.evaluation.label_curve import Forecast

EVIL = "</script><img src=x onerror=alert(2)>\"'&"


def make_evaluation(**changes):
    given = {
        "method": "ridge",
        "folds": 5,
        "level": 0.95,
        "n_photos": 100,
        "n_labeled": 40,
        "n_tags": 2,
        "map": 0.5,
        "map_low": 0.4,
        "map_high": 0.6,
        "precision": 0.75,
        "recall": None,
        "tags": (
            TagFigures(EVIL, 10, 30, 0.7, 0.6, 0.8, 0.5, 0.25),
            TagFigures("none", 0, 40, None, None, None, None, None),
        ),
        "reliability": (Bin(0.2, 0.25, 50),),
        "calibration_error": 0.05,
        "curve": (CurvePoint(10, 0.3, 0.2, 0.4), CurvePoint(20, 0.4, 0.3, 0.5), CurvePoint(40, 0.5, 0.4, 0.6)),
        "forecast": Forecast(100, 0.55, 0.05, -0.01, 0.1, True),
        "groups": (GroupFigure("colour & light", 0.4, 0.3, 0.1, 0.05, 0.15),),
        "notes": ("A <b>note</b>.",),
        "seconds": 1.0,
    }
    return ModelEvaluation(**(given | changes))
