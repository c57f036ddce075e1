"""The layers of ONNX models as descriptors, mapped as ONNX Runtime's DirectML execution provider maps them.

`reading` reads a model without its weights, `graph` walks it with every shape known, `operators/` maps its nodes, one
module a family, and `layers` puts together what comes of it. The package `onnx` is optional, and imported here alone.

Sources: ONNX's operator schemas, asked of the package; of the provider the files in
`onnxruntime/core/providers/dml/DmlExecutionProvider` of microsoft/onnxruntime, for which operators a node becomes and
how its tensors are laid out.
"""
