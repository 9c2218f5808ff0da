"""The annotator that chooses and combines by itself."""
