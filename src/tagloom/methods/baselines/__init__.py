"""Baselines: the plain methods that every other one has to beat. Names load when they are first asked for."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
