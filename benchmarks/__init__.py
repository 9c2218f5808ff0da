"""Reproductions of the papers (`benchmarks.papers`), timings (`benchmarks.speed`) and the pages made from both.

Run from the project root; docs/benchmarks/index.md tells how.
"""
