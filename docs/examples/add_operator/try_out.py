"""Runs `dml-conformance`, or a script, with the operator of this folder in place.

python try_out.py certify --backend reference --operator ACTIVATION_RELU_GRAD
python try_out.py tests/strength --operator ACTIVATION_RELU_GRAD --level 6_4

A copy of the package gets the files of this folder, in the rooms that they lie in here, in place of those that it has
of this family; of its data on the operator it gets none but what is known before somebody adds it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

NAME = "ACTIVATION_RELU_GRAD"
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
    state(package / "spec" / "data")
    forget(package / "spec" / "data")


def state(data: Path) -> None:
    """Put what is said of the operator among what is said of the others."""
    every, said = (
        json.loads((of / "statements.json").read_text(encoding="utf-8")) for of in (ROOT / "spec/data", data)
    )
    (data / "statements.json").write_text(json.dumps(every | said), encoding="utf-8")


def forget(data: Path) -> None:
    """Take out what is on record of the operator since it was added."""
    history: Any = json.loads((data / "history.json").read_text(encoding="utf-8"))
    history["introductions"].pop(NAME, None)
    history["changes"] = [change for change in history["changes"] if change["operators"] != [NAME]]
    errata = json.loads((data / "errata.json").read_text(encoding="utf-8"))
    known = [erratum for erratum in errata if erratum["operators"] != [NAME] or "page_checks" in erratum]
    for erratum in known:  # of its page alone something may be known, but nothing of a history that is not on record
        if "checks" in erratum and erratum["operators"] == [NAME]:
            erratum["checks"] = [check for check in erratum["checks"] if not check.startswith(f"{NAME}:history-")]
    for name, found in (("history", history), ("errata", known)):
        (data / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")


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
