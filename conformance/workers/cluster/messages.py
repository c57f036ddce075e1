"""What goes to Dask's workers: bytes, and bytes come back, decoded with all types checked. Tasks and answers are those
of any process of `conformance.workers`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.conformance.workers.environment import environment
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.reports.release import suite_version


class WorkerIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker says of itself before it is given anything to do.

    Attributes:
        suite_version: of this package.
        environment: as a certificate has it.
    """

    suite_version: str
    environment: dict[str, str]

    @classmethod
    def own(cls) -> WorkerIdentity:
        """That of this process."""
        return cls(suite_version(), environment())


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run asks of every worker.

    Attributes:
        run: a name of its own, so that no run gets a backend that was loaded for another.
        setup: what cases are judged by.
        suite_version: of this package, where it was asked.
        claims: what each backend has to claim; empty where that is what is asked.
    """

    run: str
    setup: JudgeSetup
    suite_version: str
    claims: tuple[Capabilities, ...] = ()


encode = msgspec.msgpack.Encoder().encode
decode_identity: Callable[[bytes], WorkerIdentity] = msgspec.msgpack.Decoder(WorkerIdentity).decode
decode_order: Callable[[bytes], Order] = msgspec.msgpack.Decoder(Order).decode
decode_losses: Callable[[bytes], dict[str, int]] = msgspec.msgpack.Decoder(dict[str, int]).decode
