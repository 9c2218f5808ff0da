"""The probabilities that a project shows, beside the hidden tags."""
