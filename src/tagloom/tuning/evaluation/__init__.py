"""How good suggestions are, cross-validated on the labels there are."""
