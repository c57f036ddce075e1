"""Cases of scale: what passes 16, 24 and 32 bits is there, with what is needed to see a fault, and little memory."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import cache

import pytest

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.exchange.corpus import Header
from dml_conformance.conformance.gate import suite
from dml_conformance.conformance.judge.batch import MOST_CASES
from dml_conformance.conformance.judge.judge import MAX_BYTES, Judge
from dml_conformance.reports.model.records import Phase, Verdict
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import slots
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc, clusters
from dml_conformance.spec.tensor_rules import BINDING
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.builders import is_sibling
from dml_conformance.strategies.scale import MOST_BESIDE, ROUNDED_PERIOD, Reach, scale_cases
from dml_conformance.strategies.values import buffer_size

EVERY_OPERATOR = pytest.mark.parametrize("operator", operators())
# What is told of every index type, axis and address is told of the operators that have them all.
GATHERING = ("GATHER", "TILE", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1")
CELLS = [
    (name, level)
    for name, spec in operators().items()
    for level in (Level.L1_0, Level.L2_1, Level.L3_0, HIGHEST)
    if level >= spec.introduced_in
]
GOLDEN = "9a96dfe908d443c74e6aa9e300cc2e726c6cdf5135aaccb885141e7bc0f36fc8"


@cache
def made(operator: str, level: Level = HIGHEST, reach: Reach = Reach.BITS_32) -> tuple[Case, ...]:
    return tuple(scale_cases(operator, level, reach))


def named(operator: str, part: str, level: Level = HIGHEST, reach: Reach = Reach.BITS_24) -> list[Case]:
    return [case for case in made(operator, level, reach) if f"/scale/{part}" in case.origin]


def tensors_of(case: Case) -> dict[str, TensorDesc]:
    return {slot.name: slot.tensor for slot in slots(case.desc)}


def bytes_of(case: Case) -> int:
    return sum(map(buffer_size, tensors_of(case).values()))


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
    # The one that stands for its siblings has the largest cases, the others what lies far apart, up to 24 bits.
    assert len(every[0]) < len(every[1])
    assert (len(every[1]) < len(every[2])) != is_sibling(operator)
    assert len({case.origin for case in every[2]}) == len({case.digest for case in every[2]}) == len(every[2])
    assert all(case.origin.startswith(f"{operator}/{level}/scale/") for case in every[2])


def test_the_cases_are_the_same_on_every_machine() -> None:
    text = "\n".join(f"{case.origin} {case.digest}" for operator in GATHERING for case in made(operator))
    assert hashlib.sha256(text.encode()).hexdigest() == GOLDEN


@pytest.mark.parametrize(
    ("operator", "repeats"),
    [("ADAM_OPTIMIZER", True), ("QUANTIZED_LINEAR_CONVOLUTION", True), ("ELEMENT_WISE_ABS", False), ("TILE", False)],
)
def test_large_data_begin_again_where_results_are_rounded(operator: str, repeats: bool) -> None:
    periods = {
        recipe.period
        for case in named(operator, "output/")
        if max(tensor.element_count for tensor in tensors_of(case).values()) > MOST_BESIDE
        for recipe in (case.data or {}).values()
    }
    assert periods == {ROUNDED_PERIOD if repeats else 0}


@pytest.mark.parametrize("operator", ["ELEMENT_WISE_ABS", "GATHER", "SCATTER_ND", "NONZERO_COORDINATES"])
def test_of_elements_4_gib_apart_the_gaps_are_none_of_a_case(operator: str) -> None:
    """Also where a tensor has many steps of some 40 MiB."""
    apart = [case for case in made(operator) if "/apart/32-bits/" in case.origin]
    assert len(apart) == 2
    for case in apart:
        tensors = [slot.tensor for slot in slots(case.desc)]
        assert sum(tensor.total_tensor_size_in_bytes for tensor in tensors) > 2**32
        assert sum(part.stop - part.start for tensor in tensors for part in clusters(tensor)) < 2**20


def test_beyond_32_bits_nothing_is_asked_for_twice_or_says_nothing() -> None:
    """Where all is in one row both shapes are the same; a sum of 2^31 numbers of FLOAT16 may be anything."""

    def vast(operator: str) -> list[str]:
        found = {case.origin for case in made(operator)} - {case.origin for case in made(operator, reach=Reach.BITS_24)}
        return sorted(origin.rpartition("/")[2] for origin in found if "/output/" in origin)

    both = ["1x7x306783385", "8555715x251x1"]
    assert vast("SCATTER") == vast("TILE") == both
    for operator in ("GRU", "LSTM", "RNN", "NONZERO_COORDINATES", "ROI_ALIGN_GRAD"):
        assert vast(operator) == both[1:]


def test_below_its_introduction_an_operator_has_none() -> None:
    assert list(scale_cases("GATHER_ND1", Level.L2_1, Reach.BITS_32)) == []


@EVERY_OPERATOR
def test_every_tensor_is_addressed_beyond_16_mib_and_two_beyond_4_gib(operator: str) -> None:
    for reach in (Reach.BITS_24, Reach.BITS_32):
        apart = {case.origin.rpartition("/")[2]: case for case in named(operator, f"apart/{reach}", reach=reach)}
        for name, case in apart.items():
            several = {name for name, tensor in tensors_of(case).items() if tensor.element_count > 1}
            assert set(apart) == several if reach is Reach.BITS_24 else set(apart) <= several
            assert tensors_of(case)[name].total_tensor_size_in_bytes > 2**reach
            assert sum(tensor.element_count for tensor in tensors_of(case).values()) < 20_000
        assert reach is Reach.BITS_24 or len(apart) <= 2


@EVERY_OPERATOR
def test_what_a_standard_campaign_has_takes_little_memory(operator: str) -> None:
    """For each output, twice as much where it has no type of one byte."""
    written = sum(field.is_output for field in operators()[operator].fields)
    scale = written if operator in GATHERING else 2 * written
    for reach, most in ((Reach.BITS_16, scale * 2**22), (Reach.BITS_24, scale * 2**26 + 2**12)):
        assert max(bytes_of(case) for case in made(operator, reach=reach) if case.data is not None) < most
    assert len(made(operator, reach=Reach.BITS_24)) < 100
    assert max(bytes_of(case) for case in made(operator) if case.data is not None) <= MAX_BYTES


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
