"""Processes that judge: blocks of a corpus, each with its backends in it and replaced when these take it down, or units
of a campaign, each with the backend in a process of its own."""

from dml_conformance.conformance.workers.devices import devices_of, places_on
from dml_conformance.conformance.workers.workers import Workers

__all__ = ["Workers", "devices_of", "places_on"]
