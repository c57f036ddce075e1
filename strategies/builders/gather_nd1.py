"""Descriptors of GATHER_ND1."""

from __future__ import annotations

from dml_conformance.spec.operators.gather_nd1 import GatherNd1Desc
from dml_conformance.strategies.builders._gather_nd import TupleBuilder

_builder = TupleBuilder("GATHER_ND1", GatherNd1Desc)
build, edges, huge, large = _builder.build, _builder.edges, _builder.huge, _builder.large
long_axis, vast, wrapping = _builder.long_axis, _builder.vast, _builder.wrapping
VIOLATIONS = _builder.violations
