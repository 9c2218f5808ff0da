"""Neighbours, weights and Laplacians: the graph that carries tags from photo to photo."""

from tagloom.graph.build import knn_graph
from tagloom.graph.neighbors import nearest_neighbors
from tagloom.graph.structure import NeighborGraph

__all__ = ["NeighborGraph", "knn_graph", "nearest_neighbors"]
