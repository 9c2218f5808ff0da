"""Whole jobs of one command: annotate, extract, demo, doctor, encoders."""
