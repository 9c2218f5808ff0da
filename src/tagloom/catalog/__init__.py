"""The rooms of a project on disk: where it is, which photos and tags are meant, and what is read from photos into it."""
