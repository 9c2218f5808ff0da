"""What tagloom keeps on disk: SQLite for what a person decided, array shards for features, thumbnails beside them.

Names load when they are first asked for, so that recording a decision stays light.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
