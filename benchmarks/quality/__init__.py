"""How good: accuracy of what tagloom makes, beside what one would take instead. Pages come from JSON."""
