"""The session behind the review page, without HTTP."""
