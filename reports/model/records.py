"""The one stream of results that every report consumes.

The runner emits a `Campaign` first, then `Record`s one by one, then `Throughput` rows with the records of what was
wrong when it was timed, and an `Ending`; the store, JUnit, HTML, certificate and console are consumers of it. Nothing
here knows how results come about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import msgspec

from dml_conformance.backends.processes.losses import Loss, losses_together, lost_by_backend
from dml_conformance.reports.model.errors import Errors
from dml_conformance.spec.accuracy import DIRECTML
from dml_conformance.spec.registry import rules_of
from dml_conformance.spec.validator import Reading

# What fields of documents hold.
Count = Annotated[int, msgspec.Meta(ge=0)]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
LevelLabel = Annotated[str, msgspec.Meta(pattern="^[0-9]+_[0-9]+$")]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what stands in documents: no field but its own."""


class Verdict(StrEnum):
    """The judged outcome of one case on one backend. Every case ends in exactly one."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    FAIL = "fail"
    NOT_SUPPORTED = "not-supported"
    WAIVED = "waived"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OBSERVED = "observed"
    ERROR = "error"


LEFT_OUT = "operators left out"  # in a campaign's environment, where there are such
# There too: what kept backends from the processes that judge and their files, and what did not, with the reasons.
WALLS, MISSING_WALLS, NO_WALLS = "walls", "walls missing", "none"
IN_PROCESS = "the backend is in the process that judges"  # why walls are missing
# There too, of a campaign whose seed was a secret until its end.
SEED_COMMITMENT, SEED_NONCE = "seed commitment", "seed nonce"
# There too, where a run went on from results of which it could not be told who wrote them.
RESUMED, NOT_AUTHENTICATED = "resumed", "from results of another machine or user, which were not authenticated"
FEW_DIFFERENCES = 8  # of a case, where it is told in brief
NEVER_WRITTEN = "never written"  # in place of a value: the element holds what it held before

# What makes a backend not conformant, and what makes a run broken.
NOT_CONFORMANT = (Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT)


class Phase(StrEnum):
    """The phases of a campaign, in order."""

    EXAMPLES = "examples"
    BOUNDARIES = "boundaries"
    NETWORKS = "networks"  # the layers of networks that were asked for by name
    SWEEP = "sweep"
    SEARCH = "search"
    CHAINS = "chains"  # of networks executed as chains, the layers that leave something wrong
    THROUGHPUT = "throughput"  # of what is timed, the cases that leave something wrong


JUDGED_PHASES = (Phase.EXAMPLES, Phase.BOUNDARIES, Phase.SWEEP, Phase.SEARCH)  # those that every campaign has


class Repeated(StrEnum):
    """What became of a case whose execution failed, when it was executed once more in a new process."""

    FAILED_AGAIN = "failed again"
    DID_NOT_FAIL = "did not fail again"
    NOT_REPEATED = "not repeated"  # as enough of its kind were
    NONE = ""  # nothing was executed wrongly, or the backend has no process of its own


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """One output element that is not what it should be.

    Attributes:
        coordinates: logical, in the output tensor.
        expected: value as text; "any element of the input" where the specification leaves it open.
        expected_bits: hexadecimal, as wide as the type; "" where open.
        actual: value as text.
        actual_bits: hexadecimal.
        ulp: of a result of arithmetic that is finite, as the exact value is: how far it is from that, in units in its
            last place; else null.
    """

    coordinates: tuple[int, ...]
    expected: str
    expected_bits: str
    actual: str
    actual_bits: str
    ulp: float | None = None


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """One judged case.

    Attributes:
        case: the case's digest (SHA-256, hexadecimal): the same case has the same id in every campaign.
        operator: `GATHER`.
        level: `3_0`.
        phase: which phase made it.
        rule: id of the rule that the verdict is about; "" where it is about none in particular, as for a valid
            descriptor that is decided on and not executed.
        verdict: the outcome.
        expected: the specification's decision: ACCEPT, REJECT, UNSPECIFIED.
        answered: the backend's decision: accept, reject, or "" if it was not asked.
        reason: why the verdict is not a pass, in a sentence; for observed what was seen; for a pass what it lacks.
        data_type: of the output.
        index_type: of the index tensor, "" if there is none.
        rank: DimensionCount of the output.
        layout: packed, padded, permuted, broadcast, other.
        pattern: of the values or, where there are indices, of the indices.
        seconds: spent in the backend.
        case_json: the whole case (descriptor, level, data), so that it can be shown and run again.
        differences: the first differing elements, in row-major order.
        difference_count: how many elements differ.
        reproduce: one shell line that runs the case again.
        output: of a case that was executed, the first 128 bits, hexadecimal, of SHA-256 over the output's elements in
            row-major order, those that the specification leaves open as zero; "" of most cases without a package.
        waived: for the verdict waived the one that a waiver set aside; else "".
        lost: processes of the backend that were lost over the case, or over those that it was asked for with.
        repeated: of a failed execution, whether it failed again in a new process.
        errors: of results of arithmetic, how far they were from the exact ones.
    """

    case: str
    operator: str
    level: str
    phase: Phase
    rule: str
    verdict: Verdict
    expected: str
    answered: str
    reason: str = ""
    data_type: str = ""
    index_type: str = ""
    rank: int = 0
    layout: str = ""
    pattern: str = ""
    seconds: float = 0.0
    case_json: dict[str, Any] = {}
    differences: tuple[Difference, ...] = ()
    difference_count: int = 0
    reproduce: str = ""
    output: str = ""
    waived: str = ""
    lost: tuple[Loss, ...] = ()
    repeated: Repeated = Repeated.NONE
    errors: Errors | None = None

    @property
    def first_place(self) -> tuple[int, ...]:
        """Coordinates of the first differing element; () where none is known."""
        return self.differences[0].coordinates if self.differences else ()

    @property
    def losses_forgiven(self) -> int:
        """How many processes the backend may have to answer for that no verdict on this case accounts for."""
        return 0 if self.judged in (Verdict.CRASH, Verdict.TIMEOUT) else lost_by_backend(self.lost)

    @property
    def judged(self) -> Verdict:
        """The verdict, whether a waiver set it aside or not."""
        return Verdict(self.waived or self.verdict)

    @property
    def traits(self) -> Record:
        """The record, of which what is long is not asked for; an `EncodedRecord` has this much decoded."""
        return self

    def whole(self) -> Record:
        """The record, which is whole already."""
        return self

    @property
    def line(self) -> bytes:
        return content_line(self)

    @property
    def body(self) -> bytes:
        """JSON of its `Body`."""
        return _ENCODER.encode(Body(*[getattr(self, name) for name in Body.__struct_fields__]))

    def in_brief(self) -> Record:
        """The record with no more than `FEW_DIFFERENCES` of its differences."""
        if len(self.differences) <= FEW_DIFFERENCES:
            return self
        return msgspec.structs.replace(self, differences=self.differences[:FEW_DIFFERENCES])


class Body(msgspec.Struct, array_like=True, frozen=True):
    """What only single records are asked for, as a results file holds it; older files lack the last ones."""

    case_json: dict[str, Any]
    differences: tuple[Difference, ...]
    reproduce: str
    output: str = ""
    waived: str = ""
    lost: tuple[Loss, ...] = ()
    repeated: Repeated = Repeated.NONE
    errors: Errors | None = None


_ENCODER = msgspec.json.Encoder()


# The traits of a record: what it has in common with others, and is found, counted and listed by.
TRAITS = (
    "operator",
    "level",
    "phase",
    "rule",
    "verdict",
    "expected",
    "answered",
    "data_type",
    "index_type",
    "rank",
    "layout",
    "pattern",
)


class Caches(StrEnum):
    """How a timed run found the device's caches."""

    # Run after run: they hold what the run before left there. For small sizes the time that launching takes.
    WARM = "warm"
    # Emptied before each run, and the launch waiting for the device: the device's own time, all of it from memory.
    COLD = "cold"


