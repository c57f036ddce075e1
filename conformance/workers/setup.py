"""What a process needs to judge as any other one of the same campaign does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dml_conformance.backends.base import Backend, Capabilities
from dml_conformance.backends.loading import load_backend
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.conformance.judge.judge import REPEAT, Judge
from dml_conformance.reports.model.release import suite_files
from dml_conformance.spec.accuracy import DIRECTML, Tolerance
from dml_conformance.spec.errors import BrokenRunError
from dml_conformance.spec.validator import Reading


class WorkerError(BrokenRunError):
    """Worker processes ended before their work did, and others did not get further."""


@dataclass(frozen=True)
class JudgeSetup:
    """What a process needs to judge tasks.

    Attributes:
        backends: names, as on the command line.
        reading: what counts as the specification.
        one_by_one: execute every case alone, also on a backend that takes batches.
        repeat: how often each case is executed.
        limits: of each backend, which is in a process of its own; None where it is in the one that judges.
        places: names that the backends are loaded by, each time one for each of them; the first process takes the
            first place, and so on, and after the last one the first again. Empty where it is the names above.
        claims: what each backend is held to; empty where it is all that it claims.
        digests_outputs: as of a judge.
        tolerance: the bounds that results of arithmetic are held to.
        suite: the suite's own files, see `suite_files`: a process that is started later judges by the same.
    """

    backends: tuple[str, ...]
    reading: Reading = Reading.DOCUMENTED
    one_by_one: bool = False
    repeat: int = REPEAT
    limits: Limits | None = field(default_factory=Limits)
    places: tuple[tuple[str, ...], ...] = ()
    claims: tuple[Capabilities, ...] = ()
    digests_outputs: bool = False
    tolerance: Tolerance = DIRECTML
    suite: Mapping[str, str] = field(default_factory=suite_files)

    @classmethod
    def of(cls, judge: Judge, limits: Limits) -> JudgeSetup:
        """What is needed to judge as a judge does whose backend is in a process of its own."""
        return cls(
            (judge.backend_name,),
            judge.reading,
            repeat=judge.repeat,
            limits=limits,
            claims=(judge.capabilities,),
            digests_outputs=judge.digests_outputs,
            tolerance=judge.tolerance,
        )

    def at(self, place: int) -> JudgeSetup:
        """What the process of this number needs, counted from 0."""
        return replace(self, places=(self.places[place % len(self.places)],)) if self.places else self

    @property
    def loaded_names(self) -> tuple[str, ...]:
        """The names that the backends are loaded by, at the first place."""
        return self.places[0] if self.places else self.backends

    def judge(self, number: int, backend: Backend) -> Judge:
        """What judges on the backend of this number, counted from 0."""
        return Judge(
            backend,
            self.backends[number],
            self.reading,
            claims=self.claims[number] if self.claims else None,
            digests_outputs=self.digests_outputs,
            repeat=self.repeat,
            tolerance=self.tolerance,
        )

    def load(self, number: int) -> Backend:
        """The backend of this number.

        Raises:
            BackendError: it cannot be had.
        """
        name = self.loaded_names[number]
        return load_backend(name) if self.limits is None else IsolatedBackend(name, self.limits)

    def judges(self) -> list[Judge]:
        """A judge for each backend; errors as of `load`."""
        return [self.judge(number, self.load(number)) for number in range(len(self.backends))]
