"""TKML and wTKML: data, methods and choices of the reproduction."""
