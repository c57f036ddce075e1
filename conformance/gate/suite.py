"""The tests themselves, one id for each operator, level and rule."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dml_conformance.backends.base import Backend
from dml_conformance.backends.loading import BackendError, load_backend
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.limits import Limits, parse_size
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import example_cases
from dml_conformance.conformance.campaign.plan import OperatorPlan
from dml_conformance.conformance.exchange.failures import read_failures, save_failure
from dml_conformance.conformance.gate.failures import BRIEF
from dml_conformance.conformance.gate.losses import FORGIVEN, LOST
from dml_conformance.conformance.judge.blame import Blame, Repetition
from dml_conformance.conformance.judge.explain import explain
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.losses import with_losses
from dml_conformance.conformance.judge.search import search
from dml_conformance.conformance.workers.tasks import CaseBlock, TaskJudge
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.reports.model.summary import case_size
from dml_conformance.reports.model.text import brief_text
from dml_conformance.spec.accuracy import TOLERANCES, Tolerance
from dml_conformance.spec.case import Case
from dml_conformance.spec.forms import FormError
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.registry import operators as all_operators
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import applicable_rules, execution_rules
from dml_conformance.strategies.scale import scale_cases


class ConformanceSuite:
    """Subclass it in a backend's own tests, or run it as it is with `--dml-backend`.

    Attributes:
        backend: a backend, a class that makes one without arguments, or a name as on the command line. A name, and a
            class that `file.py:Class` finds too, runs in a process of its own unless `--dml-in-process` is given; a
            backend that is there already runs where it is.
        levels: feature levels to test; None = `--dml-level`, or the highest that the backend claims.
        operators: names of operators; None = `--dml-operator`, or all.
        examples: cases that Hypothesis tries for each test; None = `--dml-examples`.
        failures: folder of failing cases, tried first and added to; None = `--dml-failures`, or none.
    """

    backend: ClassVar[Backend | type[Backend] | str | None] = None
    levels: ClassVar[Sequence[str] | None] = None
    operators: ClassVar[Sequence[str] | None] = None
    examples: ClassVar[int | None] = None
    failures: ClassVar[str | Path | None] = None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each operator, level and rule; one for each worked example and level.

        Where all levels are asked for, a rule has its test at one level, and each of the others has one in all.
        """
        wanted = set(metafunc.fixturenames) & {"dml_rule", "dml_example"}
        if not wanted:
            return
        plans = self._plans(metafunc.config)
        if "dml_rule" in wanted:
            about = [(plan.operator, level, rule) for plan in plans for level, rule in _tested(plan)]
            rules = [pytest.param(one, id="-".join(map(str, filter(None, one))), marks=_marks(*one)) for one in about]
            metafunc.parametrize("dml_rule", rules)
        else:
            cells = ((plan.operator, level) for plan in plans for level in plan.complete)
            named = ((name, level) for operator, level in cells for name in example_cases(operator, level))
            metafunc.parametrize("dml_example", [pytest.param(one, id="{}-{}".format(*one)) for one in named])

    @pytest.mark.dml_example
    def test_example(self, dml_example: tuple[str, Level], request: pytest.FixtureRequest) -> None:
        """A worked example of the pages is accepted and gives the printed values."""
        name, level = dml_example
        judged = self._judged(request.config)
        with _giving_up_fails():
            found = judged.settled([example_cases(name.partition("/")[0], level)[name]], Phase.EXAMPLES)
        _settle(judged.with_repetition(found), request)

    def test_rule(self, dml_rule: tuple[str, Level, str], request: pytest.FixtureRequest) -> None:
        """The fixed cases about a rule, those that failed before, then cases that Hypothesis makes.

        A failure that it finds comes in its smallest form, and is saved where there is a place for it. Of a level that
        has one test for all rules, the fixed cases, or a sample of them.
        """
        operator, level, rule = dml_rule
        judged = self._judged(request.config)
        if not rule:
            _settle(judged.with_repetition(self._of_level(operator, level, request.config)), request)
            return
        judge = judged.judge
        count = self.examples if self.examples is not None else request.config.getoption("--dml-examples")
        seed = request.config.getoption("--hypothesis-seed", None)
        folder = self._failures(request.config)
        saved = [case for case in _saved(folder) if (case.operator, case.level, case.rule) == dml_rule]
        with _giving_up_fails():
            is_last = level is self._plan(request.config, operator).newest
            boundaries = _boundaries(operator, level, with_scale=is_last).get(rule, ())
            fixed = judged.settled(boundaries, Phase.BOUNDARIES)
            found = judged.searched(operator, level, rule, count, seed, saved) if count > 0 or saved else []
            if folder is not None:
                _save(folder, judge, found)
        _settle(judged.with_repetition([*found, *fixed]), request)

    def _of_level(self, operator: str, level: Level, config: pytest.Config) -> list[Record]:
        """The records of a level's boundary cases, sampled as in a campaign."""
        judged, seed = self._judged(config), config.getoption("--hypothesis-seed", None)
        # Without a seed each run has a sample of its own.
        turn = int(seed) if str(seed).isdecimal() else random.randrange(2**32)  # noqa: S311 - which cases, no secret
        cases = list(self._plan(config, operator).boundaries(level, turn))
        with _giving_up_fails():
            return judged.settled(cases, Phase.BOUNDARIES)

    def _plans(self, config: pytest.Config) -> list[OperatorPlan]:
        return [self._plan(config, operator) for operator in self._operators(config)]

    def _plan(self, config: pytest.Config, operator: str) -> OperatorPlan:
        """What is tested of an operator at which level; levels that are named are tested as if each were alone."""
        judge = self._judge(config)
        levels = self._chosen_levels(config, judge)
        every_level = levels != list(Level)
        return OperatorPlan.of(operator, levels, judge.capabilities.levels, every_level=every_level)

    def _judge(self, config: pytest.Config) -> Judge:
        return self._judged(config).judge

    def _judged(self, config: pytest.Config) -> _SuiteJudge:
        chosen = type(self).backend
        if chosen is None:
            chosen = config.getoption("--dml-backend")
            if chosen is None:
                raise pytest.UsageError(
                    "name the backend to test: --dml-backend torch:cpu, or --dml-backend path/to/file.py:Class"
                )
        return _judge_of(chosen, _limits(config), TOLERANCES[config.getoption("--dml-accuracy")])

    def _chosen_levels(self, config: pytest.Config, judge: Judge) -> list[Level]:
        return self._levels(config) or [max(judge.capabilities.levels)]

    def _levels(self, config: pytest.Config) -> list[Level]:
        """The levels asked for; none = the highest that the backend claims."""
        asked = self.levels if self.levels is not None else config.getoption("--dml-level") or ()
        if "all" in asked:
            return list(Level)
        try:
            return sorted(Level.parse(text) for text in asked)
        except ValueError as error:
            raise pytest.UsageError(f"--dml-level: {error}") from None

    def _failures(self, config: pytest.Config) -> Path | None:
        folder = self.failures if self.failures is not None else config.getoption("--dml-failures")
        return None if folder is None else config.invocation_params.dir / folder

    def _operators(self, config: pytest.Config) -> list[str]:
        asked = self.operators if self.operators is not None else config.getoption("--dml-operator")
        try:
            return [operator_named(name).name for name in asked or all_operators()]
        except KeyError as error:
            raise pytest.UsageError(f"--dml-operator: {error.args[0]}") from None


