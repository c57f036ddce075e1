"""Runs `dml-conformance` with the operator of this folder in place, as if its parts stood in the tree."""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
NAME = "SPACE_TO_DEPTH"


def put_in_place(folder: Path) -> None:
    """Make the two modules importable under the names they would have, and enter the functions in their registries."""
    for package, file in (
        ("dml_conformance.spec.operators", "spec_module.py"),
        ("dml_conformance.strategies.builders", "builder_module.py"),
    ):
        place = folder / package
        place.mkdir()
        shutil.copy(HERE / file, place / f"{NAME.lower()}.py")
        importlib.import_module(package).__path__.append(str(place))
    reference = importlib.import_module("reference_function")
    importlib.import_module("dml_conformance.backends.reference.operators").OPERATORS[NAME] = reference.COMPUTED
    importlib.import_module("dml_conformance.backends.reference.decisions").OPERATORS[NAME] = reference.DECIDED
    torch = importlib.import_module("torch_function")
    importlib.import_module("dml_conformance.backends.torch.tables").OPERATORS[NAME] = torch.ROW


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        put_in_place(Path(folder))
        from dml_conformance.conformance.cli import main

        # The backend's own process would find the tree as it is.
        in_process = ["--in-process"] if sys.argv[1:2] == ["certify"] else []
        main([*sys.argv[1:], *in_process], prog_name="dml-conformance")
