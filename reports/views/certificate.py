"""The certificate: the machine-readable outcome of a campaign, `certificate.json`.

Its form is `Certificate`; the schema published in `docs/schemas/certificate.schema.json` is made from the types and
texts here (`reports.views.schemas`), so the two cannot part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from dml_conformance.backends.processes.losses import LossCause
from dml_conformance.reports.model.errors import ErrorCounts
from dml_conformance.reports.model.networks import LayerResult, NetworkResult, NetworkVerdict
from dml_conformance.reports.model.records import (
    Caches,
    Caveat,
    Count,
    Difference,
    LevelLabel,
    Phase,
    Repeated,
    Sha256,
    Strength,
    Throughput,
    Verdict,
)
from dml_conformance.reports.model.summary import (
    CellVerdict,
    Conformance,
    ExecutedLevels,
    FailureGroup,
    FailureKind,
    RuleResult,
    Summary,
    Unclaimed,
)
from dml_conformance.reports.model.text import MALFORMED, pretty_json
from dml_conformance.spec.errors import BadInputError

Positive = Annotated[float, msgspec.Meta(gt=0)]
LINE = 240  # characters
Answer = Literal["accept", "reject", ""]
Decision = Literal["ACCEPT", "REJECT", "UNSPECIFIED"]


class CertificateError(BadInputError, ValueError):
    """Text that is not a certificate; the message names the field and what was expected."""


class CertificateEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything in a certificate: every field is there, and no other."""


_E = TypeVar("_E", bound=msgspec.Struct)


def _entry(kind: type[_E], /, **values: Any) -> _E:
    """An entry whose values are held against its types."""
    return msgspec.convert(values, kind)


def _read_from(source: object, kind: type[_E], /, **values: Any) -> _E:
    """An entry with the values of those attributes of `source` that it has too, but for the values given."""
    names = [name for name in kind.__struct_fields__ if name not in values]
    return _entry(kind, **{name: getattr(source, name) for name in names}, **values)


class SchemaVersion(CertificateEntry, frozen=True, kw_only=True):
    """What this document is.

    Attributes:
        id: of the schema.
        version: raised when a reader of the old form could misread the new one.
    """

    id: Literal["urn:dml-conformance:certificate"]
    version: Literal[2]


class Suite(CertificateEntry, frozen=True, kw_only=True):
    """The suite that ran.

    Attributes:
        name: of the package.
        version: of the package.
        strength: what it finds of what it is meant to find; null where that was not measured.
    """

    name: Literal["dml-conformance"]
    version: str
    strength: Strength | None = None


class ClaimedScope(CertificateEntry, frozen=True, kw_only=True, omit_defaults=True):
    """What of some operators' descriptors a backend claims; a field that is not there restricts nothing.

    Attributes:
        operators: that it is about; without them all.
        data_types: by field of the descriptor, or by `*` for each that has none of its own.
        ranks: dimension counts that tensors have.
        most_elements: that a tensor has.
        strides: false where tensors are packed.
        attributes: by field the values that it has; without one in it a descriptor is claimed.
        in_place: false where no output is bound to the memory of an input.
        least_alignment: bytes of `GuaranteedBaseOffsetAlignment` that each tensor states.
    """

    operators: list[str] = []
    data_types: dict[str, list[str]] = {}
    ranks: list[int] = []
    most_elements: Count | None = None
    strides: bool = True
    attributes: dict[str, list[str | int | float]] = {}
    in_place: bool = True
    least_alignment: Count = 0


class BackendClaims(CertificateEntry, frozen=True, kw_only=True):
    """What the backend says of itself; it is held to all of this and to nothing else.

    Attributes:
        name: as on the command line, `torch:cuda:0`.
        device: the hardware, in the backend's words.
        versions: of the libraries and drivers that its answers depend on.
        levels: feature levels that it claims.
        operators: operators that it claims.
        enforces: categories of rules that its decisions claim to cover.
        executes: whether it executes at all.
        decides_at: the level by whose rules it decides, whatever level it is asked for; null where it goes by that one.
        accelerated: whether it executes on a device other than the host's processor.
        scopes: what of the operators' descriptors it claims, where that is not all.
        form: the form that descriptors reach it in, `DirectML.h` or `ONNX`, where only those that have it are claimed.
        paths: where its work is done in one of several ways, which part of it is done in which; as `shared code`,
            modules of the suite that decide or compute and that its process imported with it.
    """

    name: str
    device: str
    versions: dict[str, str]
    levels: list[LevelLabel]
    operators: list[str]
    enforces: list[str]
    executes: bool
    decides_at: LevelLabel | None
    accelerated: bool = False
    scopes: list[ClaimedScope] = []
    form: str = ""
    paths: dict[str, str] = {}


