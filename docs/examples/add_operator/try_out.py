"""Runs `dml-conformance`, or a script, with the operator of this folder in place.

python try_out.py certify --backend reference --operator ACTIVATION_RELU_GRAD
python try_out.py tests/strength --operator ACTIVATION_RELU_GRAD --level 6_4

A copy of the package gets the files of this folder, in the rooms that they lie in here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PROGRAM = "from dml_conformance.conformance.cli import main; main(prog_name='dml-conformance')"
ROOMS = ("spec", "documents", "strategies", "backends", "reports", "conformance")


def put_in_place(folder: Path) -> None:
    """Make the package with the family's modules in a folder."""
    package = folder / "dml_conformance"
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "dml_conformance", package, ignore=without)
    for room in ROOMS:
        shutil.copytree(ROOT / room, package / room, ignore=without, dirs_exist_ok=True)
        if (HERE / room).is_dir():
            shutil.copytree(HERE / room, package / room, ignore=without, dirs_exist_ok=True)


def command(*arguments: str) -> list[str]:
    """A command of `dml-conformance`, or of the script that it begins with."""
    is_script = bool(arguments) and "/" in arguments[0]
    return [sys.executable, *((str(ROOT / arguments[0]),) if is_script else ("-c", PROGRAM)), *arguments[is_script:]]


def environment(folder: Path) -> dict[str, str]:
    """The package in a folder comes before one that is installed, in every process."""
    return {**os.environ, "PYTHONPATH": str(folder)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        put_in_place(Path(temporary))
        sys.exit(subprocess.call(command(*sys.argv[1:]), env=environment(Path(temporary))))  # noqa: S603
