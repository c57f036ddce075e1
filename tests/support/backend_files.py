"""Backends in files, as a command is given them: the reference but for what a test says."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

HEAD = """\
import ctypes, os, signal, sys, time
from pathlib import Path

from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Unsupported
from dml_conformance.backends.reference import ReferenceBackend

HERE = Path(__file__).parent


class Mine(ReferenceBackend):
"""
HARM = """
    def __init__(self, device=""):
        super().__init__()
        {begins}

    def execute(self, desc, level, inputs, outputs):
        if desc.output_tensor.element_count % {every} == 0:
            {does}
        super().execute(desc, level, inputs, outputs)
"""
BATCHES = """
    def execute_batch(self, executions):
        {first}
        for execution in executions:
            self.execute(*execution)
"""


def write_backend(folder: Path, methods: str, *, file: str = "mine.py") -> str:
    """Write a backend with methods of its own; returns its name. What it needs is imported, `HERE` is the folder."""
    path = folder / file
    path.write_text(HEAD + indent(dedent(methods), "    "))
    return f"{path}:Mine"


def write_harmful_backend(
    folder: Path,
    does: str,
    *,
    every: int = 720,
    begins: str = "pass",
    batches: bool = False,
    first: str = "pass",
    more: str = "",
) -> str:
    """Write a backend that does harm to the process that it runs in, on some cases; returns its name.

    Args:
        folder: where to.
        does: a statement, in which `desc` is the descriptor; run for every case that is guilty, before its execution.
        every: a case is guilty if the number of its output's elements is a multiple of this.
        begins: a statement for when it is made, in which `device` is its device.
        batches: whether it takes batches.
        first: a statement for each batch, in which `executions` are its cases.
        more: other methods.
    """
    harm = dedent(HARM).format(does=does, every=every, begins=begins)
    return write_backend(folder, harm + (dedent(BATCHES).format(first=first) if batches else "") + dedent(more))
