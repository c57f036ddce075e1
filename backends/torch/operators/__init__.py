"""The operators on torch tensors: one module a family, found by walking this package.

To add an operator, write its function into the module of its family and give it a row there:

    def split(desc: Any, tensors: Tensors) -> Tensors:
        parts = tensors["input_tensor"].split([tensor.sizes[desc.axis] for tensor in desc.output_tensors], desc.axis)
        return {f"output_tensors[{n}]": part for n, part in enumerate(parts)}

    OPERATORS = {"SPLIT": TorchOperator(split, agree=(("input_tensor", "output_tensors"),))}

- The function gets the inputs that the descriptor has, by slot key, as views of their described sizes, and returns
  every output by slot key. An optional tensor that is missing is not in the mapping: `tensors.get("bias_tensor")`.
- Elements are signed integers of their width, so that every bit pattern comes through. Tensors that the row names in
  `numbers` have the torch type of their own; `widen` and `narrow` (`_numbers`) do what torch lacks for unsigned ones.
  An output comes back either way, in any torch type of its elements' width, and in any layout.
- An input may have any strides, a 0 among them, which it has not on meta: `reshape`, not `view`.
- The function runs on meta tensors (sizes, no values) to decide, and on the device to execute. Sizes and attributes
  that do not fit raise `PlanError`, as `check_sizes` and `valid_axis` (`_indexing`) do, or torch's own error; what
  comes back has to have the outputs' described sizes.
  Types, dimension counts, what is missing, enumerators and layouts have been checked before. What cannot change a size
  is left out there: torch is slow on meta tensors, and loads its compiler at the first product of numbers or `cat` of
  them. Where all tensors have the same sizes the row says so (`alike`).
- Values never raise and never read out of range, which would end a CUDA context: `in_range` (`_indexing`).
- No loop over elements, and nothing that waits for the device: no `.item()`, no `nonzero`, no mask as an index.
- Where it does the same at every place along some dimensions, with what is there alone, the row names these (`apart`):
  large tensors are worked on in parts then, which takes less memory and is faster.
- What it makes without an input comes to be on the right device by itself where the operator has no inputs at all;
  else name it: `torch.arange(n, device=source.device)`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dml_conformance.backends.torch.kernels.plans import Plan
from dml_conformance.backends.torch.views import PlanError as PlanError  # as every operator raises it
from dml_conformance.backends.torch.views import check_sizes as check_sizes
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.levels import Level

Tensors = Mapping[str, Tensor]  # by slot key
MOST_IN_A_PART = 2**18  # elements of the largest tensor, so that what is made of them on the way lies in caches
MORE_ON_A_DEVICE = 32  # times as much at once: a part costs launches there, which are short beside work of this size


def at_once(elements: int, device: torch.device) -> int:
    """How many elements of an intermediate result are made at once, by how many a processor's caches hold."""
    return elements if device.type == "cpu" else MORE_ON_A_DEVICE * elements


@dataclass(frozen=True, eq=False, slots=True)
class TorchOperator:
    """One operator of this backend; fields are named by the descriptor's attributes, an array of tensors is one field.

    Attributes:
        run: `run(desc, tensors)`; see above.
        agree: groups of fields whose tensors have the same data type.
        numbers: the fields whose tensors `run` gets in their own type.
        ranks: groups of fields whose tensors have the same dimension count; None: all of them make one group.
        fault: `fault(desc, level)`: what is wrong with a descriptor at a level, or "". None: nothing ever is.
        fills: whether `run` also gets the outputs that are packed, for it to fill and return, which spares a copy.
            There are none when it decides.
        alike: whether all tensors have the same sizes. That is all there is to decide then: `run` is not tried on
            meta tensors, on which torch takes a hundred times as long for some functions.
        plan: `plan(desc, *inputs, output)`, of a kernel that does the same; see `kernels.plans`. None: there is none.
        apart: `apart(desc)`: the dimensions of the largest tensor along which the operator does the same at every
            place with nothing but what is there. Tensors of another size there are the same for all places.
            None: all dimensions where inputs and outputs are `alike`, else none.
        shared: the fields that are the same for all places, whatever their sizes.
    """

    run: Callable[[Any, Tensors], Tensors]
    agree: tuple[tuple[str, ...], ...] = (("input_tensor", "output_tensor"),)
    numbers: frozenset[str] = frozenset()
    ranks: tuple[tuple[str, ...], ...] | None = None
    fault: Callable[[Any, Level], str] | None = None
    fills: bool = False
    alike: bool = False
    plan: Callable[..., Plan | None] | None = None
    apart: Callable[[Any], Iterable[int]] | None = None
    shared: frozenset[str] = frozenset()

    def parts(self, desc: OperatorDesc, inputs: Tensors, outputs: Tensors) -> Iterator[tuple[Tensors, Tensors]]:
        """Inputs and outputs cut into parts that are done one by one, where that takes less memory and time.

        On a device it does not; and where memory is shared, a part would change what another reads.
        """
        tensors = {**inputs, **outputs}
        largest = max((tensor for key, tensor in tensors.items() if key not in self.shared), key=Tensor.numel)
        count, cut = -(-largest.numel() // MOST_IN_A_PART), None
        if count > 1 and largest.device.type == "cpu" and not _overlap(inputs, outputs):
            apart = self.apart(desc) if self.apart else range(largest.dim()) if self.alike and inputs else ()
            # The first dimension that has so many places, else the one that has most.
            cut = max(apart, key=lambda d: min(largest.shape[d], count), default=None)
        if cut is None:
            yield inputs, outputs
            return
        size = largest.shape[cut]
        step = -(-size // count)
        rank = largest.dim()
        shared = {key for key, of in tensors.items() if of.dim() != rank or of.shape[cut] != size} | self.shared
        for start in range(0, size, step):
            length = min(step, size - start)
            part = {key: of if key in shared else of.narrow(cut, start, length) for key, of in tensors.items()}
            yield {key: part[key] for key in inputs}, {key: part[key] for key in outputs}

    def outputs(
        self, desc: OperatorDesc, inputs: Tensors, device: torch.device, packed: Tensors | None = None
    ) -> Tensors:
        """Run the operator on a device, that of its inputs; `packed` are outputs that it may fill."""
        tensors = {**inputs, **packed} if packed else inputs
        with nullcontext() if inputs else device:
            return self.run(desc, tensors)


def _overlap(inputs: Tensors, outputs: Tensors) -> bool:
    pairs = product(inputs.values(), outputs.values())
    return any(np.may_share_memory(read.numpy(), written.numpy()) for read, written in pairs)


@cache
def torch_operators() -> dict[str, TorchOperator]:
    """The operators of all families by name; their modules are imported at the first call."""
    found: dict[str, TorchOperator] = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            found.update(importlib.import_module(f"{__name__}.{module.name}").OPERATORS)
    return found
