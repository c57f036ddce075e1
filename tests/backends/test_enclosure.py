"""Enclosures: no value that a right implementation may have lies outside, and not much that it may not have inside."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from exact_arithmetic import FUNCTIONS, Steps, as_number
from hypothesis import given, settings
from hypothesis import strategies as st
from legal import Choice, Legal, f
from mpmath import mpf

from dml_conformance.backends.reference import enclosure, functions
from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, Factors, product_of
from dml_conformance.spec.accuracy import DIRECTML, PRECISE, TOLERANCES, Tolerance
from dml_conformance.spec.datatypes import DataType

FLOAT32, FLOAT16 = DataType.FLOAT32, DataType.FLOAT16
WIDTH = 4  # of the rows that expressions are of
EVALUATIONS = [Evaluation(tolerance, kind) for tolerance in (DIRECTML, PRECISE) for kind in (FLOAT32, FLOAT16, None)]

# --- sound ------------------------------------------------------------------------------------------------------------

Expression = tuple[Any, ...]
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "where")
UNARY = (*FUNCTIONS, "neg", "abs", "square", "reciprocal", "halved")
ALONG = ("sum", "mean", "max", "cumulative_sum", "variance", "matmul")


def numbers(kind: Any) -> st.SearchStrategy[float]:
    info = np.finfo(kind)
    tiny = float(info.smallest_normal)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, math.inf, -math.inf, math.nan, float(info.max), -float(info.max)]
    special += [tiny, -tiny, tiny / 2, -tiny / 4, float(info.smallest_subnormal), 1.0 + float(info.eps)]
    usual = st.floats(-8.0, 8.0, width=16)
    return st.one_of(usual, usual, st.sampled_from(special), st.floats(width=info.bits))


def expressions() -> st.SearchStrategy[Expression]:
    leaves = st.tuples(st.just("leaf"), st.integers(0, 2))

    def more(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        return st.one_of(
            st.tuples(st.sampled_from(BINARY), inner, inner),
            st.tuples(st.sampled_from(UNARY), inner),
            st.tuples(st.sampled_from(ALONG), inner),
            st.tuples(st.just("lerp"), inner, inner, inner),
        )

    return more(st.recursive(leaves, more, max_leaves=6))


def enclosed(expression: Expression, leaves: list[Enclosure]) -> Enclosure:
    """What a formula over rows may be."""
    name, *parts = expression
    if name == "leaf":
        return leaves[parts[0]]
    of = [enclosed(part, leaves) for part in parts]
    x = of[0]
    match name:
        case "add":
            return x + of[1]
        case "sub":
            return x - of[1]
        case "mul":
            return x * of[1]
        case "div":
            return x / of[1]
        case "where":
            return enclosure.where(x > of[1], x, of[1] * 2.0)
        case "neg":
            return -x
        case "abs":
            return abs(x)
        case "square":
            return x * x
        case "halved":
            return x.to(FLOAT16)
        case "reciprocal":
            return x.reciprocal()
        case "sum" | "mean" | "max" | "variance":
            return getattr(x, name)((1,)).broadcast(1, WIDTH)
        case "cumulative_sum":
            return x.cumulative_sum(1)
        case "matmul":
            return x @ leaves[-1]
        case _:
            return getattr(functions, name)(*of)


def evaluated(expression: Expression, leaves: list[list[Any]], matrix: list[list[Any]], steps: Steps) -> list[Any]:
    """What it is in one evaluation of each part; a part that stands twice may be computed twice."""
    name, *parts = expression
    if name == "leaf":
        return [steps.flushed(x, FLOAT32) for x in leaves[parts[0]]]
    of = [evaluated(part, leaves, matrix, steps) for part in parts]
    x = of[0]
    match name:
        case "where":
            return [a if a > b else steps.mul(b, mpf(2)) for a, b in zip(*of, strict=True)]
        case "halved":
            return [halved(a, steps) for a in x]
        case "sum":
            return [total(x, steps)] * WIDTH
        case "mean":
            return [steps.div(total(x, steps), mpf(WIDTH))] * WIDTH
        case "max":
            return [steps.random.choice([math.nan, *most(x)]) if any(a != a for a in x) else max(x)] * WIDTH
        case "cumulative_sum":
            return [total(x[: n + 1], steps) for n in range(WIDTH)]
        case "variance":
            mean = steps.div(total(x, steps), mpf(WIDTH))
            squares = [steps.square(steps.sub(a, mean)) for a in x]
            return [steps.div(total(squares, steps), mpf(WIDTH))] * WIDTH
        case "matmul":
            columns = list(zip(*matrix, strict=True))
            return [total([steps.mul(a, b) for a, b in zip(x, column, strict=True)], steps) for column in columns]
        case "lerp":
            return [lerped(*each, steps) for each in zip(*of, strict=True)]
        case _ if name in FUNCTIONS:
            return [steps.function(name, a) for a in x]
        case _:
            return [getattr(steps, name)(*each) for each in zip(*of, strict=True)]


def total(terms: list[Any], steps: Steps) -> Any:
    """A sum in an order, and a tree, of its own."""
    terms = steps.random.sample(terms, len(terms))
    while len(terms) > 1:
        place = steps.random.randrange(len(terms) - 1)
        terms[place : place + 2] = [steps.add(*terms[place : place + 2])]
    return terms[0]


def most(x: list[Any]) -> list[Any]:
    known = [a for a in x if a == a]
    return [max(known)] if known else []


def lerped(a: Any, b: Any, t: Any, steps: Steps) -> Any:
    return steps.add(steps.mul(steps.sub(mpf(1), t), a), steps.mul(t, b))


def halved(x: Any, steps: Steps) -> Any:
    """As FLOAT16: to nearest, or cut where the tolerance lets it be."""
    if isinstance(x, float):
        return x
    from exact_arithmetic import mp, sign, unit

    step = unit(x, FLOAT16)
    near = mp.nint(x / step) * step
    near = sign(x) * math.inf if abs(near) > 65504 else near
    if FLOAT16 in steps.evaluation.tolerance.cut and steps.random.random() < 0.5:
        near = min(mp.floor(abs(x) / step) * step, mpf(65504)) * sign(x)
    return near if near != 0 else math.copysign(0.0, sign(x))


@given(st.data(), st.sampled_from(EVALUATIONS))
@settings(max_examples=400, deadline=None, report_multiple_bugs=False)
def test_no_value_of_a_legal_evaluation_lies_outside(data: st.DataObject, evaluation: Evaluation) -> None:
    kind = np.float16 if evaluation.data_type is FLOAT16 else np.float32
    row = st.lists(numbers(kind), min_size=WIDTH, max_size=WIDTH)
    rows = data.draw(st.lists(row, min_size=3, max_size=3))
    matrix = data.draw(st.lists(row, min_size=WIDTH, max_size=WIDTH))
    expression = data.draw(expressions())
    arrays = [np.array([row], kind) for row in rows]
    leaves = [evaluation.of(array) for array in (*arrays, np.array(matrix, kind))]
    found = enclosed(expression, leaves)
    nan = np.broadcast_to(found.nan, found.shape)
    exact = [[as_number(float(x)) for x in array[0]] for array in arrays]
    weights = [[as_number(float(x)) for x in line] for line in np.array(matrix, kind)]
    for seed in range(12):
        steps = Steps(evaluation, seed)
        with np.errstate(all="ignore"):
            values = evaluated(expression, exact, weights, steps)
        for place, value in enumerate(values):
            low, high = float(found.low[0, place]), float(found.high[0, place])
            is_right = nan[0, place] if value != value else low <= value <= high
            assert is_right, f"seed {seed}, place {place}: {value} is not from {low} to {high}"


# --- tight ------------------------------------------------------------------------------------------------------------


def softmax(x: Any) -> Any:
    e = f.exp(x - x.max((1,)))
    return e / e.sum((1,))


def layer_normalization(x: Any, scale: Any, bias: Any) -> Any:
    return (x - x.mean((1,))) / f.sqrt(x.variance((1,)) + 1e-5) * scale + bias


def gru(x: Any, h: Any, wz: Any, wr: Any, wh: Any, rz: Any, rr: Any, rh: Any, bz: Any, br: Any, bh: Any) -> Any:
    for step in range(x.shape[0]):
        u = f.sigmoid(x[step] @ wz + h @ rz + bz)
        r = f.sigmoid(x[step] @ wr + h @ rr + br)
        g = f.tanh(x[step] @ wh + r * (h @ rh) + bh)
        h = f.lerp(g, h, u)
    return h


def normal(random: np.random.Generator, *sizes: int, by: float = 1.0) -> Any:
    return random.normal(0.0, by, sizes).astype(np.float32)


def gru_arrays(random: np.random.Generator, steps: int, size: int = 8) -> list[Any]:
    weights = [random.uniform(-0.5, 0.5, (size, size)).astype(np.float32) for _ in range(6)]
    biases = [random.uniform(-0.1, 0.1, size).astype(np.float32) for _ in range(3)]
    return [normal(random, steps, 4, size), random.uniform(-1, 1, (4, size)).astype(np.float32), *weights, *biases]


def tightness(formula: Any, arrays: list[Any], evaluation: Evaluation) -> tuple[float, float]:
    """Half the width over the largest deviation of 16 legal evaluations: of an element in the middle, and of the widest
    element of a row over the largest deviation in it, of a row in the middle. None lies outside."""
    found = formula(*map(evaluation.of, arrays))
    half = np.maximum(found.high - found.value, found.value - found.low)
    deviations = []
    for seed in range(16):
        choice = Choice(np.random.default_rng(seed), evaluation, strays=bool(seed % 2))
        values = formula(*(Legal(choice, array) for array in arrays)).wide
        assert ((found.low <= values) & (values <= found.high)).all()
        deviations.append(np.abs(values - found.value))
    most = np.max(deviations, axis=0)
    return float(np.median(half / np.maximum(most, 1e-300))), float(np.median(half.max(-1) / most.max(-1)))


FORMULAS = {
    **{f"softmax of {n}": (softmax, lambda r, n=n: [normal(r, 64, n, by=3.0)]) for n in (2, 8, 16, 64)},
    **{
        f"layer normalization of {n}": (
            layer_normalization,
            lambda r, n=n: [normal(r, 64, n, by=3.0), 1 + normal(r, n, by=0.2), normal(r, n, by=0.2)],
        )
        for n in (2, 8, 16, 64)
    },
    **{f"{n} steps of GRU": (gru, lambda r, n=n: gru_arrays(r, n)) for n in (1, 2, 4)},
}


@pytest.mark.parametrize("tolerance", [DIRECTML, PRECISE], ids=lambda tolerance: tolerance.name)
@pytest.mark.parametrize("name", FORMULAS)
def test_little_that_is_not_legal_lies_inside(name: str, tolerance: Tolerance) -> None:
    formula, arrays = FORMULAS[name]
    of_elements, of_rows = tightness(formula, arrays(np.random.default_rng(7)), Evaluation(tolerance))
    assert of_elements <= 20
    assert of_rows <= 20


def share_outside(values: Any, found: Enclosure) -> float:
    wide = values.astype(np.float64)
    return float(np.mean((wide < found.low) | (wide > found.high)))


@pytest.mark.parametrize("tolerance", [DIRECTML, PRECISE], ids=lambda tolerance: tolerance.name)
def test_faults_of_sums_and_products_lie_outside(tolerance: Tolerance) -> None:
    random, evaluation = np.random.default_rng(3), Evaluation(tolerance)
    x = normal(random, 64, 64, by=3.0)
    e = np.exp(x - x.max(1, keepdims=True))
    dropped = e / (e.sum(1, keepdims=True) - e[:, -1:])
    assert share_outside(dropped, softmax(evaluation.of(x))) > 0.9
    a, b = normal(random, 32, 64), normal(random, 64, 32)
    product = evaluation.of(a) @ evaluation.of(b)
    assert share_outside(a @ b, product) == 0.0
    assert share_outside(a[:, :-1] @ b[:-1], product) > 0.95
    assert share_outside(a @ b + a[:, -1:] @ b[-1:], product) > 0.95
    halves = [part.astype(np.float16) for part in (random.uniform(0, 1, (16, 256)), random.uniform(0, 1, (256, 16)))]
    total = np.zeros((16, 16), np.float16)
    for k in range(256):
        total = total + halves[0][:, k : k + 1] * halves[1][k : k + 1]
    found = (evaluation.of(halves[0]) @ evaluation.of(halves[1])).to(FLOAT16)
    assert share_outside(total, found) > 0.5
    whole = halves[0].astype(np.float32) @ halves[1].astype(np.float32)
    assert share_outside(whole.astype(np.float16), found) == 0.0


# --- nothing is added where nothing is lost ---------------------------------------------------------------------------


@pytest.mark.parametrize("evaluation", EVALUATIONS[:2], ids=lambda of: of.data_type.name)
def test_small_whole_numbers_stay_bit_for_bit(evaluation: Evaluation) -> None:
    random = np.random.default_rng(0)
    a, b = (evaluation.of(random.integers(-8, 9, sizes).astype(np.float16)) for sizes in ((5, 12), (12, 7)))
    for found in (a @ b, a.sum((1,)), a.cumulative_sum(1), a * a - a * 3.0 + 1.0, a.max((0,)), (a * 0.25).sum((1,))):
        assert found.is_exact
    too_large = evaluation.of(np.full((1, 3), 2.0**24, np.float32)).sum((1,))
    assert not (too_large + 1.0).is_exact


def test_what_may_be_a_whole_number_is_rounded_if_it_is_none() -> None:
    random, evaluation = np.random.default_rng(4), Evaluation(PRECISE)
    terms = random.uniform(0, 1, (256, 4)).astype(np.float32)
    found = enclosure.either(evaluation.of(np.zeros_like(terms)), evaluation.of(terms)).sum((1,))
    last = np.cumsum(terms, axis=1, dtype=np.float32)[:, -1:]
    assert (found.low == 0.0).all()
    assert (last > terms.astype(np.float64).sum(1, keepdims=True)).any()
    assert (last <= found.high).all()


def test_terms_that_repeat_or_vanish_have_all_their_errors_allowed() -> None:
    """A sum from the first term to the last; each loses the same, and lambda * sqrt(n) does not hold."""
    evaluation = Evaluation(PRECISE)
    rising = np.exp(-17.0 - np.linspace(0, 0.01, 4095)).astype(np.float32)
    for terms in (np.full(4096, 0.1, np.float32), np.concatenate([np.ones(1, np.float32), rising])):
        found = evaluation.of(terms[None]).sum((1,))
        assert found.low[0, 0] <= np.cumsum(terms, dtype=np.float32)[-1] <= found.high[0, 0]
        constant = evaluation.of(terms[None]) @ evaluation.of(np.ones((4096, 1), np.float32))
        assert constant.low[0, 0] <= np.cumsum(terms, dtype=np.float32)[-1] <= constant.high[0, 0]


def test_long_sums_are_as_wide_as_their_root() -> None:
    random, evaluation = np.random.default_rng(1), Evaluation(PRECISE)
    terms = normal(random, 50, 4096)
    found = evaluation.of(terms).sum((1,))
    for seed in range(8):
        orders = np.random.default_rng(seed).permutation(terms, axis=1)
        last = np.cumsum(orders, axis=1, dtype=np.float32)[:, -1:]
        assert ((found.low <= last) & (last <= found.high)).all()
    serial = 4095 * 2.0**-24 * np.abs(terms).sum(1, keepdims=True) / 2
    assert ((found.high - found.low) / 2 < serial / 8).all()


def test_a_sum_does_not_depend_on_its_neighbours() -> None:
    """Positive terms that are cut lose no more because another row has terms of both signs."""
    evaluation = Evaluation(DIRECTML)
    alone, other = np.logspace(0, -9, 5, dtype=np.float32), normal(np.random.default_rng(3), 1, 5)[0]
    found = evaluation.of(np.stack([alone, other])).sum((1,))
    only = evaluation.of(alone[None]).sum((1,))
    assert (found.low[0], found.high[0]) == (only.low[0], only.high[0])


def test_a_variance_has_the_square_of_what_its_mean_is_off_by() -> None:
    """Of equal numbers it is 0, but where their mean is another number than they are."""
    random, evaluation = np.random.default_rng(2), Evaluation(PRECISE)
    x = np.repeat(random.uniform(0.1, 1, (64, 1)).astype(np.float32), 10, axis=1)
    found = evaluation.of(x).variance((1,))
    mean = np.cumsum(x, axis=1, dtype=np.float32)[:, -1:] / np.float32(10)
    values = np.square(x - mean)[:, :1]
    assert (values > 0).any()
    assert ((found.low <= values) & (values <= found.high)).all()
    assert (found.high < 1e-11).all()


def test_choices_are_their_hull() -> None:
    evaluation = Evaluation(PRECISE)
    x = evaluation.of(np.array([[1.1, 2.2, 4.4, 8.8]], np.float32) + np.float32(1e3))
    two_passes = x.variance((1,))
    one_pass = (x * x).mean((1,)) - x.mean((1,)) * x.mean((1,))
    both = enclosure.either(two_passes, one_pass)
    assert both.low == min(two_passes.low, one_pass.low)
    assert both.high == max(two_passes.high, one_pass.high)
    assert one_pass.high - one_pass.low > 1e3 * (two_passes.high - two_passes.low)
    assert both.value == two_passes.value


# --- signs of zero, infinities, NaN -----------------------------------------------------------------------------------


def of(*numbers: float, tolerance: Tolerance = DIRECTML) -> Enclosure:
    return Evaluation(tolerance).of(np.array(numbers, np.float32))


def ends(found: Enclosure) -> list[tuple[float, float, bool]]:
    nan = np.broadcast_to(found.nan, found.shape)
    return [(float(a), float(b), bool(c)) for a, b, c in zip(found.low.flat, found.high.flat, nan.flat, strict=True)]


def test_reciprocals_of_subnormals_have_the_sign_of_their_zero() -> None:
    low, high, _ = ends(of(1e-39, -1e-39).reciprocal())[0]
    assert low > 9e38
    assert high == math.inf
    low, high, _ = ends(of(1e-39, -1e-39).reciprocal())[1]
    assert high < -9e38
    assert low == -math.inf
    assert ends(of(0.0, -0.0).reciprocal()) == [(math.inf, math.inf, False), (-math.inf, -math.inf, False)]


def test_of_numbers_on_both_sides_of_zero_every_reciprocal_is_right() -> None:
    both = enclosure.either(of(-2.0), of(4.0))
    assert ends(both.reciprocal()) == [(-math.inf, math.inf, False)]
    assert ends(of(1.0) / both) == [(-math.inf, math.inf, False)]
    assert ends(of(0.0) / both) == [(0.0, 0.0, True)]


def test_a_quotient_may_be_a_product_with_a_reciprocal() -> None:
    """Of the largest number the reciprocal is subnormal, and of infinity times its zero there is none."""
    assert ends(of(3e38) / of(3e38))[0][0] == 0.0
    low, high, nan = ends(of(math.inf) / of(3e38))[0]
    assert (low, high, nan) == (math.inf, math.inf, True)
    assert ends(of(3e38, tolerance=PRECISE) / of(3e38, tolerance=PRECISE)) == [(1.0, 1.0, False)]


def test_of_two_zeros_either_is_the_greater_one() -> None:
    for found in (functions.maximum(of(0.0), of(-0.0)), functions.minimum(of(0.0), of(-0.0)), of(-0.0, 0.0).max((0,))):
        assert ends(found.reciprocal()) == [(-math.inf, math.inf, False)]
    assert ends(functions.maximum(of(0.0), of(-1.0)).reciprocal()) == [(math.inf, math.inf, False)]


def test_opposite_infinities_are_no_number() -> None:
    assert [part[2] for part in ends(of(math.inf, math.inf, 1.0) - of(math.inf, -math.inf, math.inf))] == [1, 0, 0]
    assert np.isnan((of(math.inf) - of(math.inf)).low).all()
    assert ends(of(-1.0, math.inf).sum((0,))) == [(math.inf, math.inf, False)]
    large, infinite = of(3e38) * 2.0, of(math.inf)  # beyond the largest number: infinite, or in wider steps not
    for found in (large - infinite, infinite - large, -large + infinite, infinite + -large):
        assert found.nan.all()
        assert np.isinf(found.low).all()
    assert [part[2] for part in ends(functions.sqrt(of(-1.0, -1e-40, -0.0, 4.0)))] == [1, 1, 0, 0]


def test_products_that_overflow_both_ways_may_be_no_number() -> None:
    """However much larger one is than the other."""
    large, small = np.array([[1e38, -1e22, 1.0]], np.float32), np.array([[1e38], [1e22], [1.0]], np.float32)
    evaluation = Evaluation(DIRECTML)
    found = evaluation.of(large) @ evaluation.of(small)
    assert found.nan.all()
    assert found.high == np.inf
    assert not (evaluation.of(large[:, ::2]) @ evaluation.of(small[::2])).nan.any()


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.parametrize("special", [(), (math.inf,), (math.inf, -math.inf), (math.nan,), (3e38, 3e38, -3e38), (0.5,)])
def test_a_product_is_the_same_part_by_part(evaluation: Evaluation, special: tuple[float, ...]) -> None:
    """Whatever stands in one part alone; all sums here are exact in FLOAT64, in any order."""
    count, step = 200, 64
    rising = 1.0 + np.arange(count) / 256
    rows = np.stack([np.arange(count), rising, rising, np.where(np.arange(count) < step, rising * 2.0**-14, rising)])
    rows[0, 150 : 150 + len(special)] = special
    rows[1, 130:] = 3.125  # repeats in a later part
    rows[2, 129] = rows[2, 66]  # two of those that are looked at, in different parts
    x = evaluation.of(rows.astype(np.float32))
    y = evaluation.of(np.stack([np.ones(count), rising], 1).astype(np.float32))
    off = np.where(np.arange(2 * count).reshape(count, 2) < 300, 0.0, 0.5)  # known exactly in the first parts
    inexact = Enclosure(evaluation, y.value, y.value - off, y.value + off)
    maybe_nan = Enclosure(evaluation, y.value, inexact.low, inexact.high, off > 0)

    def parts_of(columns: Enclosure, along: slice) -> tuple[Enclosure, Enclosure]:
        part = columns[along]
        is_exact = (part.low == part.high).all()
        return x[:, along], Enclosure(evaluation, part.value) if is_exact and along.stop < count else part

    for columns, stored in ((y, None), (y, FLOAT16), (inexact, None), (maybe_nan, None), (y.opened(off > 0), None)):
        whole = x.product(columns, stored, term=x[:, :2], is_stored=True)
        parts = product_of(Factors.of(count, step, partial(parts_of, columns)), x[:, :2], stored, is_stored=True)
        for name in ("value", "low", "high", "nan"):
            assert np.array_equal(getattr(whole, name), getattr(parts, name), equal_nan=True), name


def by_tensor_cores(a: Any, b: Any, block: int, places: int) -> Any:
    """A product of matrices of FLOAT16 as tensor cores have it, with so many places behind the last of FLOAT32."""
    found = np.zeros((a.shape[0], b.shape[1]))
    of_a, of_b = (np.maximum(np.frexp(np.abs(x))[1] - 1, -14) for x in (a, b))
    for start in range(0, a.shape[1], block):
        along = slice(start, start + block)
        terms = a[:, along, None] * b[None, along]
        exponents = np.where(terms == 0, -1000, of_a[:, along, None] + of_b[None, along])
        terms = np.concatenate([terms, found[:, None]], 1)
        exponents = np.concatenate([exponents, np.where(found == 0, -1000, np.frexp(found)[1] - 1)[:, None]], 1)
        last = np.exp2(exponents.max(1, keepdims=True) - 23.0 - places)
        total = (np.trunc(terms / last) * last).sum(1)
        unit = np.spacing(np.abs(total).astype(np.float32)).astype(np.float64)
        found = np.trunc(total / unit) * unit
    return found


@pytest.mark.parametrize("tolerance", TOLERANCES.values(), ids=TOLERANCES)
@pytest.mark.parametrize(("block", "places"), [(4, 0), (8, 1), (16, 2)])
@pytest.mark.parametrize("count", [2, 3, 16, 17, 4096])
def test_tensor_cores_are_right(tolerance: Tolerance, block: int, places: int, count: int) -> None:
    """They cut, so that errors of terms of one sign come together, and know no exponent of subnormal numbers."""
    random = np.random.default_rng(count)
    a, b = (random.uniform(0.5, 2.0, shape) for shape in ((64, count), (count, 64)))
    a[16:32], b[:, 16:32] = random.normal(size=(16, count)), random.normal(size=(count, 16))
    a[32:48] *= np.exp2(random.integers(-22, 12, (16, count)))
    b[:, 32:48] *= np.exp2(random.integers(-22, 12, (count, 16)))
    a[48:, ::2] = 2.0**-24 * random.integers(1, 100, (16, (count + 1) // 2))
    a, b = (x.astype(np.float16).astype(np.float64) for x in (a, b))
    evaluation = Evaluation(tolerance)
    expected = evaluation.of(a.astype(np.float32)).product(evaluation.of(b.astype(np.float32)), FLOAT16)
    found = by_tensor_cores(a, b, block, places)
    assert (expected.low <= found).all()
    assert (found <= expected.high).all()


def test_of_factors_one_part_is_made_at_a_time_and_the_whole_once() -> None:
    made: list[slice] = []

    def part(along: slice) -> tuple[int, int]:
        made.append(along)
        return along.start, along.stop

    doubled = Factors.of(5, 2, part).each(lambda start, stop: (2 * start, 2 * stop))
    assert made == []
    parts = doubled.parts()
    assert (next(parts), made) == ((0, 4), [slice(0, 2)])
    assert doubled.sums(lambda start, stop: stop - start) == 2 * 6
    made.clear()
    whole = Factors.of(5, 5, part)
    assert [*whole.parts(), *whole.parts(), *whole.each(lambda start, stop: (stop, start)).parts()] == [(0, 5)] * 2 + [
        (5, 0)
    ]
    assert made == [slice(0, 5)]


def test_a_fused_step_is_not_rounded() -> None:
    """3.6e38 is infinite in FLOAT32, but not where what is taken away from it comes before rounding."""
    low, high, nan = ends(of(1.2e38) * 3.0 - 1e38)[0]
    assert low < 2.7e38
    assert (high, nan) == (math.inf, False)


def test_comparisons_that_may_be_either_choose_both() -> None:
    x = of(-1e-40, 1.0, math.nan, -2.0)
    found = enclosure.where(x >= 0.0, x, x * 0.5)
    assert ends(found)[0][0] <= np.float32(-1e-40)
    assert ends(found)[1:2] == [(1.0, 1.0, False)]
    assert ends(found)[2][2]
    assert ends(found)[3] == (-1.0, -1.0, False)


@pytest.mark.parametrize(
    ("evaluation", "number", "low", "high"),
    [
        (Evaluation(DIRECTML), 1 + 2.0**-11 + 2.0**-20, 1.0, 1 + 2.0**-10),
        (Evaluation(PRECISE), 1 + 2.0**-11 + 2.0**-20, 1 + 2.0**-10, 1 + 2.0**-10),
        (Evaluation(DIRECTML), -1e6, -math.inf, -65504.0),
        (Evaluation(PRECISE), -1e6, -math.inf, -math.inf),
        (Evaluation(PRECISE), 65519.0, 65504.0, 65504.0),
    ],
)
def test_conversions_round_to_nearest_or_cut(evaluation: Evaluation, number: float, low: float, high: float) -> None:
    found = evaluation.of(np.array([number], np.float32)).to(FLOAT16)
    assert (found.low[0], found.high[0]) == (low, high)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_of_an_output_numbers_between_the_ends_are_right_and_the_nearest_to_the_exact_value(dtype: Any) -> None:
    """Also where no number of the type lies between the ends, or one of them is not known."""
    inf, nan = math.inf, math.nan

    def found(value: float, low: float, high: float) -> tuple[float, ...]:
        numbers = (np.array([number]) for number in (value, low, high))
        return tuple(float(part[0]) for part in Enclosure(Evaluation(DIRECTML), *numbers).rounded(DataType[name]))

    name = np.dtype(dtype).name.upper()
    for third in (1 / 3, -1 / 3):
        nearest = float(dtype(third))
        above = nearest if nearest >= third else float(np.nextafter(dtype(third), dtype(inf)))
        below = nearest if nearest <= third else float(np.nextafter(dtype(third), dtype(-inf)))
        assert found(third, third, third) == (nearest, nearest, nearest)
        assert found(1.0, third, 2.0) == (1.0, above, 2.0)
        assert found(-1.0, -2.0, third) == (-1.0, -2.0, below)
        assert found(third, -1.0, nan) == (nearest, -1.0, nearest)
    assert found(-inf, -inf, nan) == (-inf, -inf, -inf)
    assert found(nan, nan, nan)[1:] == (1.0, -1.0)


# --- arrays of other libraries ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("tolerance", [DIRECTML, PRECISE], ids=lambda tolerance: tolerance.name)
def test_torch_has_the_same_enclosures(name: str, tolerance: Tolerance) -> None:
    torch = pytest.importorskip("torch")
    formula, arrays = FORMULAS[name]
    drawn, evaluation = arrays(np.random.default_rng(5)), Evaluation(tolerance)
    one = formula(*map(evaluation.of, drawn)).expectation(FLOAT32)
    other = formula(*(evaluation.of(torch.from_numpy(array)) for array in drawn)).expectation(FLOAT32)
    ulps = [np.abs(getattr(one.within, end).astype(int) - getattr(other.within, end)) for end in ("low", "high")]
    assert np.max(ulps) <= 1
    assert np.mean(np.asarray(ulps) > 0) < 0.01


def test_what_may_be_nan_for_several_elements_goes_with_each() -> None:
    """As where a row of a product has an infinity: a column of it is cut, and still may be a NaN."""
    numbers = np.arange(6.0).reshape(2, 3)
    row = Enclosure(Evaluation(DIRECTML), numbers, numbers - 1, numbers + 1, np.array([[True], [False]]))
    assert row[:, 2:].nan.tolist() == [[True], [False]]
    assert row.reshape(6).nan.tolist() == [True] * 3 + [False] * 3
