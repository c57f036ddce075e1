"""Conformance suite and specification checker for DirectML operators."""
