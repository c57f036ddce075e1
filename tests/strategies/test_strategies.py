"""What the strategies make: valid by construction, invalid for one reason, the same for the same seed, and everything
that the levels allow.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strength.steps import tensor_at_fault

from dml_conformance import strategies
from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import outputs, slots, with_tensors
from dml_conformance.spec.registry import operators, rules
from dml_conformance.spec.rules import ACCEPTANCE
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.boundaries import ALIGNMENTS, CASES_A_RULE, boundary_cases
from dml_conformance.strategies.builders import LARGEST, TOO_LARGE, builder
from dml_conformance.strategies.cases import any_case, applicable_rules, make_case, numbered_case
from dml_conformance.strategies.chooser import HypothesisChooser, SeededChooser, every_variant
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.tensors import (
    layout_kind,
    strides_of_kind,
)
from dml_conformance.strategies.values import DATA_PATTERNS, INDEX_PATTERNS, NEGATIVE_PATTERNS
from dml_conformance.strategies.violations import breakable_rules, violate

# Between two epochs of an operator nothing changes for it. What is told of every memory layout, index and pattern is
# told of the operators that have them all.
CELLS = [(operator, level) for operator, spec in operators().items() for level in spec.epochs]
GATHERING = ("GATHER", "TILE", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1")
GATHERING_CELLS = [(operator, level) for operator, level in CELLS if operator in GATHERING]
EVERY_OPERATOR = pytest.mark.parametrize("operator", operators())

# SHA-256 over the digests of cases, so that a change of what is generated does not go unnoticed: all boundaries of the
# highest level, and the first thousand of a sweep. When it is meant, run
# `pytest tests/strategies/test_strategies.py -k golden`: the failure shows the new value.
SWEPT_CASES = 1000
GOLDEN = {
    "boundaries": "9077fbba8688150c53fa382c404cda60820d0cc3ef95936f0bafd1a3563891ec",
    "sweep": "8f9535633c11f643e4c4cf54dd2163b9d7f79eca7df2ba72806d5f6f702fbf38",
}


def context(operator: str, level: Level, seed: int | str) -> Context:
    return Context.at(SeededChooser(seed), operators()[operator], level)


def tensors(desc: Any) -> list[tuple[str, TensorDesc]]:
    return [(slot.key, slot.tensor) for slot in slots(desc)]


# --- valid by construction --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("operator", "level"), CELLS)
def test_narrowed_contexts_are_honoured(operator: str, level: Level) -> None:
    """A layout asked for, an output of more than one element, one data type, one dimension count."""
    for seed in range(15):
        ctx = context(operator, level, seed)
        packed = builder(operator).build(ctx.but(layout="packed", spread=True))
        assert any(slot.tensor.element_count > 1 for slot in outputs(packed))
        assert all(tensor.strides is None for _, tensor in tensors(packed))
        group, types = next(iter(ctx.types.items()))
        strided = builder(operator).build(ctx.but(layout="strided").of_types(group, types[-1:]))
        assert all(tensor.strides is not None for _, tensor in tensors(strided))
        of_group = [slot for slot in slots(strided) if operators()[operator].group(slot.field) == group]
        assert {slot.tensor.data_type for slot in of_group} == {types[-1]}
        longest = builder(operator).build(ctx.of_rank(ctx.ranks[-1]))
        assert max(len(tensor.sizes) for _, tensor in tensors(longest)) == ctx.ranks[-1]
        for desc in (packed, strided, longest):
            assert decide(desc, level).outcome is Outcome.ACCEPT, desc


@EVERY_OPERATOR
def test_the_largest_tensors_are_valid_and_one_element_more_is_not(operator: str) -> None:
    for level in (operators()[operator].introduced_in, HIGHEST):
        try:
            largest = list(builder(operator).huge(context(operator, level, 0), LARGEST))
        except Impossible:
            assert operator not in GATHERING
            continue
        assert largest
        for desc in largest:
            assert max(tensor.element_count for _, tensor in tensors(desc)) == 2**32 - 1
            assert decide(desc, level).outcome is Outcome.ACCEPT
        for desc in builder(operator).huge(context(operator, level, 0), TOO_LARGE):
            assert max(tensor.element_count for _, tensor in tensors(desc)) == 2**32
            assert decide(desc, level).rules == ("TENSOR.element-count",)


@EVERY_OPERATOR
@pytest.mark.parametrize("size", [2**16, 2**20])
def test_large_descriptors_have_about_the_size_asked_for(operator: str, size: int) -> None:
    ctx = context(operator, HIGHEST, 0)
    group, types = next(iter(ctx.types.items()))
    for data_type in types:
        try:
            desc = builder(operator).large(ctx.of_types(group, (data_type,)), size)
        except Impossible:
            assert operator not in GATHERING
            continue
        assert decide(desc, HIGHEST).outcome is Outcome.ACCEPT
        most = max(slot.tensor.total_tensor_size_in_bytes for slot in slots(desc))
        assert size // 2 <= most <= 4 * size
        assert data_type in {slot.tensor.data_type for slot in slots(desc)}


@settings(max_examples=100)
@given(st.sampled_from(CELLS), st.data())
def test_public_strategies_make_what_they_say(cell: tuple[str, Level], data: st.DataObject) -> None:
    operator, level = cell
    desc = data.draw(strategies.descriptors(operator, level.label))
    assert desc.operator == operator
    assert decide(desc, level).outcome is Outcome.ACCEPT
    rule = data.draw(st.sampled_from(breakable_rules(operator, level)))
    broken = data.draw(strategies.invalid_descriptors(f"DML_OPERATOR_{operator}", level, rule))
    assert decide(broken, level).rules == (rule,)
    assert len(decide(data.draw(strategies.invalid_descriptors(operator, level)), level).rules) == 1
    case = data.draw(strategies.cases(operator, level))
    assert (case.operator, case.level) == (operator, level)
    assert case.outcome is decide(case.desc, level).outcome
    assert (case.data is not None) == (case.outcome is Outcome.ACCEPT and case.rule != ACCEPTANCE)
    assert data.draw(strategies.cases(operator, level, f"{operator}.values")).rule == f"{operator}.values"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: strategies.descriptors("CONV", "3_0"), KeyError, "unknown operator 'CONV'; "),
        (lambda: strategies.descriptors("GATHER", "3_5"), ValueError, "there is no feature level '3_5'"),
        (lambda: strategies.descriptors("GATHER_ND1", "2_1"), ValueError, "GATHER_ND1 exists from level 3_0 on, not"),
        (lambda: strategies.cases("CONV", "3_0"), KeyError, "unknown operator"),
        (lambda: strategies.cases("GATHER", "7_0"), ValueError, "there is no feature level"),
        (
            lambda: strategies.cases("TILE", "3_0", "GATHER.values"),
            ValueError,
            "no case of TILE is about GATHER.values",
        ),
        (lambda: strategies.cases("TILE", "1_0", "TILE.nothing"), ValueError, "no case of TILE is about TILE.nothing"),
        (lambda: strategies.invalid_descriptors("CONV", "3_0"), KeyError, "unknown operator"),
        (lambda: strategies.invalid_descriptors("TILE", "9"), ValueError, "there is no feature level"),
        (
            lambda: strategies.invalid_descriptors("GATHER", "3_0", "GATHER.dimension-counts"),
            ValueError,
            "no descriptor of GATHER breaks GATHER.dimension-counts alone at level 3_0",
        ),
        (lambda: strategies.invalid_descriptors("TILE", "3_0", "TILE.values"), ValueError, "breaks TILE.values alone"),
    ],
)
def test_what_does_not_exist_is_an_error_at_once(call: Any, error: type[Exception], message: str) -> None:
    """Not when the first example is drawn: the message should point at the line that asked."""
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_a_context_with_nothing_to_choose_from_is_impossible() -> None:
    ctx = context("GATHER", Level.L2_1, 0)
    assert ctx.ranks == (4,)
    for make in (
        lambda: ctx.of_rank(5),
        lambda: ctx.but(data_types=()),
        lambda: ctx.but(index_types=()),
        lambda: ctx.but(ranks=()),
    ):
        with pytest.raises(Impossible):
            make()
    assert context("TILE", Level.L2_1, 0).index_types == ()


# --- invalid for one reason -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", ["GEMM", "LSTM", "MEAN_VARIANCE_NORMALIZATION"])
def test_every_optional_tensor_is_the_wrong_one_in_turn(operator: str) -> None:
    def violations(rule: str) -> list[Any]:
        return list(every_variant("", lambda chooser: violate(chooser, operator, HIGHEST, rule)))

    whole = builder(operator).build(context(operator, HIGHEST, 0).but(complete=True))
    every = {key for key, _ in tensors(whole)}
    assert {key for desc in violations("TENSOR.flags") for key, tensor in tensors(desc) if tensor.flags > 1} == every
    # One dimension more than the others', which are as many as the operator takes.
    most, counts = context(operator, HIGHEST, 0).ranks[-1], set()
    for desc in violations("TENSOR.dimension-count"):
        found = {key: len(tensor.sizes) for key, tensor in tensors(desc)}
        counts |= {key for key, count in found.items() if count == 9 and most in found.values()}
    assert counts == every


@pytest.mark.parametrize(
    ("operator", "name"),
    [
        *product(
            ("GEMM", "RNN", "MULTIHEAD_ATTENTION"),
            ("TENSOR.total-size-rounding", "TENSOR.sizes", "data-types", "dimension-counts", "same-data-type"),
        ),
        ("JOIN", "TENSOR.sizes"),
        ("FOLD", "dimension-counts"),
        ("RANDOM_GENERATOR", "data-types"),
    ],
)
def test_a_rule_of_each_tensor_is_broken_in_each_one_alone(operator: str, name: str) -> None:
    """An implementation that checks its tensors one by one may forget any of them."""
    rule = name if name.startswith("TENSOR.") else f"{operator}.{name}"
    spec, ctx = operators()[operator], context(operator, HIGHEST, 0)
    alone = set()
    for seed in range(CASES_A_RULE):
        for desc in every_variant(seed, lambda chooser: violate(chooser, operator, HIGHEST, rule)):
            alone.add(tensor_at_fault(desc, decide(desc, HIGHEST)))
    rows = {name: row for name, row in ctx.table.items() if row.data_types or row.dimension_counts}
    able = {
        "TENSOR.total-size-rounding": {name for name, row in rows.items() if {1, 2} & {t.size for t in row.data_types}},
        "TENSOR.sizes": set(rows),
        "data-types": set(rows),
        "dimension-counts": {name for name, row in rows.items() if row.dimension_counts != frozenset(range(1, 9))},
        "same-data-type": {f.name for fields in spec.type_groups.values() if len(fields) > 2 for f in fields},
    }[name]
    assert alone - {""} == able


# --- sizes and layouts ------------------------------------------------------------------------------------------------


def test_layouts_are_what_they_are_called() -> None:
    def strides(kind: str, code: int = 0) -> tuple[int, ...]:
        return strides_of_kind(kind, (2, 3, 4), code) or ()

    assert strides("explicit") == (12, 4, 1)
    assert {strides("apart", code) for code in range(20)} == {(12 * n, 4 * n, n) for n in (2, 3, 4)}
    assert {sorted(strides("permuted", code))[0] for code in range(20)} == {1}
    assert len({strides("permuted", code) for code in range(200)}) == 6
    assert {strides("padded", code) for code in range(20)} == {(3 * (4 + n) + n, 4 + n, 1) for n in (1, 2, 3, 4)}
    assert len({strides("both", code) for code in range(200)}) == 24
    assert strides("window") == (1, 1, 1)
    broadcasts = {strides("broadcast", code) for code in range(50)}
    assert broadcasts == {(3, 1, 0), (4, 0, 1), (1, 0, 0), (0, 4, 1), (0, 1, 0), (0, 0, 1)}
    assert strides_of_kind("broadcast", (1, 5, 1), 0) == (1, 0, 1)
    assert strides_of_kind("broadcast", (1, 1), 0) == (0, 1)
    with pytest.raises(AssertionError):
        strides_of_kind("diagonal", (2, 2), 0)


@pytest.mark.parametrize(
    ("strides", "kind"),
    [
        (None, "packed"),
        ((12, 4, 1), "packed"),
        ((24, 8, 2), "padded"),
        ((13, 4, 1), "padded"),
        ((1, 2, 6), "permuted"),
        ((12, 0, 1), "broadcast"),
        ((1, 1, 1), "overlapping"),
        ((18, 4, 3), "interleaved"),
    ],
)
def test_the_name_of_a_layout(strides: tuple[int, ...] | None, kind: str) -> None:
    assert layout_kind(TensorDesc.of(DataType.UINT8, (2, 3, 4), strides)) == kind


def test_a_stride_over_one_element_says_nothing_about_the_layout() -> None:
    assert layout_kind(TensorDesc.of(DataType.UINT8, (1, 3), (0, 1))) == "packed"


# --- choosers ---------------------------------------------------------------------------------------------------------


def test_every_variant_walks_through_all_combinations_once() -> None:
    def make(chooser: Any) -> tuple[str, int, float]:
        noise = chooser.integer(0, 10**9)
        first = chooser.variant("ab")
        return first, chooser.variant((1, 2, 3) if first == "a" else (4,)), noise

    found = list(every_variant("seed", make))
    assert [combination[:2] for combination in found] == [("a", 1), ("a", 2), ("a", 3), ("b", 4)]
    assert len({noise for *_, noise in found}) == 1  # everything else comes from the seed
    assert len(list(every_variant(0, lambda chooser: chooser.integer(0, 5)))) == 1


def test_how_a_seed_becomes_decisions() -> None:
    """As `SeededChooser` says it, step by step: whoever makes the same cases elsewhere needs nothing else."""
    block = hashlib.blake2b(b"7/GATHER/6_4/0", digest_size=32).digest()
    pool = int.from_bytes(block, "little")
    chooser = SeededChooser("7/GATHER/6_4/0")
    for n in range(1, 5000):
        pool, expected = divmod(pool, n)
        if pool < 2**64:
            block = hashlib.blake2b(block, digest_size=32).digest()
            pool = int.from_bytes(block, "little")
        ask = (lambda: chooser.integer(0, n - 1), lambda: chooser.choice(range(n)), lambda: chooser.code(n))[n % 3]  # noqa: B023
        assert ask() == expected
    assert [SeededChooser(0).integer(0, 2**32 - 1), SeededChooser("0").integer(-3, 3)] == [3391346959, -2]


@pytest.mark.parametrize("high", [0, 4, 129, 2**32 - 1])
def test_several_numbers_are_those_asked_for_one_by_one(high: int) -> None:
    together, one_by_one = SeededChooser(5), SeededChooser(5)
    assert together.several(-1, high, 50) == [one_by_one.integer(-1, high) for _ in range(50)]
    assert together.integer(0, 10**9) == one_by_one.integer(0, 10**9)


def test_blocks_of_bytes_become_decisions() -> None:
    """A byte a decision, more for a code; a section starts anew, however many decisions there were before it."""
    blocks = iter([bytes(range(1, 21)), bytes(range(101, 121)), bytes(range(201, 221))])
    chooser = HypothesisChooser(lambda _: next(blocks))
    assert chooser.integer(10, 12) == 10 + 1 % 3
    assert chooser.integer(5, 5) == 5  # takes a byte too: the range may be wider in the next example
    assert chooser.choice("abc") == "abc"[3 % 3]
    assert chooser.code(2**16) == 0x0405
    assert chooser.several(0, 255, 3) == [6, 7, 8]
    chooser.section()
    assert chooser.code(2**30) == 0x65666768 % 2**30
    assert chooser.several(0, 9, 16) == [n % 10 for n in range(105, 121)]
    assert chooser.variant("xyz") == "xyz"[201 % 3]  # the block was at its end


@pytest.mark.parametrize("operator", GATHERING)
def test_with_fewer_dimensions_all_else_stays(operator: str) -> None:
    """Each thing that a case is made of has a section of its own, so a failure keeps its layouts while it shrinks."""
    found = set()
    for rank in range(8):
        blocks = iter([bytes([rank, *range(2, 21)]), *(bytes(range(n, n + 20)) for n in (30, 50, 70, 90))])
        case = make_case(HypothesisChooser(lambda _: next(blocks)), operator, HIGHEST, f"{operator}.values")  # noqa: B023
        assert len(case.desc.input_tensor.sizes) == rank + 1
        around = [
            (tensor.flags, tensor.guaranteed_base_offset_alignment, tensor.strides is None)
            for _, tensor in tensors(case.desc)
        ]
        found.add((*around, case.data["input_tensor"]))
    assert len(found) == 1


DRAWN = """
import sys
sys.path.insert(0, sys.argv[1])
import {module}
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st
from dml_conformance.strategies.chooser import HypothesisChooser

