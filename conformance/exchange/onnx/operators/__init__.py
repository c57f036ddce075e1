"""The mapping of ONNX's operators, one module a family."""
