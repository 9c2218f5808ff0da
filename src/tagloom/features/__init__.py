"""Features of photos: descriptors, their registry, the extraction engine and the scaling of feature groups.

Public names load lazily: scikit-learn, OpenCV and onnxruntime are imported by what needs them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