class Run(CertificateEntry, frozen=True, kw_only=True):
    """What was asked for, and when it ran.

    Attributes:
        operators: in the order of DML_OPERATOR_TYPE.
        levels: ascending.
        budget: quick, standard or full.
        seed: of everything random; the same seed makes the same cases.
        spec: what counts as the specification: `documented`, what the pages say, or `observed`, also what the library
            was seen to do where they are silent.
        accuracy: tolerance whose bounds results of arithmetic were held to.
        repeat: how often each case was executed, with other poison in its outputs each time; most of them exactly so
            often.
        started: ISO 8601, UTC.
        finished: ISO 8601, UTC; "" where the run was cut off.
        complete: whether every planned case has its record.
        every_level: whether every case was executed at every level.
    """

    operators: list[str]
    levels: list[LevelLabel]
    budget: str
    seed: int
    spec: Literal["documented", "observed"]
    accuracy: str = "directml"
    repeat: Count = 1
    started: str
    finished: str
    complete: bool
    every_level: bool = False


class VerdictCounts(CertificateEntry, frozen=True, kw_only=True):
    """Cases by verdict; each case ends in exactly one.

    Attributes:
        pass: as the specification says.
        fail: a wrong decision, a wrong value, or memory touched that is not the output's.
        not-supported: what the backend does not claim.
        waived: a known difference that a waiver names.
        crash: the backend raised an exception, or its process died.
        timeout: no answer in time.
        observed: the specification leaves it open; recorded, not judged.
        error: a fault of the harness.
    """

    passed: Count = msgspec.field(name="pass")
    fail: Count
    not_supported: Count = msgspec.field(name="not-supported")
    waived: Count
    crash: Count
    timeout: Count
    observed: Count
    error: Count

    @classmethod
    def of(cls, counts: Mapping[Verdict, int]) -> VerdictCounts:
        return msgspec.convert({str(verdict): counts.get(verdict, 0) for verdict in Verdict}, cls)


class MatrixCell(CertificateEntry, frozen=True, kw_only=True):
    """One operator at one level.

    Attributes:
        operator: `GATHER`.
        level: `3_0`.
        verdict: what its cases come to.
        counts: its cases by verdict; those that none came to are left out.
    """

    operator: str
    level: LevelLabel
    verdict: CellVerdict
    counts: dict[Verdict, Count]


class DecisionCount(CertificateEntry, frozen=True, kw_only=True):
    """Cases about one rule that came out the same way.

    Attributes:
        rule: id of the rule; "" where a case is about none in particular.
        expected: the specification's decision.
        answered: the backend's; "" where it was not asked.
        verdict: what came of it.
        count: how many cases.
    """

    rule: str
    expected: Decision
    answered: Answer
    verdict: Verdict
    count: Count


class CoverageCount(CertificateEntry, frozen=True, kw_only=True):
    """Judged cases with one trait that the specification accepts.

    Attributes:
        facet: which trait.
        value: of the trait; "" where a case has none, as TILE has no index type.
        operator: `GATHER`.
        cases: how many.
    """

    facet: Literal["data_type", "index_type", "rank", "layout", "pattern"]
    value: str
    operator: str
    cases: Count


class ReasonCount(CertificateEntry, frozen=True, kw_only=True):
    """Why cases were not judged.

    Attributes:
        verdict: not-supported or waived.
        reason: in the backend's or the waiver's words.
        count: how many cases.
    """

    verdict: Verdict
    reason: str
    count: Count


class Sample(CertificateEntry, frozen=True, kw_only=True):
    """One failed case; the results file has all of them.

    Attributes:
        case: its digest: SHA-256 over descriptor, level and data.
        level: `3_0`.
        phase: which phase made it.
        expected: the specification's decision.
        answered: the backend's; "" where it was not asked.
        reason: what is wrong, in a sentence.
        difference_count: how many output elements differ.
        differences: the first of them.
        reproduce: one shell line that runs the case again.
    """

    case: Sha256
    level: LevelLabel
    phase: Phase
    expected: Decision
    answered: Answer
    reason: str
    difference_count: Count
    differences: list[Difference]
    reproduce: str


