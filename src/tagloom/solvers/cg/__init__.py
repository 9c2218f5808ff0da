"""Block conjugate gradients: many right-hand sides with one matrix.

Public names load lazily.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
