"""A project on disk: where it is, which photos and tags are meant, extraction into its store."""
