"""Data, methods and studies that only the reproduction of LPSSVM needs."""
