"""Kernels: similarities of all pairs of rows, the only home of a dense n × n array."""

from tagloom.kernels.intersection import intersection_kernel
from tagloom.kernels.pyramid import level_weights, pyramid_match_kernel

__all__ = ["intersection_kernel", "level_weights", "pyramid_match_kernel"]
