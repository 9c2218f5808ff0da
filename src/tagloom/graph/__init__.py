"""Neighbours, weights and Laplacians: the graph that carries tags from photo to photo."""

from tagloom.graph.build import knn_graph
from tagloom.graph.neighbors import nearest_neighbors
from tagloom.graph.shared_words import SharedWordsGraph, shared_words_graph
from tagloom.graph.structure import NeighborGraph, check_graph

__all__ = ["NeighborGraph", "SharedWordsGraph", "check_graph", "knn_graph", "nearest_neighbors", "shared_words_graph"]