def check_options(config: pytest.Config, *, needs_backend: bool) -> None:
    """Look at the options before anything is collected: what is raised later comes with a traceback.

    Raises:
        pytest.UsageError: an option means nothing, or there is no backend where one is needed.
    """
    if (examples := config.getoption("--dml-examples")) < 0:
        raise pytest.UsageError(f"--dml-examples: expected a number of cases from 0 on, found {examples}")
    suite = ConformanceSuite()
    suite._operators(config)
    suite._levels(config)
    _limits(config)
    folder = suite._failures(config)
    _saved.cache_clear()  # a process can have several sessions
    try:
        _saved(folder)
    except (FormError, OSError) as error:
        raise pytest.UsageError(f"--dml-failures: {error}") from None
    if needs_backend or config.getoption("--dml-backend") is not None:
        suite._judge(config)


def _limits(config: pytest.Config) -> Limits | None:
    """Of the backend's process; None for none of its own."""
    seconds, size = config.getoption("--dml-time-limit"), config.getoption("--dml-memory-limit")
    if config.getoption("--dml-in-process"):
        if (seconds, size) != (None, None):
            raise pytest.UsageError("--dml-in-process excludes --dml-time-limit and --dml-memory-limit")
        return None
    if seconds is not None and not 0 < seconds <= 86_400:
        raise pytest.UsageError(f"--dml-time-limit: expected seconds up to 86400, found {seconds:g}")
    try:
        return Limits(Limits.seconds if seconds is None else seconds, None if size is None else parse_size(size))
    except ValueError as error:
        raise pytest.UsageError(f"--dml-memory-limit: {error}") from None


