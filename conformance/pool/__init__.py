"""Processes that judge blocks of a corpus, and are replaced when a backend takes them down."""

from conformance.pool.devices import devices_of, places_on
from conformance.pool.workers import Workers

__all__ = ["Workers", "devices_of", "places_on"]
