"""Projects, photos and files of a stranger who means harm: whatever they hold, nothing outside changes."""
