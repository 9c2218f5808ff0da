"""Exports read back by the programs they are for."""
