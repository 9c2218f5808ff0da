"""Bags of visual words and of region words, with the vocabularies they count."""
