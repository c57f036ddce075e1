"""Kernels of this backend's own for CUDA, in Triton as PyTorch ships it.

`plans` says which kernel does an operator's work. Those of `moves` move bits: there are as many kinds of elements as
there are sizes, 1, 2, 4 and 8 bytes, and what lies together moves in words of up to 16. Those of `products` compute.

Without a GPU the kernels run in Triton's interpreter, on the CPU, if TRITON_INTERPRET is 1.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from dml_conformance.backends.torch.kernels import plans
from dml_conformance.backends.torch.kernels.plans import Plan
from dml_conformance.spec.descriptor import OperatorDesc

Work = Callable[[], object]

INTERPRET = "TRITON_INTERPRET"  # the environment variable; Triton reads it when it is imported


@cache
def version() -> str | None:
    """Triton's version; None where there is none that has what the kernels need."""
    try:
        triton = importlib.import_module("triton")
    except ImportError:
        return None
    return str(triton.__version__) if hasattr(triton.language, "gather") else None


def run_on(device: torch.device) -> bool:
    """Whether the kernels can run on a device: a GPU, or where Triton interprets them, the CPU."""
    return (device.type == "cuda" or os.environ.get(INTERPRET) == "1") and version() is not None


def launch(plan: Plan) -> Work:
    """The work that a plan describes, ready to run any number of times.

    Raises:
        ImportError: there is no Triton.
    """
    module = importlib.import_module(f"dml_conformance.backends.torch.kernels.{plan.module}")
    kernel = getattr(module, plan.kernel)[(plan.programs,)]
    before = None if plan.before is None else launch(plan.before)
    source, *others, target = plan.tensors
    # Triton launches on the current device, whatever device the tensors are on.
    device = torch.cuda.device(target.device) if target.is_cuda else nullcontext()

    def run() -> None:
        if before is not None:
            before()
        with device:
            kernel(
                *(source, *(tensor.contiguous() for tensor in others), target, *plan.numbers),
                **plan.constants,
                num_warps=plan.warps,
            )

    return run


@cache
def missing(device: torch.device) -> str:
    """Why no kernel can be made for a device; "" where they can.

    Kernels are compiled when they are first used, and much can be missing then: a C compiler for what calls the
    kernel, a Triton that knows this GPU, enough shared memory. So a small one is tried, and the one that takes the most
    shared memory. What they compute is for the suite to judge.
    """
    if not run_on(device):
        return "no Triton that has what they need is installed"
    try:
        for plan in _tried(device):
            launch(plan)()
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return ""


def _tried(device: torch.device) -> list[Plan]:
    few = torch.zeros(2, 3, dtype=torch.int32, device=device)
    rows = torch.zeros(2, plans.MOST_SHARED // 2, dtype=torch.int8, device=device)
    indices = torch.zeros(1, rows.shape[1], dtype=torch.int64, device=device)
    desc: Any = SimpleNamespace(axis=1, index_dimensions=1, repeats=(2, 2))
    made = plans.tile(desc, few, few.new_empty(4, 6)), plans.gather(desc, rows, indices, torch.empty_like(rows))
    return [plan for plan in made if plan is not None]


def prepared(
    make: Callable[..., Plan | None], desc: OperatorDesc, sources: list[Tensor], target: Tensor
) -> Work | None:
    """The kernel's work for an operator, or None where no kernel can do it.

    Args:
        make: the operator's function of `plans`.
        sources: the input, and the indices if there are any.
        target: the output in its described layout.
    """
    if target.is_contiguous():
        plan = make(desc, *sources, target)
        return None if plan is None else launch(plan)
    whole = torch.empty(target.shape, dtype=target.dtype, device=target.device)
    plan = make(desc, *sources, whole)
    if plan is None:
        return None
    work = launch(plan)

    def run() -> None:
        work()
        target.copy_(whole)

    return run
