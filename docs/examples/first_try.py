"""The backend of the tutorial: `tile_backend.py` with a fault in the last two lines of `execute`."""

import numpy as np

from dml_conformance import Answer, Capabilities, Category, Level


class TileBackend:
    def capabilities(self):
        claims = frozenset({Category.ATTRIBUTES, Category.SHAPE, Category.EXECUTION})
        return Capabilities("numpy-tile", "host", {"numpy": np.__version__}, tuple(Level), ("TILE",), claims)

    def validate(self, desc, level):
        if desc.input_tensor is None or desc.output_tensor is None or len(desc.repeats) != len(desc.input_tensor.sizes):
            return Answer(False, "a tensor or a repeat is missing")
        sizes = tuple(size * repeat for size, repeat in zip(desc.input_tensor.sizes, desc.repeats, strict=True))
        return Answer(0 not in desc.repeats and sizes == desc.output_tensor.sizes, f"the repeats give {sizes}")

    def execute(self, desc, level, inputs, outputs):
        source = elements(inputs["input_tensor"], desc.input_tensor)
        content = np.tile(source, desc.repeats).tobytes()
        outputs["output_tensor"].view[: len(content)] = np.frombuffer(content, np.uint8)


def elements(binding, tensor):
    """The tensor's elements as bit patterns, where they lie in the bound memory."""
    size = tensor.data_type.size
    strides = [stride * size for stride in tensor.effective_strides]
    return np.ndarray(tensor.sizes, f"<u{size}", binding.view, strides=strides)
