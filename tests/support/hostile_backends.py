"""Backends in files that do harm to the process that they run in, on some cases."""

from __future__ import annotations

import textwrap
from pathlib import Path

TEXT = """
    import ctypes, os, signal, sys, time
    from pathlib import Path

    from dml_conformance.backends.reference import ReferenceBackend

    HERE = Path(__file__).parent


    def guilty(desc):
        return desc.output_tensor.element_count % {every} == 0


    class Mine(ReferenceBackend):
        def __init__(self, device=""):
            super().__init__()
            {begins}

        def execute(self, desc, level, inputs, outputs):
            if guilty(desc):
                {does}
            super().execute(desc, level, inputs, outputs)
"""
BATCHES = """
        def execute_batch(self, executions):
            {first}
            for execution in executions:
                self.execute(*execution)
"""


def write_backend(
    folder: Path, does: str, *, every: int = 720, begins: str = "pass", batches: bool = False, first: str = "pass"
) -> str:
    """Write a backend that passes everything but for what is asked for; returns its name.

    Args:
        folder: where to.
        does: a statement, in which `desc` is the descriptor; run for every case that is guilty, before its execution.
        every: a case is guilty if the number of its output's elements is a multiple of this.
        begins: a statement for when it is made, in which `device` is its device.
        batches: whether it takes batches.
        first: a statement for each batch, in which `executions` are its cases.
    """
    text = TEXT.format(does=does, every=every, begins=begins) + (BATCHES.format(first=first) if batches else "")
    path = folder / "mine.py"
    path.write_text(textwrap.dedent(text))
    return f"{path}:Mine"
