"""A project and its verbs, one file a verb."""
