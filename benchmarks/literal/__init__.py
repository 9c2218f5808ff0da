"""The papers' algorithms as printed: dense, vectorised NumPy, nothing clever.

They are what "literal" means in the timings and one of the oracles in the tests. One file per algorithm; a function
takes plain arrays, returns plain arrays, and each line that is an equation of the paper says which.
"""
