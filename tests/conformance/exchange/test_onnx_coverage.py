"""Every operator of ONNX is mapped, or there is a reason why not; the counts are those of the documentation."""

from __future__ import annotations

from dml_conformance.conformance.exchange.onnx.coverage import Way, counts, coverage, webnn
from dml_conformance.conformance.exchange.onnx.mapping import MICROSOFT, mappings
from dml_conformance.spec.registry import operators


def test_counts() -> None:
    found = counts(coverage())
    assert {way.name: found["", way] for way in Way} == {
        "MAPPED": 141,
        "MEMORY": 7,
        "KNOWN": 3,
        "INLINED": 2,
        "FUNCTION": 12,
        "UNMAPPED": 38,
    }
    assert (found[MICROSOFT, Way.MAPPED], found[MICROSOFT, Way.UNMAPPED]) == (25, 4)
    assert sum(count for (domain, _), count in found.items() if domain not in ("", MICROSOFT)) == 24


def test_there_is_an_operator_or_a_reason_for_each() -> None:
    covered = coverage()
    assert len({(each.domain, each.op_type) for each in covered}) == len(covered)
    for each in covered:
        assert set(each.to) <= set(operators()), each
        assert bool(each.to) == (each.way is Way.MAPPED), each
        assert each.reason or each.way is not Way.UNMAPPED, each
        assert each.versions == tuple(sorted(set(each.versions))), each


def test_every_mapping_is_of_an_operator_that_there_is() -> None:
    covered = {(each.domain, each.op_type) for each in coverage()}
    assert set(mappings()) <= covered


def test_webnn_becomes_operators_that_there_are() -> None:
    assert len(webnn()) == 95
    assert all(set(to) <= set(operators()) for to in webnn().values())
    assert [name for name, to in webnn().items() if not to] == ["reshape"]
