"""Import this before Triton: without a GPU its kernels then run in its interpreter, on the CPU."""

from __future__ import annotations

import importlib.util
import os

import pytest

torch = pytest.importorskip("torch")

HAS_CUDA: bool = torch.cuda.is_available()
HAS_TRITON = importlib.util.find_spec("triton") is not None

if not HAS_CUDA:
    # Triton reads it once, and so for the whole process; nothing else here asks for it but the backend torch-kernels.
    os.environ["TRITON_INTERPRET"] = "1"

NEEDS_TRITON = pytest.mark.skipif(not HAS_TRITON, reason="no Triton here; pip install triton (Linux)")