def _tested(plan: OperatorPlan) -> Iterator[tuple[Level, str]]:
    """Levels and rules that have a test; "" for all rules of a level together."""
    found = list(plan.searches())
    own_tests = {level for level, _ in found} if plan.every_level else {plan.complete[-1]}
    yield from found
    for level in plan.levels:
        if level not in own_tests and applicable_rules(plan.operator, level):
            yield level, ""


class _SuiteJudge:
    """A judge, and what its records are told afterwards.

    Args:
        judge: of one backend.
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self._tasks = TaskJudge(judge)
        self._blame = Blame(judge.backend_name, judge.reading, judge.tolerance)
        self._repetition = Repetition(judge)

    def settled(self, cases: Iterable[Case], phase: Phase) -> list[Record]:
        """The records of cases, each judged alone."""
        given = tuple(cases)
        return self._settled(self._tasks.records(CaseBlock("", phase, len(given), partial(iter, given))))

    def searched(self, *search_for: Any) -> list[Record]:
        """The records of a search, whose arguments but the judge are given."""
        records = search(self.judge, *search_for)
        return self._settled(with_losses(records, self.judge.backend, in_the_end=True))

    def with_repetition(self, records: Sequence[Record]) -> list[Record]:
        """The same, of which the one that is shown was repeated."""
        shown = _to_show(records)
        return [self._repetition.repeated(record) if record is shown else record for record in records]

    def _settled(self, records: Iterable[Record]) -> list[Record]:
        return list(map(self._blame.settled, records))


def _judge_of(chosen: Backend | type[Backend] | str, limits: Limits | None, tolerance: Tolerance) -> _SuiteJudge:
    """One backend for all tests of a process: making one can be slow, and one instance keeps its state."""
    key = chosen if isinstance(chosen, str) else id(chosen), limits, tolerance.name
    if key not in _JUDGES:
        _JUDGES[key] = chosen, _SuiteJudge(_new_judge(chosen, limits, tolerance))
    return _JUDGES[key][1]


# What was chosen is kept beside its judge, so that its id stays its own.
_JUDGES: dict[tuple[str | int, Limits | None, str], tuple[Any, _SuiteJudge]] = {}


def close_backends() -> None:
    """Let the backends' processes end; one that is asked again starts anew."""
    for _, judged in _JUDGES.values():
        if isinstance(judged.judge.backend, IsolatedBackend):
            judged.judge.backend.close()


