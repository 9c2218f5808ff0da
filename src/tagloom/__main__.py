"""``python -m tagloom``: the same as the command ``tagloom``."""

from tagloom.cli import main

if __name__ == "__main__":
    main()
