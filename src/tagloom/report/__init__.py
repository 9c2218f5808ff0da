"""From data to one HTML page."""
