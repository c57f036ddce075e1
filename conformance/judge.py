"""Judging one case on one backend: ask for its decision, execute, compare, and say which rule the verdict is about."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from backends.base import Answer, Backend, Binding, Capabilities, Unsupported
from backends.reference import expected_output
from conformance.compare import EQUAL, Comparison, compare
from conformance.memory import InputMemory, OutputMemory, bind_input, bind_output, memory_elements
from reports.records import Phase, Record, Verdict
from spec.case import Case
from spec.divergences import recognise
from spec.operator import OperatorSpec
from spec.registry import rule as rule_named
from spec.registry import spec_of
from spec.rules import DESCRIPTOR_CATEGORIES, Category
from spec.validator import Outcome, Reading, decide
from strategies.tensors import layout_kind
from strategies.values import DATA_PATTERNS, buffer_size, materialize

# Larger cases are decided on, not executed: inputs, outputs, what is expected and what came back are held at once.
MAX_BYTES = 2**31

# What is said of memory; a wrong value in a case about it is none of its business.
OUTPUT_BOUNDS, INPUTS_UNCHANGED = "EXECUTION.output-bounds", "EXECUTION.inputs-unchanged"


class Judgement(NamedTuple):
    """A verdict and what it rests on, before it becomes a record."""

    verdict: Verdict
    rule: str
    answered: str = ""
    reason: str = ""
    seconds: float = 0.0
    comparison: Comparison = EQUAL


class Judge:
    """Judges cases on one backend. It holds the backend to its claims and to nothing else.

    Args:
        backend: the backend.
        backend_name: how the command line names it, for the lines that reproduce a case.
        reading: what counts as the specification.
    """

    def __init__(self, backend: Backend, backend_name: str, reading: Reading = Reading.DOCUMENTED) -> None:
        self.backend = backend
        self.backend_name = backend_name
        self.reading = reading
        self.capabilities: Capabilities = backend.capabilities()
        self._executes = self.capabilities.executes and Category.EXECUTION in self.capabilities.enforces
        self._levels = frozenset(self.capabilities.levels)
        self._operators = frozenset(self.capabilities.operators)

    def record(self, case: Case, phase: Phase) -> Record:
        """Judge a case and describe the outcome for the reports."""
        case = case.read(self.reading)
        judged = self.judge(case)
        spec = spec_of(case.desc)
        output = getattr(case.desc, spec.output_fields[0].attribute)
        index_type, pattern = _index_facts(spec, case)
        passed = judged.verdict is Verdict.PASS
        return Record(
            case=case.digest,
            operator=spec.name,
            level=case.level.label,
            phase=phase,
            rule=judged.rule,
            verdict=judged.verdict,
            expected=str(case.outcome),
            answered=judged.answered,
            reason=judged.reason,
            data_type=output.data_type.name if output is not None else "",
            index_type=index_type,
            rank=len(output.sizes) if output is not None else 0,
            layout=_layout(spec, case),
            pattern=pattern if self._is_executed(case) else "",
            seconds=judged.seconds,
            case_json=case.to_json(),
            differences=judged.comparison.shown,
            difference_count=judged.comparison.wrong,
            reproduce="" if passed else reproduce_line(case, self.backend_name, self.reading),
        )

    def judge(self, case: Case) -> Judgement:
        """The verdict on one case."""
        case = case.read(self.reading)
        case = msgspec.structs.replace(case, rule=self._rule(case))
        if case.operator not in self._operators:
            return Judgement(Verdict.NOT_SUPPORTED, case.rule, reason=f"operator {case.operator} is not claimed")
        if case.level not in self._levels:
            return Judgement(Verdict.NOT_SUPPORTED, case.rule, reason=f"level {case.level} is not claimed")
        started = time.perf_counter()
        try:
            answer = self.backend.validate(case.desc, case.level)
        except Unsupported as error:
            return Judgement(Verdict.NOT_SUPPORTED, case.rule, reason=str(error) or "not claimed")
        except Exception as error:
            reason = f"validate raised {_told(error)}{self._known(case, 'crash')}"
            return Judgement(Verdict.CRASH, case.rule, reason=reason)
        if not isinstance(answer, Answer):
            return Judgement(Verdict.CRASH, case.rule, reason=f"validate returned {answer!r}, not an Answer")
        seconds = time.perf_counter() - started
        answered = "accept" if answer.accepted else "reject"
        if case.outcome is Outcome.UNSPECIFIED:
            reason = answered + "ed" + (f": {answer.reason}" if answer.reason else "")
            return Judgement(Verdict.OBSERVED, case.rule, answered, reason, seconds)
        if case.outcome is Outcome.REJECT:
            return self._judge_invalid(case, answer, answered, seconds)
        if not answer.accepted:
            reason = "rejected a valid descriptor" + (f": {answer.reason}" if answer.reason else "")
            return Judgement(Verdict.FAIL, case.rule, answered, reason + self._known(case, answered), seconds)
        if self._is_executed(case):
            return self._judge_execution(case, answered, seconds)
        if case.rule and rule_named(case.rule).category not in self.capabilities.enforces:
            reason = f"category {rule_named(case.rule).category} is not claimed"
            return Judgement(Verdict.NOT_SUPPORTED, case.rule, answered, reason, seconds)
        if self.capabilities.enforces.isdisjoint(DESCRIPTOR_CATEGORIES):
            return Judgement(Verdict.NOT_SUPPORTED, case.rule, answered, "decisions are not claimed", seconds)
        reason = ""
        if case.data:
            reason = "decided only; " + ("no page says what it computes" if case.broken else "execution is not claimed")
        return Judgement(Verdict.PASS, case.rule, answered, reason, seconds)

    def _is_executed(self, case: Case) -> bool:
        """What is valid by observation alone is not: nothing says what executing it would do."""
        return bool(case.data) and case.outcome is Outcome.ACCEPT and not case.broken and self._executes

    def _rule(self, case: Case) -> str:
        """Id of the rule that a verdict is about.

        It is one of execution only if the case is executed. A valid descriptor that is decided on alone keeps all rules
        of descriptors, and is about none in particular unless it says so.
        """
        if case.broken:
            return case.rule if case.rule in case.broken else case.broken[0]
        if self._is_executed(case):
            return case.rule or f"{case.operator}.values"
        return case.rule if case.rule and rule_named(case.rule).is_descriptor_rule else ""

    def _judge_invalid(self, case: Case, answer: Answer, answered: str, seconds: float) -> Judgement:
        """A backend that does not claim a category is not held to it, and gets no credit for it either.

        The same goes for a rule that the level asked for has and the level by whose rules the backend decides has not.
        """
        rule = case.rule
        claimed = [name for name in case.broken if rule_named(name).category in self.capabilities.enforces]
        if not claimed:
            category = rule_named(rule).category
            return Judgement(Verdict.NOT_SUPPORTED, rule, answered, f"category {category} is not claimed", seconds)
        own_level = self.capabilities.decides_at
        if own_level is not None and case.level < own_level:
            broken_there = decide(case.desc, own_level, self.reading).rules
            if not set(claimed) & set(broken_there):
                reason = f"not claimed: level {own_level}, by whose rules it decides, has no such rule"
                return Judgement(Verdict.NOT_SUPPORTED, rule, answered, reason, seconds)
        if answer.accepted:
            reason = f"accepted, though the rule says: {rule_named(rule).statement}"
            return Judgement(Verdict.FAIL, rule, answered, reason + self._known(case, answered), seconds)
        return Judgement(Verdict.PASS, rule, answered, seconds=seconds)

    def _known(self, case: Case, answer: str) -> str:
        """What a reason ends with where DirectML's own library is on record for the same; it excuses nothing."""
        level = self.capabilities.decides_at or case.level
        known = recognise(case.desc, decide(case.desc, level, self.reading), answer)
        return "" if known is None else f"; DirectML itself does so: {known.id}"

    def _judge_execution(self, case: Case, answered: str, seconds: float) -> Judgement:
        spec = spec_of(case.desc)
        tensors = [getattr(case.desc, field.attribute) for field in spec.tensor_fields]
        needed = sum(buffer_size(tensor) + tensor.guaranteed_base_offset_alignment for tensor in tensors)
        if needed > MAX_BYTES:
            reason = f"the tensors need {needed} bytes, the harness executes cases of up to {MAX_BYTES}"
            return Judgement(Verdict.ERROR, case.rule, answered, reason, seconds)
        rule = case.rule if rule_named(case.rule).category is Category.EXECUTION else f"{spec.name}.values"
        try:
            contents = materialize(case)
        except ValueError as error:
            return Judgement(Verdict.ERROR, rule, answered, f"there is no such data: {error}", seconds)
        inputs = {
            attribute: bind_input(getattr(case.desc, attribute), content) for attribute, content in contents.items()
        }
        bound = {attribute: memory.binding for attribute, memory in inputs.items()}
        expected = expected_output(case.desc, bound)
        outputs = {field.attribute: bind_output(getattr(case.desc, field.attribute)) for field in spec.output_fields}
        for attribute, memory in outputs.items():
            memory.poison(expected[attribute].values)
        started = time.perf_counter()
        try:
            self.backend.execute(
                case.desc, case.level, bound, {attribute: memory.binding for attribute, memory in outputs.items()}
            )
        except Unsupported as error:
            return Judgement(Verdict.NOT_SUPPORTED, rule, answered, str(error) or "not claimed", seconds)
        except Exception as error:
            return Judgement(Verdict.CRASH, rule, answered, f"execute raised {_told(error)}", seconds)
        seconds += time.perf_counter() - started
        return self._judge_memory(case, rule, answered, seconds, inputs, outputs, expected)

    def _judge_memory(
        self,
        case: Case,
        rule: str,
        answered: str,
        seconds: float,
        inputs: Mapping[str, InputMemory],
        outputs: Mapping[str, OutputMemory],
        expected: Mapping[str, Any],
    ) -> Judgement:
        spec = spec_of(case.desc)
        for field in spec.output_fields:
            outside = outputs[field.attribute].changed_outside()
            if outside:
                reason = f"{field.name}: bytes changed outside the tensor, at {outside} from its start"
                return Judgement(Verdict.FAIL, OUTPUT_BOUNDS, answered, reason, seconds)
        for field in spec.input_fields:
            if not inputs[field.attribute].is_unchanged:
                reason = f"{field.name}: the input's memory was written to"
                return Judgement(Verdict.FAIL, INPUTS_UNCHANGED, answered, reason, seconds)
        for field in spec.output_fields:
            wanted, tensor = expected[field.attribute], outputs[field.attribute].tensor
            allowed = None
            if wanted.open is not None and spec.index is not None:
                source: Binding = inputs[spec.index.indexed].binding
                allowed = memory_elements(getattr(case.desc, spec.index.indexed), source)
            found = compare(outputs[field.attribute].elements, wanted.values, tensor.data_type, wanted.open, allowed)
            if found.wrong:
                reason = f"{field.name}: {found.wrong} of {tensor.element_count} elements differ"
                blamed = f"{spec.name}.values" if rule in (OUTPUT_BOUNDS, INPUTS_UNCHANGED) else rule
                return Judgement(Verdict.FAIL, blamed, answered, reason, seconds, found)
        return Judgement(Verdict.PASS, rule, answered, seconds=seconds)