class Failure(CertificateEntry, frozen=True, kw_only=True):
    """The failures of one kind, operator and rule.

    Attributes:
        kind: a wrong decision, a wrong output, a crash, a timeout, or an error of the harness.
        operator: `GATHER`.
        rule: id of the rule; "" where a case is about none in particular.
        count: how many cases.
        levels: at which they failed, ascending.
        samples: the first, and the smallest.
    """

    kind: FailureKind
    operator: str
    rule: str
    count: Count
    levels: list[LevelLabel]
    samples: list[Sample]


class UnspecifiedCount(CertificateEntry, frozen=True, kw_only=True):
    """What the backend did where the specification leaves it open.

    Attributes:
        operator: `GATHER`.
        rule: id of the rule.
        erratum: id of the erratum that leaves it open, or "".
        count: how many cases.
        accepted: how many it accepted.
        rejected: how many it rejected.
    """

    operator: str
    rule: str
    erratum: str
    count: Count
    accepted: Count
    rejected: Count


class Speed(CertificateEntry, frozen=True, kw_only=True):
    """One operator timed with one data type at one size.

    Attributes:
        operator: `GATHER`.
        data_type: of the elements.
        output_bytes: size of the output that was asked for; 0 where it is not known, as in old results.
        caches: `warm`: each run found what the one before left there; `cold`: they were emptied before each run.
        shape: the case in words.
        useful_bytes: each input element read, each index, each output element written, once.
        seconds: of each timed run.
        median_seconds: of them.
        bytes_per_second: useful bytes by the median.
        copy_bytes_per_second: of the best copy that was measured of as many bytes or more, in the same run and with
            caches in the same state; bytes read plus bytes written.
        fraction_of_copy: the one by the other.
        caveats: what is to be known of it before it is believed. `not plausible`: it is not the time that passed for
            the judge meanwhile, or more than memory takes. `launch-bound`: hardly slower than the smallest output.
            `disturbed`: runs, or copies that are no launches, differ by more than a fifth. And why it is above the
            copy: `cached`: with cold caches or at a larger size it is not; `unlike a copy`: it moves bytes in another
            way, or no copy that was measured is as fast as the device.
    """

    operator: str
    data_type: str
    output_bytes: Count
    caches: Caches
    shape: str
    useful_bytes: Count
    seconds: list[Positive]
    median_seconds: Positive
    bytes_per_second: Positive
    copy_bytes_per_second: Positive
    fraction_of_copy: Positive
    caveats: list[Caveat] = []


class ErrorShare(CertificateEntry, frozen=True, kw_only=True):
    """How many results have an error of about the same size.

    Attributes:
        ulp: the largest error that is counted here; that of the entry before is the largest that is not.
        count: how many results.
    """

    ulp: Positive
    count: Count


class Accuracy(CertificateEntry, frozen=True, kw_only=True):
    """How far the results of an operator with one data type were from the exact values, in units in the last place.

    Attributes:
        operator: `ELEMENT_WISE_EXP`.
        data_type: of the results.
        results: how many; those that are finite where the exact value is. 0 where the part of the bound alone is known.
        largest_ulp: the largest error. Near the zeros of a function it says little, and an absolute bound counts.
        most_ulp: what 99.9 % of the results do not exceed; the end of an entry of `errors`, or the largest.
        errors: the histogram, from small errors to large ones.
        of_the_bound: the largest part of what the bound allows beyond rounding: 1 is the last number that is right.
        wrong: how many results are farther off than their bound allows.
    """

    operator: str
    data_type: str
    results: Count
    largest_ulp: Annotated[float, msgspec.Meta(ge=0)]
    most_ulp: Annotated[float, msgspec.Meta(ge=0)]
    errors: list[ErrorShare]
    of_the_bound: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    wrong: Count = 0


class LayerEntry(CertificateEntry, frozen=True, kw_only=True):
    """A distinct layer of a network.

    Attributes:
        nodes: names in the model, one for each time that it is executed.
        operator: of its descriptor.
        case: digest of its case.
        verdict: of the case; null where it has none.
        reason: why it is no pass.
        of_the_bound: the largest part of what the bound allows beyond rounding; null where nothing is rounded.
        largest_ulp: the largest error of those results whose error is known.
        seconds: the median of the timed runs, once; null where it was not timed.
        copy_seconds: what the device's best copy of as many bytes takes.
    """

    nodes: list[str]
    operator: str
    case: Sha256
    verdict: Verdict | None
    reason: str = ""
    of_the_bound: Annotated[float, msgspec.Meta(ge=0)] | None = None
    largest_ulp: Annotated[float, msgspec.Meta(ge=0)] | None = None
    seconds: Positive | None = None
    copy_seconds: Positive | None = None


