"""Photos in: finding them, decoding them safely in worker processes, thumbnails and raw EXIF.

Public names load lazily: the decode worker imports modules of this package and must stay free of numerical libraries.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
