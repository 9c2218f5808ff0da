"""What the names of tags say of photos before any is labelled, and beside few labels."""