class Caveat(StrEnum):
    """What is to be known of a measurement before it is believed. One above the copy has at least one of these."""

    IMPLAUSIBLE = "not plausible"
    LAUNCH_BOUND = "launch-bound"
    DISTURBED = "disturbed"
    CACHED = "cached"
    UNLIKE_A_COPY = "unlike a copy"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Caveat.IMPLAUSIBLE: "not the time that passed for the judge meanwhile, or more bytes written than memory takes",
    Caveat.LAUNCH_BOUND: "hardly slower than the smallest output: what was measured is a launch",
    Caveat.DISTURBED: "the runs, or copies before and after that are no launches, differ by more than a fifth, or did "
    "not become steady",
    Caveat.CACHED: "above the copy by what lies in caches: from memory, or at a larger size, it is not",
    Caveat.UNLIKE_A_COPY: "above the copy: it touches fewer bytes than are counted, reads and writes in another "
    "proportion, or no copy that was measured is as fast as the device",
}


class Timing(NamedTuple):
    """What was timed: rows of two runs or backends with the same one can be compared."""

    operator: str
    data_type: str
    size: int
    caches: Caches


# What reports have room for: a campaign times 55 operators and types, each at a few sizes in two states of the caches.
MOST_TIMED, MOST_SIZES, MOST_MEASUREMENTS = 120, 24, 2_000


