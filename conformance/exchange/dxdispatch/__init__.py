"""Cases as models of DxDispatch, and models as cases.

DxDispatch (microsoft/DirectML, folder DxDispatch) runs DirectML operators from a JSON file on Windows, so a driver
engineer can look at a case without this suite. `exporting` writes a case as a model with its inputs and what the output
has to hold; `importing` reads a model with its resources' initial values as a case.

Source of the form: DxDispatch's guide, its published schema `models/_schema.json`, and its parser where the schema is
behind (`sourcePath` and `writeFile` are in the guide and the parser only).
"""

from __future__ import annotations

# The member of a model that DxDispatch passes over and that says what the case is about.
NOTE = "dml-conformance"
MODEL_FILE, README_FILE = "model.json", "README.txt"
EXPECTED, BEFORE, ACTUAL = "expected", "before", "actual"
