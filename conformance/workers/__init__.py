"""Tasks of a campaign and whatever judges them: this process, others of this machine, or those of a cluster."""

from dml_conformance.conformance.workers.devices import devices_of, places_on
from dml_conformance.conformance.workers.workers import Workers

__all__ = ["Workers", "devices_of", "places_on"]
