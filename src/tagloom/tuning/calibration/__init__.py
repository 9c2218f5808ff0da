"""From scores to probabilities."""