def reproduce_line(case: Case, backend_name: str, reading: Reading = Reading.DOCUMENTED) -> str:
    """One shell line that judges the case again."""
    content = case.to_json()
    del content["expect"], content["origin"]
    text = msgspec.json.encode(content).decode()
    spec = "" if reading is Reading.DOCUMENTED else f"--spec {reading} "
    return f"dml-conformance replay {spec}--backend {shlex.quote(backend_name)} {shlex.quote(text)}"


def _told(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= 500 else text[:497] + "..."


def _index_facts(spec: OperatorSpec, case: Case) -> tuple[str, str]:
    """The index tensor's type, and the pattern of the indices or, without indices, of the values."""
    if spec.index is not None:
        tensor = getattr(case.desc, spec.index.indices)
        recipe = case.data.get(spec.index.indices)
        return (tensor.data_type.name if tensor is not None else ""), (recipe.pattern if recipe else "")
    patterns = [recipe.pattern for recipe in case.data.values() if recipe.pattern in DATA_PATTERNS]
    return "", patterns[0] if patterns else ""


def _layout(spec: OperatorSpec, case: Case) -> str:
    """The least ordinary layout among the tensors of a case that is executed."""
    if not case.data:
        return ""
    kinds = {layout_kind(getattr(case.desc, field.attribute)) for field in spec.tensor_fields}
    for kind in ("overlapping", "broadcast", "permuted", "padded"):
        if kind in kinds:
            return kind
    return "packed"
