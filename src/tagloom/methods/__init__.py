"""Annotators: one file per paper, baselines in a room of their own. Nothing here reads a file.

Names load when they are first asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