class Room:
    """Which measurements a report has room for, told one after the other; the results file has all of them.

    Attributes:
        left_out: how many it had no room for.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._taken = 0
        self._timed: set[tuple[str, str]] = set()
        self._sizes: set[int] = set()

    def takes(self, timing: Timing) -> bool:
        """Whether there is room for one more, of this."""
        timed = (timing.operator, timing.data_type)
        has_room = (
            self._taken < MOST_MEASUREMENTS
            and (timed in self._timed or len(self._timed) < MOST_TIMED)
            and (timing.size in self._sizes or len(self._sizes) < MOST_SIZES)
        )
        if not has_room:
            self.left_out += 1
            return False
        self._taken += 1
        self._timed.add(timed)
        self._sizes.add(timing.size)
        return True


class Throughput(msgspec.Struct, frozen=True, omit_defaults=True):
    """One operator timed with one data type at one size.

    Attributes:
        operator: `GATHER`.
        data_type: of the elements.
        shape: the case in words.
        useful_bytes: each input element read, each index, each output element written, once.
        seconds: each timed run.
        copy_bytes_per_second: of the best copy that was measured of as many bytes or more, in the same run and with
            caches in the same state; bytes read plus bytes written.
        output_bytes: size of the output that was asked for, the same for every operator, type and backend.
        caches: how each run found them.
        caveats: what is to be known before it is believed.
        layer: of a layer of a network the digest of its case; else "".
    """

    operator: str
    data_type: str
    shape: str
    useful_bytes: int
    seconds: tuple[float, ...]
    copy_bytes_per_second: float
    output_bytes: int
    caches: Caches = Caches.WARM
    caveats: tuple[Caveat, ...] = ()
    layer: str = ""

    @property
    def timing(self) -> Timing:
        return Timing(self.operator, self.data_type, self.output_bytes, self.caches)

    @property
    def is_plausible(self) -> bool:
        return Caveat.IMPLAUSIBLE not in self.caveats

    @property
    def median_seconds(self) -> float:
        ordered = sorted(self.seconds)
        return ordered[len(ordered) // 2]

    @property
    def bytes_per_second(self) -> float:
        return self.useful_bytes / self.median_seconds

    @property
    def slowest_bytes_per_second(self) -> float:
        return self.useful_bytes / max(self.seconds)

    @property
    def fastest_bytes_per_second(self) -> float:
        return self.useful_bytes / min(self.seconds)

    @property
    def fraction_of_copy(self) -> float:
        return self.bytes_per_second / self.copy_bytes_per_second


def at_largest_size(rows: Iterable[Throughput]) -> list[Throughput]:
    """Of each operator, data type and state of the caches the rows with the largest output, in their order."""
    rows = list(rows)
    largest: dict[tuple[str, str, Caches], int] = {}
    for row in rows:
        of = (row.operator, row.data_type, row.caches)
        largest[of] = max(largest.get(of, 0), row.output_bytes)
    return [row for row in rows if row.output_bytes == largest[row.operator, row.data_type, row.caches]]


class NetworkLayer(msgspec.Struct, frozen=True):
    """A distinct layer of a network.

    Attributes:
        case: digest of its case.
        operator: of its descriptor.
        nodes: names in the model, one for each time that it is executed.
    """

    case: str
    operator: str
    nodes: tuple[str, ...]


class UnmappedNode(msgspec.Struct, frozen=True):
    """A node of a network that is judged by no case.

    Attributes:
        node: name in the model.
        type: of the operator, `NonMaxSuppression`.
        reason: in words.
    """

    node: str
    type: str
    reason: str


class Network(msgspec.Struct, frozen=True):
    """A network whose layers are judged.

    Attributes:
        name: `resnet50-fp16-b1`.
        layers: the distinct ones, by the first node of each.
        unmapped: nodes that are none of them.
    """

    name: str
    layers: tuple[NetworkLayer, ...]
    unmapped: tuple[UnmappedNode, ...] = ()


class Campaign(msgspec.Struct, frozen=True):
    """What a run is about; known before its first record.

    Attributes:
        backend: the backend's capabilities as JSON (name, device, versions, levels, operators, enforces, executes,
            decides_at, accelerated, paths).
        suite_version: of this package.
        operators: operators asked for.
        levels: levels asked for.
        budget: quick, standard or full.
        seed: of everything random.
        accuracy: name of the tolerance whose bounds results of arithmetic were held to.
        spec: what counts as the specification: `documented`, what the pages say, or `observed`, also what the library
            was seen to do where they are silent.
        started: ISO 8601, UTC.
        environment: Python, NumPy, operating system, processor; `walls`, what stood between the backend's processes and
            those that judge: some of `memory`, `descendants`, `files`, or `none`; `walls missing`, the others, with the
            reasons; of a secret seed `seed commitment`, which was told before the first case, and `seed nonce`.
        rules: every rule of the operators asked for, as `describe_rules` gives them, so that a report made later, or
            by another version, says what was tested.
        repeat: how often each case was executed, most of them exactly so often.
        strength: how many wrong backends the suite finds with such a budget: `suite_version` and `budget` that it was
            measured with, `is_current` (whether on the version that ran), on how many `operators`, `mutants`,
            `plantings` (each at an operator and level) and how many of these were `killed`; empty where it was not
            measured.
        executed: by operator the levels at which every case was decided, each standing for those with which it shares
            an epoch: every case was executed at the newest, and a sample at those before. At the others a sample was
            decided, and less executed. Empty where cases came from corpora.
        every_level: whether no level stands for others.
        networks: whose layers are judged, too.
    """

    backend: dict[str, Any]
    suite_version: str
    operators: tuple[str, ...]
    levels: tuple[str, ...]
    budget: str
    seed: int
    started: str
    environment: dict[str, str]
    rules: tuple[dict[str, Any], ...] = ()
    spec: str = Reading.DOCUMENTED
    strength: dict[str, Any] = {}
    repeat: int = 1
    executed: dict[str, tuple[str, ...]] = {}
    every_level: bool = False
    accuracy: str = DIRECTML.name
    networks: tuple[Network, ...] = ()


class Strength(Entry, frozen=True, kw_only=True):
    """How many backends that are wrong on purpose the suite finds; each is run at operators and levels where it shows.

    Attributes:
        suite_version: that was measured.
        is_current: whether it was measured on the version that ran.
        budget: of the campaigns that it was measured with; `standard` stands for larger ones.
        operators: how many it was measured on; null where that was not told.
        mutants: wrong backends.
        plantings: combinations of wrong backend, operator and level.
        killed: how many of these a campaign finds, whatever the seed.
    """

    suite_version: str
    is_current: bool
    budget: str
    operators: Count | None = None
    mutants: Count
    plantings: Count
    killed: Count


class ChainedNetwork(msgspec.Struct, frozen=True):
    """A network that was executed at reduced size as the chain of its layers, each on what those before left.

    Figures are parts of the standard deviation of an output's values, the largest of all outputs.

    Attributes:
        network: its name.
        reason: why not all layers were executed, or which was wrong; else "".
        failed: digest of the case of the layer that was wrong; else "".
        outputs: what the backend left in each, its packed memory; empty unless all layers were executed.
        error: the largest difference from the reference's chain; null where one is no number.
        allowed: the widest enclosure of an element, carried through all layers; null where it has no end.
        segment: the widest, where enclosures begin anew after each normalization; null where it has no end, or no
            normalization is there.
        segment_end: the node whose results are that wide.
    """

    network: str
    reason: str = ""
    failed: str = ""
    outputs: dict[str, bytes] = {}
    error: float | None = None
    allowed: float | None = None
    segment: float | None = None
    segment_end: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all layers were executed."""
        return bool(self.outputs)

    @property
    def is_bounded(self) -> bool:
        """Whether what is carried through all layers says anything: is narrower than the values are spread."""
        return self.allowed is not None and self.allowed < 1


