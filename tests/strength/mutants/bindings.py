"""Faults that show only where tensors are bound in some way: each alone, and any two together."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, ClassVar

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import layout
from dml_conformance.spec.levels import Level
from dml_conformance.strategies.values import buffer_size
from strength.mutants.base import Bindings, Mutant, main_output, variant

Where = Callable[[Any, Bindings, Bindings], bool]


def _address(binding: Binding) -> int:
    return binding.view.ctypes.data


def _output(desc: Any, outputs: Bindings) -> Binding:
    return outputs[main_output(desc).key]


def _aligned(desc: Any, inputs: Bindings, outputs: Bindings) -> bool:
    """the output is aligned to 64 bytes"""
    return _address(_output(desc, outputs)) % 64 == 0


def _at_the_start(desc: Any, inputs: Bindings, outputs: Bindings) -> bool:
    """an input is bound at offset 0"""
    return any(binding.offset == 0 for binding in inputs.values())


def _far_inside(desc: Any, inputs: Bindings, outputs: Bindings) -> bool:
    """the output is bound beyond 64 KiB"""
    return _output(desc, outputs).offset >= 2**16


def _shared(desc: Any, inputs: Bindings, outputs: Bindings) -> bool:
    """input and output share a resource"""
    output = _output(desc, outputs)
    return any(each.buffer is output.buffer and each.offset != output.offset for each in inputs.values())


def _output_first(desc: Any, inputs: Bindings, outputs: Bindings) -> bool:
    """the output lies before the inputs"""
    return _address(_output(desc, outputs)) < min(map(_address, inputs.values()))


def _surplus(desc: Any, inputs: Bindings, outputs: Bindings) -> bool:
    """more is bound of the output than it needs"""
    return _output(desc, outputs).size > buffer_size(main_output(desc).tensor)


class WrongWhereBound(Mutant, abstract=True):
    """Turns the bits of the output around where tensors are bound in some ways."""

    rules, reads = ("EXECUTION.binding",), True
    ways: ClassVar[tuple[str, ...]] = ()

    def execute(self, desc: Any, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        is_wrong = bool(inputs) and all(WAYS[way](desc, inputs, outputs) for way in self.ways)
        super().execute(desc, level, inputs, outputs)
        if is_wrong:
            elements = layout.bits(_output(desc, outputs), main_output(desc).tensor)
            elements[...] = ~elements


WAYS: dict[str, Where] = {
    "AlignedTo64Bytes": _aligned,
    "AtOffset0": _at_the_start,
    "AtLargeOffsets": _far_inside,
    "InOneResource": _shared,
    "WithTheOutputFirst": _output_first,
    "BoundWithMore": _surplus,
}
BOUND: dict[tuple[str, ...], type[Mutant]] = {}
for ways in (*((way,) for way in WAYS), *combinations(WAYS, 2)):
    about = f"Wrong where {' and '.join(WAYS[way].__doc__ or '' for way in ways)}."
    BOUND[ways] = variant(f"Wrong{'And'.join(ways)}", WrongWhereBound, ways=ways, __doc__=about)
