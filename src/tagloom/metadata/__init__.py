"""Keywords in and out: labels files, keywords in photos and sidecars, dataset formats.

Names load when they are first asked for. Dataset formats are in `tagloom.metadata.formats`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
