"""Kernels: similarities of all pairs of rows, the only home of a dense n × n array."""

from tagloom.kernels.intersection import intersection_kernel
from tagloom.kernels.landmarks import KernelFeatures, choose_landmarks
from tagloom.kernels.matrix import DENSE_BYTES, DENSE_ROWS, Kernel, default_gamma, kernel_matrix, make_kernel
from tagloom.kernels.pairwise import chi2_kernel, linear_kernel, rbf_kernel
from tagloom.kernels.pyramid import level_weights, pyramid_match_kernel

__all__ = [
    "DENSE_BYTES",
    "DENSE_ROWS",
    "Kernel",
    "KernelFeatures",
    "chi2_kernel",
    "choose_landmarks",
    "default_gamma",
    "intersection_kernel",
    "kernel_matrix",
    "level_weights",
    "linear_kernel",
    "make_kernel",
    "pyramid_match_kernel",
    "rbf_kernel",
]