drawn = []

@seed(1)
@settings(max_examples=300, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.data())
def draw(data):
    chooser = HypothesisChooser(data.draw)
    drawn.append((chooser.integer(0, 2**32 - 1), chooser.integer(-400, 400), chooser.code(2**32)))

draw()
print(len(drawn), hash(tuple(drawn)))
"""


def test_what_is_drawn_does_not_depend_on_what_is_loaded(tmp_path: Path) -> None:
    """Hypothesis tries constants that it finds in modules of no package; a campaign has to be the same without them."""
    numbers = [*range(100, 400), *(2**n + step for n in range(10, 64) for step in (-1, 0, 1))]
    texts = [bytes(range(1, n + 1)) for n in range(1, 80)]
    assert len(numbers) + len(texts) < 1000  # of a module with more, Hypothesis takes none
    (tmp_path / "plain.py").write_text("")
    (tmp_path / "full_of_constants.py").write_text(f"NUMBERS = {numbers}\nTEXTS = {texts}\n")
    drawn = [
        subprocess.run(
            [sys.executable, "-c", DRAWN.format(module=module), str(tmp_path)],
            capture_output=True,
            check=True,
            cwd=tmp_path,
            text=True,
        ).stdout
        for module in ("plain", "full_of_constants")
    ]
    assert drawn[0] == drawn[1]
    assert int(drawn[0].split()[0]) >= 300


# --- the same for the same seed ---------------------------------------------------------------------------------------


def sweep(seed: int) -> Iterable[Case]:
    for n in range(10**6):
        operator, level = GATHERING_CELLS[n % len(GATHERING_CELLS)]
        yield any_case(SeededChooser(f"{seed}/{n}"), operator, level)


@pytest.mark.parametrize(("operator", "level"), CELLS)
def test_the_validator_decides_as_a_case_was_made(operator: str, level: Level) -> None:
    """What is expected of a valid case follows from how it is made; nobody asks the validator then."""
    made = [any_case(SeededChooser(n), operator, level) for n in range(150)]
    for rule, n in product(applicable_rules(operator, level), range(5)):
        with suppress(Impossible):  # a rule cannot be broken alone in every descriptor
            made.append(make_case(SeededChooser(n), operator, level, rule))
    assert {case.rule for case in made} == set(applicable_rules(operator, level))
    for case in made:
        assert case == Case.of(case.desc, level, case.data, rule=case.rule), case.desc
    assert {case.outcome for case in made} >= {Outcome.ACCEPT, Outcome.REJECT}


def test_a_numbered_case_needs_none_before_it() -> None:
    for operator, level in CELLS[::7]:
        in_order = [numbered_case(3, operator, level, n) for n in range(5)]
        assert [numbered_case(3, operator, level, n) for n in reversed(range(5))] == in_order[::-1]
        assert [case.origin for case in in_order] == [f"3/{operator}/{level.label}/{n}" for n in range(5)]
        for case in in_order:
            assert case == any_case(SeededChooser(case.origin), operator, level, case.origin)
    assert numbered_case(3, "TILE", HIGHEST, 0) != numbered_case(4, "TILE", HIGHEST, 0)
    with pytest.raises(KeyError, match="unknown operator 'CONV'"):
        numbered_case(3, "CONV", HIGHEST, 0)


def shape(case: Case) -> tuple[Any, ...]:
    """Sizes, types and attributes: all but layouts."""
    plain = {key: TensorDesc.of(tensor.data_type, tensor.sizes) for key, tensor in tensors(case.desc)}
    return msgspec.structs.astuple(with_tensors(case.desc, plain))


@EVERY_OPERATOR
def test_neighbours_in_a_sweep_are_alike(operator: str) -> None:
    """Of each eight cases the fifth, if it is executed, is followed by two with its descriptor, and by one laid out
    anew, all with other data and about its rule."""
    cases = [numbered_case(5, operator, HIGHEST, n) for n in range(160)]
    followed = 0
    for leader, *after in (cases[n : n + 4] for n in range(4, 160, 8)):
        if leader.data is None:
            continue
        followed += 1
        assert [case.desc == leader.desc for case in after[:2]] == [True, True]
        assert {shape(case) for case in after} == {shape(leader)}
        assert {case.rule for case in after} == {leader.rule}
        for case in after:
            decision = decide(case.desc, HIGHEST)
            assert (decision.outcome, decision.rules) == (case.outcome, case.broken)
    assert followed >= 5
    led = [pair for pair in zip(cases[4::8], cases[7::8], strict=True) if pair[0].data is not None]
    assert any(case.desc != leader.desc for leader, case in led)
    fields = operators()[operator].input_fields
    if fields and not fields[0].optional:  # without data, what is alike is the same
        assert len({case.digest for case in cases}) >= 155


def boundaries(names: Iterable[str] = GATHERING) -> Iterable[Case]:
    for operator in names:
        yield from boundary_cases(operator, HIGHEST)


def fingerprint(cases: Iterable[Case]) -> str:
    text = "\n".join(f"{case.digest} {case.rule}" for case in cases)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_cases(name: str) -> None:
    """Whoever reports a case by its seed or number relies on these; see `GOLDEN` for how to change them."""
    cases = {"boundaries": boundaries(), "sweep": islice(sweep(0), SWEPT_CASES)}
    found = fingerprint(cases[name])
    assert found == GOLDEN[name], f'what is generated has changed; if that is meant: "{name}": "{found}"'


@EVERY_OPERATOR
def test_boundary_cases_have_names_of_their_own(operator: str) -> None:
    """A name says where a case comes from; only the variants of one that is about a rule share theirs."""
    cases = list(boundary_cases(operator, HIGHEST))
    for name, count in Counter(case.origin for case in cases).items():
        assert name.startswith(f"{operator}/{HIGHEST}/")
        assert count == 1 or name.split("/")[2] in rules(), name


@pytest.mark.few(4, 60)
@pytest.mark.parametrize("operator", operators())
def test_cases_survive_their_json(operator: str) -> None:
    """Compared as JSON, because a number that is NaN is not itself."""
    for case in boundary_cases(operator, HIGHEST):
        written = json.dumps(case.to_json())
        assert json.dumps(Case.from_json(json.loads(written)).to_json()) == written


SCALARS = [name for name, spec in operators().items() if any(field.typed_by for field in spec.fields)]


@pytest.mark.parametrize("operator", SCALARS)
def test_scalars_of_a_type_that_is_wrong_survive_their_json(operator: str) -> None:
    """A number is one of the type beside it, also where that has four bits and is allowed at no level."""
    for seed in range(200):
        case = make_case(SeededChooser(seed), operator, HIGHEST, f"{operator}.data-types")
        assert Case.from_json(case.to_json()).to_json() == case.to_json()


# --- everything that the levels allow ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("operator", "level"), GATHERING_CELLS)
def test_boundaries_cover_what_the_level_allows(operator: str, level: Level) -> None:
    """Every data type with every index type, dimension count, pattern, layout, alignment and flag, in valid cases."""
    spec = operators()[operator]
    table = spec.table_at(level)
    cases = list(boundary_cases(operator, level))
    valid = [case for case in cases if case.outcome is Outcome.ACCEPT and case.data]

    types = {(case.desc.input_tensor.data_type, _index_type(case)) for case in valid}
    data_types = table["InputTensor"].data_types
    index_types = table["IndicesTensor"].data_types if spec.index is not None else {None}
    assert types == {(data, index) for data in data_types for index in index_types}
    counts = {len(tensor.sizes) for case in valid for _, tensor in tensors(case.desc)}
    assert counts == table["InputTensor"].dimension_counts

    for field in spec.tensor_fields:
        found = [getattr(case.desc, field.attribute) for case in valid]
        is_output = field in spec.output_fields
        assert {layout_kind(tensor) for tensor in found} >= {"packed", "padded"}
        assert {tensor.flags for tensor in found} == ({0} if is_output else {0, 1})
        least = min(tensor.data_type.size for tensor in found)
        alignments = {n for n in ALIGNMENTS if n == 0 or n >= least}
        assert alignments >= {tensor.guaranteed_base_offset_alignment for tensor in found} >= alignments - {1, 2, 4}
        surplus = {
            tensor.total_tensor_size_in_bytes
            - TensorDesc.of(tensor.data_type, tensor.sizes, tensor.strides).total_tensor_size_in_bytes
            for tensor in found
        }
        assert surplus >= {0, 1, 3, 4, 60, 4096}

    layouts = {layout_kind(tensor) for case in valid for _, tensor in tensors(case.desc)}
    assert layouts == {"packed", "padded", "permuted", "interleaved", "broadcast", "overlapping"}
    patterns = {(case.desc.input_tensor.data_type, case.data["input_tensor"].pattern) for case in valid}
    assert patterns >= {(data, pattern) for data in data_types for pattern in DATA_PATTERNS}
    if spec.index is not None:
        found_patterns = {(_index_type(case), case.data["indices_tensor"].pattern) for case in valid}
        for index_type in index_types:
            signed = index_type.is_signed_integer
            for pattern in INDEX_PATTERNS if signed else sorted(set(INDEX_PATTERNS) - set(NEGATIVE_PATTERNS)):
                assert (index_type, pattern) in found_patterns


def _index_type(case: Case) -> DataType | None:
    indices = getattr(case.desc, "indices_tensor", None)
    return None if indices is None else indices.data_type
