"""Whether each verdict follows from what is on record: the case, the backend's answer, the digest of its output.

The specification's decision is made anew, the rules of judging are applied to the recorded answer, and the reference
computes what was executed, so that a pass can be held against the digest of what the backend left there. What nothing
on record can show is believed: that the backend answered so, and what it said where it raised an exception.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

import msgspec

from dml_conformance.conformance.judge.accuracy import PossibleErrors
from dml_conformance.conformance.judge.blame import Blame, is_failed_execution
from dml_conformance.conformance.judge.compare import wanted_text
from dml_conformance.conformance.judge.judge import Judgement, Pending, reproduce_line
from dml_conformance.conformance.judge.recomputed import Results, recomputed_results, right_digest
from dml_conformance.conformance.packages.verify.cases import place
from dml_conformance.conformance.packages.verify.findings import Findings, expected
from dml_conformance.conformance.packages.verify.replayed import ReplayedJudge
from dml_conformance.conformance.packages.waivers import Waivers, waived_reason
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.spec.case import Case
from dml_conformance.spec.forms import FormError
from dml_conformance.spec.operator import outputs
from dml_conformance.spec.registry import rules
from dml_conformance.spec.rules import CLAIMS
from dml_conformance.spec.tensor_rules import BINDING, IN_PLACE, INPUTS_UNCHANGED, OUTPUT_BOUNDS, STRIDES
from dml_conformance.strategies.cases import execution_rules

CHECK = "verdicts"

# Bytes of a case's tensors. Those that the suite makes are computed whatever they need; those that only a package has,
# up to here, which is a hundred times what the search makes.
MOST_UNPLANNED = 2**26

# What `Judge.describe` says of a case whatever its verdict.
_FACTS = ("case", "operator", "level", "expected", "data_type", "index_type", "rank", "layout", "pattern")
_AFTER_EXECUTION = (Verdict.PASS, Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.NOT_SUPPORTED, Verdict.ERROR)


class VerdictCheck:
    """Checks records one by one.

    Args:
        judge: replays the answers on record.
        waivers: of the package.
        findings: takes what is wrong.

    Attributes:
        computed: how many outputs were computed.
    """

    def __init__(self, judge: ReplayedJudge, waivers: Waivers, findings: Findings) -> None:
        self._judge = judge
        self._waivers = waivers
        self._findings = findings
        self.computed = 0
        self._blame = Blame(judge.backend_name, judge.reading, judge.tolerance)

    def check(self, number: int, record: Record, planned: Case | None) -> None:
        """Check one record.

        Args:
            number: in the stream, from 1 on.
            record: of the right form.
            planned: the case that stands there by the suite, if that is known.
        """

        def wrong(field: str, problem: str) -> None:
            self._findings.add(CHECK, RESULTS, f"{place(number, record)}: {field}", problem)

        case = self._case(record, planned, wrong)
        if case is None:
            return
        self._check_losses(record, wrong)
        verdict, reason = record.verdict, record.reason
        if verdict is Verdict.WAIVED:
            if record.waived not in NOT_CONFORMANT:
                wrong("waived", expected("fail, crash or timeout", record.waived))
                return
            verdict = Verdict(record.waived)
            reason = self._waived(record, verdict, wrong)
        elif record.waived:
            wrong("waived", expected("", record.waived))
        self._judge.take(record.answered, verdict, reason)
        decided = self._judge.decide(case)
        wanted = self._judge.describe(case, record.phase, Judgement(verdict, record.rule))
        for name in _FACTS:
            if getattr(record, name) != getattr(wanted, name):
                wrong(name, expected(getattr(wanted, name), getattr(record, name)))
        self._check_reproduce(record, case, verdict, wrong)
        if isinstance(decided, Pending):
            if planned is None and decided.needed > MOST_UNPLANNED:
                wrong(
                    "case_json", f"tensors of {decided.needed:,} bytes, which no case of the search has; not computed"
                )
                return
            self._check_executed(record, verdict, decided, wrong)
        else:
            for name, value, found in (
                ("verdict", decided.verdict, verdict),
                ("rule", decided.rule, record.rule),
                ("answered", decided.answered, record.answered),
                ("output", "", record.output),
                ("difference_count", 0, record.difference_count),
                ("differences", 0, len(record.differences)),
            ):
                if value != found:
                    wrong(name, expected(value, found))
            # Of what was only observed the backend's own words follow; a pass has none.
            if verdict is Verdict.PASS:
                same = record.reason == decided.reason
            else:
                same = verdict is not Verdict.OBSERVED or record.reason.startswith(decided.reason)
            if not same:
                wrong("reason", expected(decided.reason, record.reason))

    def _case(self, record: Record, planned: Case | None, wrong: Any) -> Case | None:
        """The case, after its recorded form was held against the one that the suite has or, without it, decides."""
        content = record.case_json
        try:
            case = planned or Case.from_json(content).read(self._judge.reading)
        except (FormError, RecursionError) as error:
            wrong("case_json", str(error))
            return None
        # Descriptor, level, data and placement are fixed by the digest; what is left are the labels.
        labels = {
            "rule": case.rule,
            "expect": {"decision": str(case.outcome), "rules": list(case.broken)},
            "origin": case.origin,
        }
        for name, value in labels.items():
            if content.get(name) != value:
                wrong(f"case_json.{name}", expected(value, content.get(name)))
        for name in content.keys() - {*case.to_json(), "placement"}:
            wrong("case_json", f"has what no case has, {name[:100]!a}")
        if record.phase is Phase.SEARCH:
            self._check_sound(case, wrong)
        if (record.phase is Phase.THROUGHPUT) is not case.timed:
            wrong("case_json.timed", expected(record.phase is Phase.THROUGHPUT, case.timed))
        if record.phase in (Phase.THROUGHPUT, Phase.CHAINS) and record.judged not in NOT_CONFORMANT:
            wrong("verdict", expected(f"one of {', '.join(NOT_CONFORMANT)} in {record.phase}", record.verdict))
        if planned is not None:
            decided = Case.of(case.desc, case.level).read(self._judge.reading)
            if (decided.outcome, decided.broken) != (case.outcome, case.broken):
                wrong("case_json.expect", expected(str(decided.outcome), str(case.outcome)))
        return case

    def _check_sound(self, case: Case, wrong: Any) -> None:
        """Whether a case is about its rule: breaks it and no other, or, if no descriptor can break it, breaks none."""
        is_kept = case.rule in rules() and rules()[case.rule].check is None
        if is_kept and case.broken:
            wrong("case_json.rule", f"a case of {case.rule} keeps every rule; this one breaks {case.broken[0]}")
        if not is_kept and case.broken != (case.rule,):
            wrong("case_json.rule", f"a case of {case.rule} breaks that rule alone; found {', '.join(case.broken)}")

    def _check_losses(self, record: Record, wrong: Any) -> None:
        """Whether a case is blamed for processes that were lost once they are too many; what was repeated failed."""
        settled = self._blame.settled(record)
        if settled.verdict is not record.verdict:
            wrong("verdict", f"{expected(settled.verdict, record.verdict)}, as {settled.reason}")
        if record.repeated and not is_failed_execution(record):
            wrong("repeated", expected("", record.repeated))

    def _waived(self, record: Record, verdict: Verdict, wrong: Any) -> str:
        """Whether a waiver covers a waived record; returns the reason that was set aside."""
        waiver = self._waivers.covering(msgspec.structs.replace(record, verdict=verdict))
        if waiver is None:
            wrong("verdict", f"waived, but no waiver of the package covers it; expected {verdict}")
            return record.reason
        words = waived_reason(waiver, "")
        if not record.reason.startswith(words):
            wrong("reason", f"expected the words of the waiver that covers it, {words!a}")
        return record.reason.removeprefix(words)

    def _check_reproduce(self, record: Record, case: Case, verdict: Verdict, wrong: Any) -> None:
        """The line that reproduces a case is pasted into shells: it has to be what it looks like."""
        if verdict is Verdict.PASS:
            if record.reproduce:
                wrong("reproduce", expected("", record.reproduce))
            return
        try:
            words = shlex.split(record.reproduce)
            name = words[words.index("--backend") + 1]
        except (ValueError, IndexError):
            name = ""
        if record.reproduce != reproduce_line(case, name, self._judge.reading, self._judge.tolerance):
            wrong("reproduce", "expected the line that runs this case again, and nothing else")

    def _check_executed(self, record: Record, verdict: Verdict, pending: Pending, wrong: Any) -> None:
        """A case that was executed: its output's digest against the reference's."""
        if verdict not in _AFTER_EXECUTION:
            wrong("verdict", expected(f"one of {', '.join(_AFTER_EXECUTION)}", verdict))
            return
        allowed, stated = {pending.rule}, execution_rules(record.operator, pending.case.level)
        if verdict in NOT_CONFORMANT:
            allowed |= {f"{record.operator}.values", STRIDES, IN_PLACE}.intersection(stated)
        if verdict is Verdict.FAIL:
            allowed |= {CLAIMS, OUTPUT_BOUNDS, INPUTS_UNCHANGED, BINDING}
            allowed |= {f"{record.operator}.accuracy"}.intersection(stated)
        if record.rule not in allowed:
            wrong("rule", expected(pending.rule, record.rule))
        contents = self._judge.contents(pending)
        if isinstance(contents, Judgement):
            if verdict is not contents.verdict:
                wrong("verdict", expected(contents.verdict, verdict))
            return
        if verdict is Verdict.ERROR:
            wrong("verdict", f"a fault of the harness, but there is data for this case: {record.reason!a}")
            return
        if verdict not in (Verdict.PASS, Verdict.FAIL):
            if record.differences or record.difference_count:
                wrong("differences", f"expected none of a case that came to {verdict}")
            return
        results = recomputed_results(pending, contents, self._judge.tolerance)
        self.computed += 1
        possible = PossibleErrors()
        digest = right_digest(pending.case, results, possible.add)
        if verdict is Verdict.PASS:
            if record.output != digest:
                wrong("output", f"a pass, but not what the case computes: {expected(digest, record.output)}")
            if record.differences or record.difference_count:
                wrong("differences", "expected none of a pass")
            if record.reason:
                wrong("reason", expected("", record.reason))
            if problem := possible.why_not(record.errors):
                wrong("errors", problem)
            return
        self._check_failed(record, pending, results, digest, wrong)

    def _check_failed(
        self,
        record: Record,
        pending: Pending,
        results: Results,
        digest: str,
        wrong: Any,
    ) -> None:
        """A wrong output: its digest differs, and the differences shown are against what the case computes."""
        if record.rule in (OUTPUT_BOUNDS, INPUTS_UNCHANGED):
            if record.difference_count or record.differences:
                wrong("differences", f"expected none of a case that fails by {record.rule}")
            return
        if pending.case.timed and not record.differences:
            return  # of a large output it may be known that nothing was written, and no more
        if not record.differences or record.difference_count < len(record.differences):
            wrong("difference_count", expected("at least one difference", record.difference_count))
            return
        slots = outputs(pending.case.desc)
        named = [slot for slot in slots if re.search(rf"(^|\s){re.escape(slot.name)}: ", record.reason)]
        if len(slots) > 1 and not named:
            wrong("reason", f"expected the output that differs, one of {', '.join(slot.name for slot in slots)}")
            return
        key, _, _, output = (named or slots)[0]
        fixed = False
        for difference in record.differences:
            where = difference.coordinates
            if len(where) != len(output.sizes) or not all(
                0 <= n < size for n, size in zip(where, output.sizes, strict=True)
            ):
                wrong("differences", f"there is no element {list(where)} in the output")
                return
            ((text, bits),) = wanted_text(results[key].at(where), ([0],) * len(where), output.data_type)
            if difference.expected_bits != bits or (not bits and difference.expected != text):
                wrong(f"differences at {list(where)}", expected(bits or text, difference.expected_bits))
            elif difference.actual_bits == bits:
                wrong(f"differences at {list(where)}", f"no difference: both are {bits}")
            fixed = fixed or bool(bits)
        if not record.output or (fixed and record.output == digest):
            wrong("output", f"a wrong value, but {'its digest is the right one' if record.output else 'no digest'}")
