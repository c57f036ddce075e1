"""Descriptors as models of ONNX, and ONNX Runtime as a backend that runs them."""
