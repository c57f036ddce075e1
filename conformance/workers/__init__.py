"""Tasks of a campaign and whatever judges them: this process, or others of this machine."""

from dml_conformance.conformance.workers.devices import devices_of, places_on
from dml_conformance.conformance.workers.workers import Workers

__all__ = ["Workers", "devices_of", "places_on"]
