"""The gate, run in this process as its users run it."""

from __future__ import annotations

from unittest import mock

import pytest

from dml_conformance.conformance.gate import suite
from dml_conformance.strategies.scale import Reach, scale_cases


def run_gate(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the suite, on the backend and with whatever else the options say.

    Cases of scale are those of 16 bits; those of 24 take seconds, and `test_scale.py` sees that the gate has them.
    """
    of_16_bits = mock.patch.object(suite, "scale_cases", lambda *of: scale_cases(*of[:2], Reach.BITS_16))
    suite._boundaries.cache_clear()
    with of_16_bits:
        result = pytester.runpytest_inprocess(
            "--pyargs", "dml_conformance.conformance.gate", "-p", "no:cacheprovider", *options
        )
    suite._boundaries.cache_clear()
    return result
