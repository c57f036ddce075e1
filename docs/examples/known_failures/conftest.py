"""Known failures of a backend as strict xfails: see docs/how-to/gate-in-ci.md."""

import pytest

KNOWN = {
    "TILE-4_1-EXECUTION.strides": "strided outputs are written packed; fixed in 2.1",
}


def pytest_collection_modifyitems(items):
    for item in items:
        for name, reason in KNOWN.items():
            if f"[{name}]" in item.nodeid:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