class UnmappedEntry(CertificateEntry, frozen=True, kw_only=True):
    """A node of a network that no case judges.

    Attributes:
        node: name in the model.
        type: of the operator.
        reason: in words.
    """

    node: str
    type: str
    reason: str


class ChainEntry(CertificateEntry, frozen=True, kw_only=True):
    """A network at reduced size, executed as the chain of its layers, each on what those before left.

    Figures are parts of the standard deviation of an output's values, the largest of all outputs.

    Attributes:
        reason: why not all layers were executed, or which was wrong, with its node.
        failed: digest of the case of the layer that was wrong.
        error: the largest difference from the reference's chain, in which each layer's results are rounded once; null
            where not all layers were executed, or one is no number.
        allowed: the widest enclosure, carried through all layers; null where it has no end. From 1 on it says nothing.
        segment: the widest, where enclosures begin anew after each normalization; null where it has no end, or where
            there is no normalization.
        segment_end: the node whose results are that wide.
    """

    reason: str = ""
    failed: Sha256 | None = None
    error: Annotated[float, msgspec.Meta(ge=0)] | None = None
    allowed: Annotated[float, msgspec.Meta(ge=0)] | None = None
    segment: Annotated[float, msgspec.Meta(ge=0)] | None = None
    segment_end: str = ""


class NetworkEntry(CertificateEntry, frozen=True, kw_only=True):
    """A network, judged layer by layer and as a chain.

    Attributes:
        name: `resnet50-fp16-b1`: the network, the type of its elements, and how many inputs it takes at a time.
        verdict: `right`: every layer passed, alone and in the chain; `wrong`: a layer failed, crashed or timed out;
            `incomplete`: neither, as some were not judged, or a node is mapped to no descriptor.
        layers: the distinct ones, in the order of the network.
        unmapped: nodes that are none of them.
        seconds: the sum over all layers, each as often as it is executed; null where one was not timed.
        copy_seconds: what the device's best copies of as many bytes take.
        chain: what it came to from end to end; null where it was not executed so.
    """

    name: str
    verdict: NetworkVerdict
    layers: list[LayerEntry]
    unmapped: list[UnmappedEntry] = []
    seconds: Positive | None = None
    copy_seconds: Positive | None = None
    chain: ChainEntry | None = None


class LossCount(CertificateEntry, frozen=True, kw_only=True):
    """Processes that were lost in the same way.

    Attributes:
        cause: why. `OOM killer` is told from `killed` where the system says so.
        how: in words, to follow `the backend's process`.
        count: how many.
    """

    cause: LossCause
    how: str
    count: Count


class ProcessLosses(CertificateEntry, frozen=True, kw_only=True):
    """Processes that the backend ran in and that were lost; each is counted, whatever came of it.

    Attributes:
        count: how many.
        forgiven: how many of them the backend may have to answer for, and no case is blamed for. More than a few make
            it not conformant.
        ways: by cause and how.
    """

    count: Count = 0
    forgiven: Count = 0
    ways: list[LossCount] = []


class Repetitions(CertificateEntry, frozen=True, kw_only=True):
    """Failed executions by what became of the case in a new process; failures are they all. Zero for a backend that
    had no process of its own.

    Attributes:
        failed_again: it failed again, as a wrong backend does.
        did_not_fail: it did not fail again, as where a process or a device had gone wrong.
        not_repeated: enough of its operator and rule were.
    """

    failed_again: Count = 0
    did_not_fail: Count = 0
    not_repeated: Count = 0


class DigestEntry(CertificateEntry, frozen=True, kw_only=True):
    """What the certificate rests on; `reports.model.digests` says what exactly is digested.

    Attributes:
        algorithm: of both.
        results: over the line `CASE VERDICT` of each record in order: the same for the same cases and verdicts.
        content: over everything that the results file holds, timing and dates included.
    """

    algorithm: Literal["sha256"]
    results: Sha256
    content: Sha256


