"""What is measured and chosen on a person's own labels: weights, probabilities, figures, explanations, what to label.

Public names load lazily: scikit-learn is imported by what needs it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
