from .annotator import AutoAnnotator as AutoAnnotator, FirstLook as FirstLook
from .model import StackModel as StackModel
from .search import INTERRUPTED as INTERRUPTED, OVER as OVER
from .views import PhotoViews as PhotoViews, smoothed_priors as smoothed_priors