class Certificate(CertificateEntry, frozen=True, kw_only=True):
    """The outcome of a conformance campaign on one backend.

    Attributes:
        schema: what this document is.
        suite: the suite that ran.
        outcome: `conformant`: something passed and nothing failed, crashed or timed out; `conformant within narrower
            claims`: the same, and the backend does not claim all that was asked for; `not conformant`: something
            did, or more processes were lost than are put down to the machine; `incomplete`: neither, because the run is
            cut off, broken or has gaps.
        headline: the outcome in a sentence.
        why_incomplete: what the run lacks, a sentence each; empty where it lacks nothing.
        backend: what the backend says of itself.
        environment: Python, NumPy, operating system, processor; `walls`, what stood between the backend's processes and
            those that judge: some of `memory`, `descendants`, `files`, or `none`; `walls missing`, the others, with the
            reasons.
        run: what was asked for, and when it ran.
        counts: cases by verdict.
        executed: where every case of which operators was decided; empty where they were executed at every level.
        matrix: a cell for each operator at each level asked for.
        rules: every rule of the operators asked for, and how often it was held against the backend.
        decisions: cases by rule, decision expected, decision given and verdict.
        coverage: judged cases that the specification accepts, by trait.
        not_claimed: what was asked for and the backend makes no promise about.
        not_judged: why cases were not supported or waived.
        failures: failed cases by kind, operator and rule, with samples.
        observed: what the backend did where the specification leaves it open.
        accuracy: how far results of arithmetic were from the exact ones.
        networks: those that were asked for by name, judged layer by layer.
        throughput: the measurements, as many as there is room for.
        throughput_left_out: how many more the results have.
        lost: processes of the backend that were lost.
        repeated: failed executions that were repeated in a new process.
        digests: of the results that this certificate rests on.
    """

    schema: SchemaVersion
    suite: Suite
    outcome: Conformance
    headline: str
    why_incomplete: list[str]
    backend: BackendClaims
    environment: dict[str, str]
    run: Run
    counts: VerdictCounts
    executed: list[ExecutedLevels] = []
    matrix: list[MatrixCell]
    rules: list[RuleResult]
    decisions: list[DecisionCount]
    coverage: list[CoverageCount]
    not_claimed: Unclaimed
    not_judged: list[ReasonCount]
    failures: list[Failure]
    observed: list[UnspecifiedCount]
    accuracy: list[Accuracy] = []
    networks: list[NetworkEntry] = []
    throughput: list[Speed]
    throughput_left_out: Count = 0
    lost: ProcessLosses = ProcessLosses()
    repeated: Repetitions = Repetitions()
    digests: DigestEntry

    @classmethod
    def of(cls, summary: Summary) -> Certificate:
        """The certificate of a campaign."""
        campaign, ending = summary.campaign, summary.ending
        strength = _entry(Strength, **campaign.strength) if campaign.strength else None
        return cls(
            schema=SchemaVersion(id="urn:dml-conformance:certificate", version=2),
            suite=Suite(name="dml-conformance", version=campaign.suite_version, strength=strength),
            outcome=summary.conformance,
            headline=summary.headline(),
            why_incomplete=summary.why_incomplete(),
            backend=msgspec.convert(campaign.backend, BackendClaims),
            environment=campaign.environment,
            run=_read_from(
                campaign, Run, finished="" if ending is None else ending.finished, complete=summary.is_complete
            ),
            counts=VerdictCounts.of(summary.counts),
            executed=summary.executed_at(),
            matrix=[
                _read_from(cell, MatrixCell, counts={verdict: n for verdict, n in cell.counts.items() if n})
                for cell in summary.matrix()
            ],
            rules=[_read_from(result, RuleResult) for result in summary.rule_results()],
            decisions=[
                _entry(DecisionCount, rule=rule, expected=expected, answered=answered, verdict=verdict, count=count)
                for (rule, expected, answered, verdict), count in sorted(summary.decisions.items())
            ],
            coverage=[
                _entry(CoverageCount, facet=facet, value=value, operator=operator, cases=count)
                for facet, counts in summary.coverage.items()
                for (value, operator), count in sorted(counts.items())
            ],
            not_claimed=summary.not_claimed(),
            not_judged=[
                ReasonCount(verdict=verdict, reason=reason, count=count)
                for verdict, reasons in summary.reasons.items()
                for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
            ],
            failures=[_failure(group, campaign.levels) for group in summary.failure_groups(*FailureKind)],
            observed=_observed(summary),
            accuracy=[_accuracy(*key, errors) for key, errors in sorted(summary.errors.items())],
            networks=[_network(found) for found in summary.networks()],
            throughput=[_speed(row) for row in summary.throughputs],
            throughput_left_out=summary.throughputs_left_out,
            lost=_losses(summary),
            repeated=Repetitions(
                failed_again=summary.repeated[Repeated.FAILED_AGAIN],
                did_not_fail=summary.repeated[Repeated.DID_NOT_FAIL],
                not_repeated=summary.repeated[Repeated.NOT_REPEATED],
            ),
            digests=DigestEntry(algorithm="sha256", results=summary.digests.results, content=summary.digests.content),
        )

    def to_json(self) -> bytes:
        """The file's content; what fits on a line is on one, or cells, rules and counts would take as many as they have
        fields."""
        return pretty_json(msgspec.to_builtins(self), LINE, is_spaced=False).encode() + b"\n"

    @classmethod
    def from_json(cls, text: bytes | str) -> Certificate:
        """Read what `to_json` wrote.

        Raises:
            CertificateError: the text is no JSON, or not in this form; the message names the field.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except MALFORMED as error:
            raise CertificateError(f"not a certificate of version 2: {error}") from None


def _failure(group: FailureGroup, levels: Sequence[str]) -> Failure:
    samples = [_read_from(record, Sample) for record in group.shown()]
    return _read_from(group, Failure, levels=sorted(group.levels, key=levels.index), samples=samples)


def _observed(summary: Summary) -> list[UnspecifiedCount]:
    errata = {rule["id"]: rule["erratum"] for rule in summary.campaign.rules}
    return [
        _read_from(
            group,
            UnspecifiedCount,
            erratum=errata.get(group.rule, ""),
            accepted=group.answers["accept"],
            rejected=group.answers["reject"],
        )
        for _, group in sorted(summary.observed.items())
    ]


def _speed(row: Throughput) -> Speed:
    """A measurement, to six digits: no clock has more."""
    figures = ("median_seconds", "bytes_per_second", "copy_bytes_per_second", "fraction_of_copy")
    brief = {name: float(f"{getattr(row, name):.6g}") for name in figures}
    return _read_from(row, Speed, seconds=[float(f"{each:.6g}") for each in row.seconds], **brief)


def _network(found: NetworkResult) -> NetworkEntry:
    return NetworkEntry(
        name=found.name,
        verdict=found.verdict,
        layers=[_layer(layer) for layer in found.layers],
        unmapped=[_read_from(node, UnmappedEntry) for node in found.network.unmapped],
        seconds=_brief(found.seconds),
        copy_seconds=_brief(found.least_seconds),
        chain=None if found.chain is None else _read_from(found.chain, ChainEntry, failed=found.chain.failed or None),
    )


def _layer(found: LayerResult) -> LayerEntry:
    outcome, timing = found.outcome, found.timing
    errors = None if outcome is None else outcome.errors
    return LayerEntry(
        nodes=list(found.layer.nodes),
        operator=found.layer.operator,
        case=found.layer.case,
        verdict=None if outcome is None else outcome.verdict,
        reason="" if outcome is None else outcome.reason,
        of_the_bound=found.used,
        largest_ulp=errors.largest if errors is not None and errors.bins else None,
        seconds=None if timing is None else _brief(timing.median_seconds),
        copy_seconds=None if timing is None else _brief(timing.useful_bytes / timing.copy_bytes_per_second),
    )


def _brief(seconds: float | None) -> float | None:
    """A time to six digits."""
    return None if seconds is None else float(f"{seconds:.6g}")


def _accuracy(operator: str, data_type: str, errors: ErrorCounts) -> Accuracy:
    return Accuracy(
        operator=operator,
        data_type=data_type,
        results=errors.count,
        largest_ulp=errors.largest,
        most_ulp=errors.most,
        errors=[ErrorShare(ulp=ulp, count=count) for ulp, count in errors.histogram().items()],
        of_the_bound=errors.used,
        wrong=errors.wrong,
    )


def _losses(summary: Summary) -> ProcessLosses:
    ways = [LossCount(cause=cause, how=how, count=count) for (cause, how), count in sorted(summary.lost.items())]
    return ProcessLosses(count=summary.lost.total(), forgiven=summary.forgiven, ways=ways)
