"""The Laplacian topic model (Shao et al. 2009): Fig. 2, its smoothing, Fig. 3."""
