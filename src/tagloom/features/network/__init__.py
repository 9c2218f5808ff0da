"""Descriptors by neural networks: the bundled one, ONNX encoders of a user, faces."""
