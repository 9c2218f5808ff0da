"""Features of the sound of videos."""
