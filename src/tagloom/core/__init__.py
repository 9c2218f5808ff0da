"""What every floor of the house shares: label matrix, feature groups, annotator base, folds, files, progress.

Public names load lazily.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
