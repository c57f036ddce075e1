"""ONNX Runtime as a backend: each descriptor becomes a model of one or a few nodes, which it runs.

It decides nothing: DirectML's rules are not ONNX's. What it claims is to compute every descriptor that `forms` has a
form of.
"""

from __future__ import annotations

import platform

try:
    import onnx
    import onnxruntime
except ImportError as error:
    raise ImportError(
        "the onnxruntime backend needs onnx and ONNX Runtime; run: pip install 'dml-conformance[onnxruntime]'"
    ) from error

from dml_conformance.backends.base import Answer, Bindings, Capabilities
from dml_conformance.backends.onnxruntime.forms import form_of, mapped_operators
from dml_conformance.backends.onnxruntime.memory import read, write
from dml_conformance.backends.onnxruntime.models import Sessions
from dml_conformance.spec.descriptor import OperatorDesc, tensor_at
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category
from dml_conformance.spec.tensor import TensorDesc

PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "dml": "DmlExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
}
# In full precision, which CUDA's is not unless it is asked for.
OPTIONS = {"cuda": {"use_tf32": "0"}}
FALLBACK = "and ONNX Runtime's CPU provider where it has no kernel"
PACKAGES = {"cuda": "onnxruntime-gpu", "dml": "onnxruntime-directml", "openvino": "onnxruntime-openvino"}


class OnnxRuntimeBackend:
    """The operators that ONNX has, by an execution provider of ONNX Runtime.

    Args:
        device: `cpu`, `cuda`, `dml` or `openvino`; what the provider has no kernel for ONNX Runtime does on the CPU.

    Raises:
        ValueError: there is no such provider, or it is not installed.
    """

    def __init__(self, device: str = "cpu") -> None:
        if device not in PROVIDERS:
            raise ValueError(f"there is no device {device!r}; expected one of {', '.join(PROVIDERS)}")
        self._device, provider = device, PROVIDERS[device]
        if provider not in onnxruntime.get_available_providers():
            raise ValueError(
                f"the installed ONNX Runtime has no {provider}; run: pip install {PACKAGES.get(device, 'onnxruntime')}"
            )
        others = [] if device == "cpu" else [PROVIDERS["cpu"]]
        self._sessions = Sessions([(provider, OPTIONS.get(device, {})), *others])

    def capabilities(self) -> Capabilities:
        return Capabilities(
            name=f"onnxruntime:{self._device}",
            device=f"host processor ({platform.machine()})" if self._device == "cpu" else PROVIDERS[self._device],
            versions={"onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__},
            levels=tuple(Level),
            operators=mapped_operators(),
            enforces=frozenset({Category.EXECUTION}),
            accelerated=self._device != "cpu",
            form="ONNX",
            paths={} if self._device == "cpu" else {"everything": f"{PROVIDERS[self._device]}, {FALLBACK}"},
        )

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        return Answer(True)

    def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        graph = form_of(desc)
        arrays = {
            name: read(inputs[layout.key], _described(desc, layout.key), layout)
            for name, layout in graph.inputs.items()
        }
        found = self._sessions.run(graph, arrays)
        for name, layout in graph.outputs.items():
            write(outputs[layout.key], _described(desc, layout.key), layout, found[name])


def _described(desc: OperatorDesc, key: str) -> TensorDesc:
    tensor = tensor_at(desc, key)
    assert tensor is not None
    return tensor
