"""Every figure, from plain arrays or fitted models; the only importer of matplotlib (extra ``plot``).

Each function draws into ``ax``, or into a new figure of its own, and returns the matplotlib ``Axes``: save it with
``ax.figure.savefig("name.svg")``. Nothing is shown, pyplot is not imported and no setting of matplotlib is changed.
``ax.get_label()`` says in words what is drawn, for the alternative text of a picture on a page. Importing this package
does not import matplotlib; drawing without it raises a `tagloom.exceptions.TagloomError` that says what to install.
"""

from tagloom.plotting.curves import plot_curves
from tagloom.plotting.embedding import plot_embedding_classes
from tagloom.plotting.learning_curve import plot_learning_curve
from tagloom.plotting.paths import plot_paths
from tagloom.plotting.reliability import plot_reliability
from tagloom.plotting.selected_groups import plot_selected_groups
from tagloom.plotting.surface import plot_surface
from tagloom.plotting.tag_figures import plot_tag_figures
from tagloom.plotting.tag_groups import plot_tag_groups

__all__ = [
    "plot_curves",
    "plot_embedding_classes",
    "plot_learning_curve",
    "plot_paths",
    "plot_reliability",
    "plot_selected_groups",
    "plot_surface",
    "plot_tag_figures",
    "plot_tag_groups",
]
