"""Labels to a stored model to suggestions: train, update, score new photos, explain, evaluate, what to label next.

Public names load lazily.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