class Ending(msgspec.Struct, frozen=True):
    """How a run ended. A stream without one was cut off.

    Attributes:
        finished: ISO 8601, UTC.
        complete: whether every case that was planned has its record.
        reason: why not, in a sentence.
        lost: processes of the backend that were lost over no case on record: while it was timed, or given up.
        chains: what the networks came to that were executed as chains.
    """

    finished: str
    complete: bool = True
    reason: str = ""
    lost: tuple[Loss, ...] = ()
    chains: tuple[ChainedNetwork, ...] = ()

    @classmethod
    def now(cls, interrupted: str = "", lost: Iterable[Loss] = (), chains: Iterable[ChainedNetwork] = ()) -> Ending:
        """An ending at this moment; `interrupted` says why the run is not complete, "" that it is."""
        return cls(utc_now(), not interrupted, interrupted, losses_together(lost), tuple(chains))


def walls_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The walls that stood in a campaign of this environment."""
    return tuple(wall for wall in environment.get(WALLS, NO_WALLS).split(", ") if wall != NO_WALLS)


def lacking(environment: Mapping[str, str], required: Collection[str]) -> str:
    """What walls were required and did not stand, in words; "" where all did."""
    stood = walls_of(environment)
    missing = [wall for wall in required if wall not in stood]
    if not missing:
        return ""
    why = environment.get(MISSING_WALLS, "")
    return f"required {', '.join(missing)}, found {named(stood)}" + (f"; missing: {why!a}" if why else "")


def named(walls: Iterable[str]) -> str:
    """The same as an environment has them."""
    return ", ".join(walls) or NO_WALLS


def content_line(item: Campaign | Record | Throughput | Ending) -> bytes:
    """An item as the content digest covers it: JSON with sorted keys, without the line feed."""
    return msgspec.json.encode(item, order="sorted")


def utc_now() -> str:
    """The time as the stream writes it: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def describe_rules(operators: Iterable[str]) -> tuple[dict[str, Any], ...]:
    """Every rule of these operators, each once, as `Campaign.rules` holds them.

    Returns:
        For each rule its id, category, statement, source (address), since and until (the level it starts at, and the
        one it no longer applies at or ""), kind (`descriptor` for what a descriptor can break, `acceptance` for what
        valid ones are held to, `execution` for what memory and values are), erratum (id, or "") and operators (those of
        the campaign that it concerns).
    """
    rules, concerned = {}, defaultdict(list)
    for name in operators:
        for rule in rules_of(name):
            rules[rule.id] = rule
            concerned[rule.id].append(name)
    return tuple(
        {
            "id": rule.id,
            "category": str(rule.category),
            "statement": rule.statement,
            "source": rule.source.url,
            "since": rule.since.label,
            "until": rule.until.label if rule.until is not None else "",
            "kind": rule.kind,
            "erratum": rule.erratum or "",
            "operators": concerned[rule.id],
        }
        for rule in rules.values()
    )
