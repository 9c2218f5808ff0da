"""What methods and baselines share; no annotator is defined here."""