def _new_judge(chosen: Backend | type[Backend] | str, limits: Limits | None, tolerance: Tolerance) -> Judge:
    if isinstance(chosen, str):
        try:
            backend = load_backend(chosen) if limits is None else IsolatedBackend(chosen, limits)
            return Judge(backend, chosen, tolerance=tolerance)
        except BackendError as error:
            raise pytest.UsageError(f"--dml-backend: {error}") from None
    if not isinstance(chosen, type):
        return Judge(chosen, _path_of(type(chosen)), tolerance=tolerance)
    name = _path_of(chosen)
    if limits is not None:
        with suppress(BackendError):  # it is found only here, or not to be had at all, which making it here shows best
            return Judge(IsolatedBackend(name, limits), name, tolerance=tolerance)
    return Judge(chosen(), name, tolerance=tolerance)


def _path_of(backend: type) -> str:
    """How the command line finds a backend's class, for the line that reproduces a failure."""
    import inspect

    try:
        return f"{inspect.getfile(backend)}:{backend.__qualname__}"
    except (TypeError, OSError):
        return backend.__qualname__


@cache
def _boundaries(operator: str, level: Level, *, with_scale: bool) -> dict[str, list[Case]]:
    """The boundary cases of one cell by the rule that they are about, those of scale as in a standard campaign."""
    by_rule: dict[str, list[Case]] = {}
    scale = scale_cases(operator, level, BUDGETS["standard"].reach) if with_scale else ()
    for case in chain(boundary_cases(operator, level), scale):
        by_rule.setdefault(case.rule, []).append(case)
    return by_rule


@cache
def _saved(folder: Path | None) -> tuple[Case, ...]:
    """The cases that were in a folder of failures when it was first asked for."""
    return tuple(read_failures(folder)) if folder is not None and folder.exists() else ()


def _save(folder: Path, judge: Judge, found: Sequence[Record]) -> None:
    """Save what a search ended with, if that is a failure that is not saved already."""
    if not found or found[-1].verdict not in NOT_CONFORMANT:
        return
    record = found[-1]
    of_rule = [case for case in _saved(folder) if (case.operator, case.rule) == (record.operator, record.rule)]
    if record.case not in {case.digest for case in of_rule}:
        well_again = all(judge.judge(case).verdict not in NOT_CONFORMANT for case in of_rule)
        save_failure(folder, record, larger_too=bool(of_rule) and well_again)


def _marks(operator: str, level: Level, rule: str) -> list[pytest.MarkDecorator]:
    marks = []
    if rule not in execution_rules(operator, level):
        marks.append(pytest.mark.dml_decision)
    if not rule or not marks:
        marks.append(pytest.mark.dml_execution)
    return marks


@contextmanager
def _giving_up_fails() -> Iterator[None]:
    """Fail, with nothing else to tell, where the backend is not asked any more."""
    __tracebackhide__ = True
    try:
        yield
    except GivenUp as reason:
        pytest.fail(str(reason), pytrace=False)


def _to_show(records: Iterable[Record]) -> Record | None:
    """The failure with the smallest case, the first of several; None where all is well."""
    failing = (record for record in records if record.verdict in (*NOT_CONFORMANT, Verdict.ERROR))
    return min(failing, key=case_size, default=None)


def _settle(records: Sequence[Record], request: pytest.FixtureRequest) -> None:
    """Fail with the smallest failure, skip where nothing was claimed, else pass; the plugin tells what was lost."""
    __tracebackhide__ = True
    for record in filter(lambda record: record.lost, records):
        request.node.user_properties.extend((LOST, (loss.count, loss.how)) for loss in record.lost)
        request.node.user_properties.append((FORGIVEN, record.losses_forgiven))
    shown = _to_show(records)
    if shown is not None:
        request.node.stash[BRIEF] = brief_text(shown)
        pytest.fail(explain(shown), pytrace=False)
    # What was decided only is about no rule in particular: no evidence for one of execution.
    judged = [record for record in records if record.verdict is not Verdict.NOT_SUPPORTED and record.rule]
    if records and not judged:
        pytest.skip(f"not claimed: {records[0].reason}")
