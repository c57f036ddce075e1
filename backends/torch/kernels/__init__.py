"""Kernels of this backend's own for CUDA, in Triton as PyTorch ships it; eager torch does whatever they cannot do.

`plans` says which kernel does an operator's work, `moves` has the kernels. They move bits: there are as many kinds of
elements as there are sizes, 1, 2, 4 and 8 bytes, and what lies together moves in words of up to 16.

Without a GPU the kernels run in Triton's interpreter, on the CPU, if TRITON_INTERPRET is 1.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor

from backends.torch.kernels.plans import Plan

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
    kernel = getattr(importlib.import_module("backends.torch.kernels.moves"), plan.kernel)[(plan.programs,)]
    source, *indices, target = plan.tensors
    # Triton launches on the current device, whatever device the tensors are on.
    device = torch.cuda.device(target.device) if target.is_cuda else nullcontext()

    def run() -> None:
        with device:
            kernel(
                *(source, *(tensor.contiguous() for tensor in indices), target, *plan.numbers),
                **plan.constants,
                num_warps=plan.warps,
            )

    return run


class Attempt:
    """A kernel's work, and eager torch's in its place from the first time that the kernel cannot be made.

    Kernels are compiled when they are first used, and much can be missing then: a C compiler for what calls the
    kernel, a Triton that knows this GPU, enough shared memory. The answer has to be right all the same.
    """

    _missing: str | None = None  # what was, in this process: one warning is enough, and one attempt

    def __init__(self, kernel: Work, eager: Work) -> None:
        self._kernel = kernel
        self._eager = eager

    def __call__(self) -> object:
        if Attempt._missing is None:
            try:
                return self._kernel()
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # whatever it was, the eager way either works or says so itself
                Attempt._missing = f"{type(error).__name__}: {error}".partition("\n")[0]
                warnings.warn(
                    f"no Triton kernels here, eager torch does their work: {Attempt._missing}",
                    RuntimeWarning,
                    stacklevel=2,
                )
        return self._eager()


def prepared(make: Callable[..., Plan | None], desc: Any, sources: list[Tensor], target: Tensor) -> Work | None:
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
