"""Cases of scale: what passes 16, 24 and 32 bits is there, with what is needed to see a fault, and little memory."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from five_operators import TileDesc
from strength.measure import _FirstKills, _witness, failures, planted
from strength.mutants import Mutant
from strength.mutants import scale as mutants
from strength.streams import MOST_KEPT, Streams

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.exchange.corpus import Header
from dml_conformance.conformance.gate import suite
from dml_conformance.conformance.judge.batch import MOST_CASES
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Verdict
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import slots
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.tensor_rules import BINDING
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.scale import PLACES, Reach, scale_cases
from dml_conformance.strategies.values import FAR, FAR_NEGATIVE, NUMPY_TYPE, OVERLAPPING, buffer_size, materialize

EVERY_OPERATOR = pytest.mark.parametrize("operator", operators())
# What is told of every index type, axis and address is told of the operators that have them all.
INDEXING = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1")
GATHERING = ("GATHER", "TILE", *INDEXING[1:])
CELLS = [
    (name, level)
    for name, spec in operators().items()
    for level in (Level.L1_0, Level.L2_1, Level.L3_0, HIGHEST)
    if level >= spec.introduced_in
]
GOLDEN = "8610ef36155060cfd769025123a30487be2b328b717a60be7d020a12ea7fac26"


@cache
def made(operator: str, level: Level = HIGHEST, reach: Reach = Reach.BITS_32) -> tuple[Case, ...]:
    return tuple(scale_cases(operator, level, reach))


def named(operator: str, part: str, level: Level = HIGHEST, reach: Reach = Reach.BITS_24) -> list[Case]:
    return [case for case in made(operator, level, reach) if f"/scale/{part}" in case.origin]


def tensors_of(case: Case) -> dict[str, TensorDesc]:
    return {slot.name: slot.tensor for slot in slots(case.desc)}


def bytes_of(case: Case) -> int:
    return sum(map(buffer_size, tensors_of(case).values()))


def indices_of(case: Case) -> Any:
    """The numbers in the memory of the index tensor."""
    return materialize(case)["indices_tensor"].view(NUMPY_TYPE[case.desc.indices_tensor.data_type])


# --- what is there ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("operator", "level"), CELLS)
def test_a_case_is_valid_and_executed_or_breaks_the_rule_it_is_about(operator: str, level: Level) -> None:
    for case in made(operator, level):
        assert Case.from_json(case.to_json()).digest == case.digest
        decision = decide(case.desc, level)
        assert (decision.outcome, decision.rules) == (case.outcome, case.broken)
        if case.data is not None:
            assert case.outcome is Outcome.ACCEPT
            assert case.rule in {f"{operator}.values", f"{operator}.negative-indices", BINDING}
        else:
            assert case.outcome is Outcome.REJECT
            assert case.rule == case.broken[0]


@pytest.mark.parametrize(("operator", "level"), CELLS)
def test_a_reach_begins_with_the_ones_before_it(operator: str, level: Level) -> None:
    every = [made(operator, level, reach) for reach in Reach]
    assert every[1][: len(every[0])] == every[0]
    assert every[2][: len(every[1])] == every[1]
    # The one that stands for its siblings has the largest cases, the others what lies far apart.
    assert len(every[0]) < len(every[1]) < len(every[2])
    assert len({case.origin for case in every[2]}) == len({case.digest for case in every[2]}) == len(every[2])
    assert all(case.origin.startswith(f"{operator}/{level}/scale/") for case in every[2])


def test_the_cases_are_the_same_on_every_machine() -> None:
    text = "\n".join(f"{case.origin} {case.digest}" for operator in GATHERING for case in made(operator))
    assert hashlib.sha256(text.encode()).hexdigest() == GOLDEN


def test_below_its_introduction_an_operator_has_none() -> None:
    assert list(scale_cases("GATHER_ND1", Level.L2_1, Reach.BITS_32)) == []


@pytest.mark.parametrize(("operator", "level"), [cell for cell in CELLS if cell[0] in INDEXING])
def test_every_index_type_goes_with_every_long_axis(operator: str, level: Level) -> None:
    table = operators()[operator].table_at(level)
    wanted = set()
    for length, place, index_type in product((257, 65_537, 2**24 + 67), PLACES, table["IndicesTensor"].data_types):
        patterns = [FAR, FAR_NEGATIVE] if index_type.is_signed_integer else [FAR]
        if length > 2**24:
            patterns = [patterns[-1] if place == "middle" else FAR]
        wanted |= {f"{operator}/{level}/scale/axis/{length}/{place}/{index_type.name}/{name}" for name in patterns}
    found = {case.origin: case for case in named(operator, "axis/", level)}
    assert set(found) == wanted
    for origin, case in found.items():
        _, _, _, _, length, place, index_type, pattern = origin.split("/")
        sizes = case.desc.input_tensor.sizes[-3:]
        assert sizes[PLACES.index(place)] == max(sizes) == int(length)
        assert case.data["indices_tensor"].pattern == pattern
        assert case.desc.indices_tensor.data_type.name == index_type
        index = operators()[operator].index
        assert int(length) in index.limits(case.desc)


@pytest.mark.parametrize("operator", INDEXING)
@pytest.mark.parametrize("index_type", ["INT32", "UINT32", "INT64", "UINT64"])
def test_an_index_cut_short_is_another_one(operator: str, index_type: str) -> None:
    """At 257 in 8 bits, at 65,537 in 16, at 2^24 in the 24 of a FLOAT32: in every case, of either sign."""
    for length, cut in ((257, np.int8), (65_537, np.int16), (2**24 + 67, np.float32)):
        cases = [case for case in named(operator, f"axis/{length}/") if f"/{index_type}/" in case.origin]
        assert len(cases) >= 3
        for case in cases:
            numbers = indices_of(case).astype(np.int64)
            assert numbers.size >= 64
            assert np.count_nonzero(numbers.astype(cut).astype(np.int64) != numbers) >= 4
        assert cases[0].desc.input_tensor.data_type.size > 1 or length > 2**24


@pytest.mark.parametrize("operator", GATHERING)
def test_outputs_pass_what_grids_and_floats_count(operator: str) -> None:
    for reach, least in ((Reach.BITS_16, 2**17), (Reach.BITS_24, 2**24), (Reach.BITS_32, 2**31)):
        outputs = [case.desc.output_tensor for case in named(operator, "output/", reach=reach)]
        assert sum(tensor.element_count > least for tensor in outputs) >= 2
    small = [case.desc.output_tensor.sizes[-3:] for case in named(operator, "output/")]
    assert any(rows * columns > 65_536 and row < 8 for rows, columns, row in small)
    assert any(columns > 65_536 for _, columns, _ in small)
    assert any(row > 65_536 and rows * columns < 8 for rows, columns, row in small)
    large = [tensor for tensor in outputs if tensor.element_count > 2**31]
    assert any(tensor.total_tensor_size_in_bytes > 2**32 for tensor in large)


@EVERY_OPERATOR
def test_every_tensor_is_addressed_beyond_16_mib_and_4_gib(operator: str) -> None:
    for reach in (Reach.BITS_24, Reach.BITS_32):
        apart = {case.origin.rpartition("/")[2]: case for case in named(operator, f"apart/{reach}", reach=reach)}
        for name, case in apart.items():
            assert set(apart) == {name for name, tensor in tensors_of(case).items() if tensor.element_count > 1}
            assert tensors_of(case)[name].total_tensor_size_in_bytes > 2**reach
            assert sum(tensor.element_count for tensor in tensors_of(case).values()) < 20_000


@pytest.mark.parametrize("operator", INDEXING)
def test_packed_inputs_are_read_at_their_far_end(operator: str) -> None:
    """By indices that address beyond 2^24 and 2^32 bytes in an input without strides, of wide types too."""
    found = named(operator, "packed/", reach=Reach.BITS_32)
    sources = [case.desc.input_tensor for case in found]
    assert {tensor.data_type.size for tensor in sources} == {1, 2, 4, 8}
    assert all(tensor.strides is None and tensor.total_tensor_size_in_bytes > 2**24 for tensor in sources)
    assert any(tensor.total_tensor_size_in_bytes > 2**32 for tensor in sources)
    assert any(max(tensor.sizes) > 2**31 for tensor in sources)
    for case in found[:2]:
        rows = case.desc.input_tensor.sizes[1]
        row = case.desc.input_tensor.total_tensor_size_in_bytes // rows
        assert (indices_of(case).astype(np.int64) * row > 2**24).sum() >= 4


@EVERY_OPERATOR
def test_what_a_standard_campaign_has_takes_little_memory(operator: str) -> None:
    """For each output, twice as much where it has no type of one byte."""
    written = sum(field.is_output for field in operators()[operator].fields)
    scale = written if operator in GATHERING else 2 * written
    for reach, most in ((Reach.BITS_16, scale * 2**22), (Reach.BITS_24, scale * 2**26 + 2**12)):
        assert max(bytes_of(case) for case in made(operator, reach=reach) if case.data is not None) < most
    assert len(made(operator, reach=Reach.BITS_24)) < 100


def test_tile_has_the_products_that_32_bits_take_for_others() -> None:
    """{3} by 2,863,311,531 is 2^33 + 1, along each dimension."""
    found = set()
    for case in named("TILE", "wrapping/"):
        assert isinstance(case.desc, TileDesc)
        assert case.broken == ("TILE.output-sizes",)
        products = [n * times for n, times in zip(case.desc.input_tensor.sizes, case.desc.repeats, strict=True)]
        assert max(products) > 2**32
        assert tuple(n % 2**32 for n in products) == case.desc.output_tensor.sizes
        found |= {(n, times) for n, times in zip(case.desc.input_tensor.sizes, case.desc.repeats, strict=True)}
    assert {(3, 2_863_311_531), (65_537, 65_537)} <= found


@EVERY_OPERATOR
def test_counts_bytes_strides_and_alignments_near_2_to_32_are_refused(operator: str) -> None:
    rules = Counter(case.rule for case in made(operator, reach=Reach.BITS_16) if case.data is None)
    fields = len(tensors_of(named(operator, "alignment/")[0]))
    assert rules["TENSOR.alignment-power-of-two"] == 3 * fields
    assert rules["TENSOR.element-count"] in (1, 2)  # where rows are all that comes before the last dimension, 1
    if operator in GATHERING:
        assert rules["TENSOR.total-size"] >= fields + 1
        assert sum(rule.startswith(f"{operator}.") for rule in rules) >= 1
    for case in named(operator, "elements/"):
        large = [tensor for tensor in tensors_of(case).values() if tensor.element_count >= 2**32]
        assert all(0 < tensor.element_count % 2**32 < 2**22 for tensor in large)
        assert any(tensor.total_tensor_size_in_bytes < 2**22 for tensor in large)
    for case in named(operator, "strides/"):
        (strided,) = [tensor for tensor in tensors_of(case).values() if tensor.strides is not None]
        assert max(strided.strides or ()) == 2**31
        assert case.broken == ("TENSOR.total-size",)


@pytest.mark.parametrize("operator", INDEXING)
def test_an_input_lies_where_its_indices_do(operator: str) -> None:
    """For every index type a bit longer, and a bit shorter."""
    found = {}
    for case in named(operator, "overlapping/", reach=Reach.BITS_16):
        content = materialize(case)
        source, beside = content["input_tensor"], content["indices_tensor"]
        assert case.data["input_tensor"].pattern == OVERLAPPING
        shared = min(source.size, beside.size)
        assert (source[:shared] == beside[:shared]).all()
        assert 0 < abs(source.size - beside.size) < 64
        kind = "longer" if source.size > beside.size else "shorter"
        index_type = case.desc.indices_tensor.data_type.name
        assert case.origin.endswith(f"/{kind}/{index_type}")
        found[kind, index_type] = case
    assert set(found) == set(product(("longer", "shorter"), ("INT32", "UINT32", "INT64", "UINT64")))


@pytest.mark.parametrize(("operator", "level"), CELLS)
def test_the_reference_passes_at_every_table(operator: str, level: Level) -> None:
    """At the highest level those of 24 bits too, which the measure of strength asserts."""
    judge = Judge(ReferenceBackend(), "reference")
    assert {judge.judge(case).verdict for case in made(operator, level, Reach.BITS_16)} == {Verdict.PASS}


@pytest.mark.few(2, 4)
@pytest.mark.parametrize("operator", operators())
def test_a_right_backend_passes(operator: str) -> None:
    judge = Judge(TorchBackend("cpu"), "right")
    assert {judge.judge(case).verdict for case in made(operator, HIGHEST, Reach.BITS_24)} == {Verdict.PASS}


# --- where it is judged -----------------------------------------------------------------------------------------------


def claiming(levels: tuple[Level, ...], *, cuda: bool = False) -> Capabilities:
    own = ReferenceBackend().capabilities()
    return Capabilities("mine", "", {}, levels, own.operators, own.enforces, accelerated=cuda)


@pytest.mark.parametrize(
    ("levels", "claimed", "wanted"),
    [
        (("2_1", "4_1", "6_4"), ("2_1", "4_1", "6_4"), "6_4"),
        (("2_1", "4_1", "6_4"), ("2_1", "4_1"), "4_1"),
        (("2_1", "4_1"), ("6_4",), "4_1"),
        (("1_0", "2_1"), ("1_0", "2_1"), "2_1"),
    ],
)
def test_scale_is_judged_at_the_newest_level_that_is_claimed(
    levels: tuple[str, ...], claimed: tuple[str, ...], wanted: str
) -> None:
    claims = claiming(tuple(map(Level.parse, claimed)))
    at = [Level.parse(label) for label in levels]
    engine = Engine(Judge(ReferenceBackend(), "mine", claims=claims), ("TILE", "GATHER"), at, BUDGETS["quick"], 0)
    origins = [case.origin.split("/") for case in engine.cases(Phase.BOUNDARIES)]
    scale = [(operator, level) for operator, level, kind, *_ in origins if kind == "scale"]
    assert set(scale) == {("TILE", wanted), ("GATHER", wanted)}
    first = next(n for n, origin in enumerate(origins) if origin[2] == "scale")
    plan = engine.plans[0]
    plain = [case for level in plan.levels for case in plan.boundaries(level, 0) if level <= Level.parse(wanted)]
    assert first == len(plain)  # after the others of its operator and level


@pytest.mark.parametrize(
    ("budget", "cuda", "reach"),
    [
        ("quick", False, Reach.BITS_16),
        ("quick", True, Reach.BITS_16),
        ("standard", False, Reach.BITS_24),
        ("standard", True, Reach.BITS_32),
        ("full", False, Reach.BITS_32),
    ],
)
def test_how_far_it_goes_depends_on_budget_and_device(budget: str, cuda: bool, reach: Reach) -> None:
    claims = claiming((HIGHEST,), cuda=cuda)
    assert BUDGETS[budget].reach_on(claims) is reach
    engine = Engine(Judge(ReferenceBackend(), "", claims=claims), ("TILE",), (HIGHEST,), BUDGETS[budget], 0)
    cases = tuple(case for case in engine.cases(Phase.BOUNDARIES) if "/scale/" in case.origin)
    assert cases == made("TILE", HIGHEST, reach)


def test_the_gate_has_them_at_its_newest_level() -> None:
    fixed = suite._boundaries("TILE", HIGHEST, with_scale=True)
    plain = suite._boundaries("TILE", HIGHEST, with_scale=False)
    assert not any("/scale/" in case.origin for cases in plain.values() for case in cases)
    for rule, cases in fixed.items():
        known = plain.get(rule, [])
        assert cases[: len(known)] == known
    scale = [case for cases in fixed.values() for case in cases if "/scale/" in case.origin]
    assert Counter(scale_case.origin for scale_case in scale) == Counter(
        c.origin for c in made("TILE", HIGHEST, Reach.BITS_24)
    )


# --- neighbours -------------------------------------------------------------------------------------------------------


def test_equal_descriptors_meet_in_the_batches_of_a_corpus() -> None:
    """Cases of some operators at all levels take turns there, and yet those that are alike are near each other."""
    cases = list(Header.of(4 * MOST_CASES, 3, GATHERING).numbered_cases())
    for start in range(0, len(cases), MOST_CASES):
        executed = [case for case in cases[start : start + MOST_CASES] if case.data]
        alike = Counter((case.level, case.desc) for case in executed)
        assert sum(count for count in alike.values() if count > 1) > len(executed) // 8


# --- strength ---------------------------------------------------------------------------------------------------------


def killed(mutant: type[Mutant], operator: str, phase: Phase, budget: str = "standard") -> bool:
    (one,) = (one for one in planted(operator, HIGHEST, ["scale"]) if one.mutant == mutant.__name__)
    stream = streams(operator).phase(phase, BUDGETS[budget], 0)
    return any(True for _ in failures(one, stream, in_batches=phase is Phase.SWEEP))


@cache
def streams(operator: str) -> Streams:
    return Streams(operator, HIGHEST)


def test_a_fault_of_scale_shows_in_the_boundaries_and_nowhere_else() -> None:
    for mutant in (mutants.Writes2To24Elements, mutants.InputWrapsAt16Mib, mutants.OutputWrapsAt16Mib):
        assert killed(mutant, "TILE", Phase.BOUNDARIES)
        assert not killed(mutant, "TILE", Phase.BOUNDARIES, "quick")
        assert not killed(mutant, "TILE", Phase.SWEEP)


@pytest.mark.parametrize("mutant", [mutants.InputsOfTheFirstOfABatch, mutants.LayoutOfTheFirstOfABatch])
def test_a_fault_of_batches_shows_in_the_sweep_and_nowhere_else(mutant: type[Mutant]) -> None:
    assert killed(mutant, "TILE", Phase.SWEEP)
    assert not any(killed(mutant, "TILE", phase) for phase in (Phase.EXAMPLES, Phase.BOUNDARIES, Phase.SEARCH))
    judge = Judge(mutant(), "mutant")
    assert not mutant.decides_only()
    assert all(judge.judge(case).verdict is Verdict.PASS for case in made("TILE", HIGHEST, Reach.BITS_16) if case.data)


def test_large_cases_are_not_kept() -> None:
    stream = streams("TILE").boundaries(Reach.BITS_24)
    large = [prepared for prepared in stream if prepared.is_large]
    assert large
    assert all(prepared.contents is None and prepared.expected is None for prepared in large)
    assert all(prepared.is_large is (bytes_of(prepared.case) > MOST_KEPT) for prepared in stream if prepared.case.data)
    kept = [prepared for prepared in stream if prepared.case.data and not prepared.is_large]
    assert all(prepared.contents and prepared.expected for prepared in kept if not prepared.case.broken)


def test_the_boundaries_of_a_larger_budget_begin_with_those_of_a_smaller_one() -> None:
    shorter, longer = streams("TILE").boundaries(Reach.BITS_16), streams("TILE").boundaries(Reach.BITS_24)
    assert longer[: len(shorter)] == shorter
    older = Streams("TILE", HIGHEST, is_newest=False).boundaries(Reach.BITS_24)
    assert not any("/scale/" in prepared.case.origin for prepared in older)


def test_a_kill_is_looked_for_once_in_what_streams_begin_with(monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = (one for one in planted("TILE", HIGHEST, ["scale"]) if one.mutant == "AlignmentIn31Bits")
    first, asked = _FirstKills(one), []

    def counted(*arguments: Any, **options: Any) -> Any:
        asked.append(arguments)
        return failures(*arguments, **options)

    monkeypatch.setattr("strength.measure.failures", counted)
    number = first.kill(streams("TILE").boundaries(Reach.BITS_16), in_batches=False)
    assert number > 0
    assert first.kill(streams("TILE").boundaries(Reach.BITS_24), in_batches=False) == number
    assert len(asked) == 1


@pytest.mark.parametrize(("mutant", "is_small"), [("Writes2To24Elements", False), ("AlignmentIn31Bits", True)])
def test_a_large_witness_stays_as_it_is(mutant: str, is_small: bool) -> None:
    (one,) = (one for one in planted("TILE", HIGHEST, ["scale"]) if one.mutant == mutant)
    found = next(failures(one, streams("TILE").boundaries(Reach.BITS_24)))
    witness = _witness(one, found.prepared, found.judged)
    elements = sum(tensor.element_count for tensor in tensors_of(found.prepared.case).values())
    assert (witness.elements < elements) is is_small
    assert (elements > 2**24) is not is_small


@EVERY_OPERATOR
def test_the_decisions_alone_are_taken_by_who_counts_in_32_bits(operator: str) -> None:
    """Each wrong acceptance is blamed on the rule that is broken."""
    for mutant in (mutants.PackedBytesIn32Bits, mutants.StridedElementsIn32Bits, mutants.ElementsIn32Bits):
        judge = Judge(mutant(), "mutant")
        records = [
            judge.record(case, Phase.BOUNDARIES) for case in made(operator, HIGHEST, Reach.BITS_16) if not case.data
        ]
        is_right = mutant is mutants.PackedBytesIn32Bits and operator in mutants.OF_BYTES
        wanted = frozenset() if is_right else mutant.caught_at(operator)
        assert {r.rule for r in records if r.verdict in NOT_CONFORMANT} == wanted
