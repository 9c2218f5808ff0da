"""Tag a few photos, and tagloom tags the rest.

Public names load lazily, so that ``import tagloom`` and ``tagloom --help`` stay light.
"""

import lazy_loader

from tagloom._version import __version__

__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *_names]
