"""SFSS: what is no table of scores."""
