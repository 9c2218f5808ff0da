"""Other tools, each in an environment of its own: NAME.txt lists its packages, NAME.py holds what is timed."""
