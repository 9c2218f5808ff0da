"""What several baselines share; no annotator is defined here."""
