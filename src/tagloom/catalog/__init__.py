"""A project on disk: where it is, which photos and tags are meant, extraction into its store.

Public names load lazily.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
