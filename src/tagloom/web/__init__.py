"""The review page: a thin layer of HTTP over `tagloom.review.session`, and static ES modules without a build step."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
