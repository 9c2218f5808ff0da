"""Side-by-side timings. A benchmark is a module here with ``main(argv)`` that takes ``--out FILE``."""
