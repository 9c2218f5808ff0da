"""Descriptors of colour, texture, edges and camera facts, each one file."""
