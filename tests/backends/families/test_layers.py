"""Layers of networks: normalization, attention, recurrent units, an optimizer, by the formulas in plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Element, Run, count_around, small_runs, unit, without_activation

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import attribute_of
from dml_conformance.spec.operators.attention import HOLDS, MASK_TYPE, STACKED, Parts, parts
from dml_conformance.spec.operators.local_response import FORWARD, GRADIENT
from dml_conformance.spec.operators.recurrent import UNITS

OUTPUT = "output_tensor"


def beside(array: Any, c: slow.Coordinates) -> float:
    """An element of a tensor whose sizes of 1 stand for any."""
    return float(array[tuple(min(at, size - 1) for at, size in zip(c, array.shape, strict=True))])


def row_of(array: Any, axes: Any, c: slow.Coordinates) -> list[float]:
    """The elements that differ from one along some axes."""
    box = tuple(slice(None) if d in axes else slice(at, at + 1) for d, at in enumerate(c))
    return [float(x) for x in array[box].flat]


def eps_of(run: Run) -> float:
    return float(np.finfo(next(iter(run.arrays.values())).dtype).eps)


# --- normalization ----------------------------------------------------------------------------------------------------


def batch_normalization(run: Run) -> Iterator[Element]:
    """Each output, from sums over what a parameter's element is for, where no variance is next to nothing."""
    desc = run.desc
    x, scale, eps = run.arrays["input_tensor"], run.arrays["scale_tensor"], eps_of(run)
    if not all((np.abs(array) < 1e3).all() for array in run.arrays.values()):
        return
    is_training = desc.operator.endswith("TRAINING")
    if not (run.arrays.get("variance_tensor", np.zeros(1)) + desc.epsilon > 0.1).all():
        return
    axes = [d for d, size in enumerate(scale.shape) if size == 1]

    def mean(c: slow.Coordinates, term: Callable[[slow.Coordinates], float]) -> float:
        every = list(product(*(range(n) if d in axes else (c[d],) for d, n in enumerate(x.shape))))
        return math.fsum(map(term, every)) / len(every)

    def at(key: str, c: slow.Coordinates) -> float:
        return beside(run.arrays[f"{key}_tensor"], c)

    def own(c: slow.Coordinates) -> float:
        return mean(c, lambda p: at("input", p))

    def own_variance(c: slow.Coordinates) -> float:
        middle = own(c)
        return mean(c, lambda p: (at("input", p) - middle) ** 2)

    def root(c: slow.Coordinates) -> float:
        return math.sqrt(at("variance", c) + desc.epsilon)

    def output(c: slow.Coordinates) -> float:
        middle, variance = (own(c), own_variance(c)) if is_training else (at("mean", c), at("variance", c))
        found = at("scale", c) * (at("input", c) - middle) / math.sqrt(variance + desc.epsilon) + at("bias", c)
        return found + (at("fused_add", c) if "fused_add_tensor" in run.arrays else 0.0)

    def of_input(c: slow.Coordinates) -> float:
        gradient = at("input_gradient", c)
        if desc.operator.endswith("TRAINING_GRAD"):
            middle = own(c)
            covariance = mean(c, lambda p: at("input_gradient", p) * (at("input", p) - middle))
            gradient -= mean(c, lambda p: at("input_gradient", p))
            gradient -= (at("input", c) - middle) * covariance / (at("variance", c) + desc.epsilon)
        return gradient * at("scale", c) / root(c)

    count = math.prod(x.shape[d] for d in axes)
    formulas: dict[str, Callable[[slow.Coordinates], float]] = {
        OUTPUT: output,
        "output_mean_tensor": own,
        "output_variance_tensor": own_variance,
        "output_gradient_tensor": of_input,
        "output_scale_gradient_tensor": lambda c: (
            count * mean(c, lambda p: at("input_gradient", p) * (at("input", p) - at("mean", p)) / root(p))
        ),
        "output_bias_gradient_tensor": lambda c: count * mean(c, lambda p: at("input_gradient", p)),
    }
    for key, formula in formulas.items():
        for c in list(slow.walk(getattr(desc, key).sizes))[:12] if hasattr(desc, key) else ():
            y = formula(c)
            if abs(y) < 6e4 and not (is_training and own_variance(c) + desc.epsilon < 0.1):
                yield key, c, y, eps * abs(y) + 1e-7, math.inf


def mean_variance(run: Run) -> Iterator[Element]:
    desc, x = run.desc, run.arrays["input_tensor"]
    axes = desc.axes if hasattr(desc, "axes") else range(1 if desc.cross_channel else 2, 4)
    has_mean = getattr(desc, "use_mean", True)
    is_divided = desc.use_variance if hasattr(desc, "use_variance") else desc.normalize_variance
    for c in list(slow.walk(x.shape))[:30]:
        row = row_of(x, axes, c)
        scale = beside(run.arrays["scale_tensor"], c) if desc.scale_tensor else 1.0
        bias = beside(run.arrays["bias_tensor"], c) if desc.bias_tensor else 0.0
        if not all(abs(number) < 1e4 for number in (*row, scale, bias)):
            continue
        mean = math.fsum(row) / len(row) if has_mean else 0.0
        variance = math.fsum((at - mean) ** 2 for at in row) / len(row)
        root = math.sqrt(variance + desc.epsilon) if is_divided else 1.0
        y = scale * (float(x[c]) - mean) / root + bias if root >= 1e-3 else math.nan
        if variance < 1e-3 * max(map(abs, row)) ** 2 or not abs(y) < 6e4:
            continue
        slack = eps_of(run) * abs(y) + float(np.finfo(x.dtype).smallest_subnormal)
        size = math.inf if x.dtype == np.float16 and variance > 6e4 else max(map(abs, row))
        width = 4 * slack + 5e-2 * (abs(scale) * size / root + abs(bias)) + 1e-30
        yield OUTPUT, c, y, slack, width if has_mean or not is_divided else math.inf


def local_response(run: Run) -> Iterator[Element]:
    """Without CrossChannel that is one of several readings. The gradient is of the sum of what others add to."""
    desc, x, gradient = run.desc, run.arrays["input_tensor"], run.arrays.get("input_gradient_tensor")
    if not all((np.abs(array) < 1e3).all() for array in run.arrays.values()):
        return
    along = (1,) if desc.cross_channel else (2, 3)

    def region(c: slow.Coordinates, way: int = 1) -> Iterator[slow.Coordinates]:
        """The places around one, or with -1 those in whose regions it is."""
        ends = sorted(way * end for end in (-((desc.local_size - 1) // 2), math.ceil((desc.local_size - 1) / 2)))
        ranges = (range(c[d] + ends[0], c[d] + ends[1] + 1) if d in along else (c[d],) for d in range(4))
        return (r for r in product(*ranges) if all(0 <= at < size for at, size in zip(r, x.shape, strict=True)))

    def base(c: slow.Coordinates) -> float:
        return float(desc.bias + desc.alpha / desc.local_size * math.fsum(float(x[r]) ** 2 for r in region(c)))

    for c in list(slow.walk(x.shape))[:12]:
        if min(base(r) for r in region(c, -1)) < 1e-2:
            continue
        y = float(x[c]) / base(c) ** desc.beta
        terms = [y]
        if gradient is not None:
            factor = 2 * desc.alpha * desc.beta / desc.local_size * float(x[c])
            terms = [float(gradient[c]) / base(c) ** desc.beta]
            terms += [-factor * float(gradient[r]) * float(x[r]) / base(r) ** (desc.beta + 1) for r in region(c, -1)]
            y = math.fsum(terms)
        size = math.fsum(map(abs, terms))
        if size < 6e4:
            slack = 2 * eps_of(run) * abs(y) + 1e-6 * size + 6e-8
            width = 4 * slack + 2e-5 * size if desc.cross_channel and not 0 < size < 1e-3 else math.inf
            yield (OUTPUT if gradient is None else "output_gradient_tensor"), c, y, slack, width


def lp_normalization(run: Run) -> Iterator[Element]:
    desc, (x,) = run.desc, run.arrays.values()
    for c in list(slow.walk(x.shape))[:12]:
        row = row_of(x, (desc.axis,), c)
        if not all(abs(e) < 1e4 for e in row) or max(map(abs, row)) < 1e-2:
            continue
        norm = math.hypot(*row) if desc.p == 2 else math.fsum(map(abs, row))
        y = float(x[c]) / (norm + desc.epsilon)
        slack = eps_of(run) * abs(y) + 6e-8
        rooted = math.hypot(norm, math.sqrt(desc.epsilon)) if desc.p == 2 else norm
        readings = [max(norm, desc.epsilon), rooted, norm + desc.epsilon]
        yield OUTPUT, c, y, slack, 8 * slack + abs(float(x[c])) * (1 / min(readings) - 1 / max(readings))


def value_scale(run: Run) -> Iterator[Element]:
    desc, (x,) = run.desc, run.arrays.values()
    for c in list(slow.walk(x.shape))[:12]:
        if abs(x[c]) < 1e4:
            scaled, bias = Fraction(float(x[c])) * Fraction(desc.scale), Fraction(desc.bias[c[1]])
            slack = eps_of(run) * float(abs(scaled) + abs(bias)) + 1.2e-7
            yield OUTPUT, c, float(scaled + bias), slack, 6 * slack


def adam(run: Run) -> Iterator[Element]:
    """From step 1 on; the interval is a part of the step."""
    desc, (x_, m_, v_, g_, t) = run.desc, run.arrays.values()
    step, eps = int(t.item()), eps_of(run)
    if not step or not all((np.abs(array) < 1e3).all() for array in (x_, m_, v_, g_)):
        return
    for c in list(slow.walk(x_.shape))[:12]:
        x, m, v, g = (float(array[c]) for array in (x_, m_, v_, g_))
        m = desc.beta1 * m + (1 - desc.beta1) * g
        v = desc.beta2 * v + (1 - desc.beta2) * g * g
        if v < 1e-3:
            continue
        alpha = math.sqrt(1 - desc.beta2**step) / (1 - desc.beta1**step)
        y = x - desc.learning_rate * alpha * m / (math.sqrt(v) + desc.epsilon)
        for key, found in (("parameters", y), ("first_moment", m), ("second_moment", v)):
            if abs(found) < 6e4:
                width = math.inf if eps > 1e-4 else 8 * eps * (abs(found) + abs(x) + abs(g)) + 2e-3 * abs(found - x)
                yield f"output_{key}_tensor", c, found, eps * abs(found) + 1e-7, width


# --- attention --------------------------------------------------------------------------------------------------------


def attention(run: Run) -> Iterator[Element]:
    """One query after another, where MaskFilterValue is added; and what is present, where it has no bias."""
    desc, arrays, sizes = run.desc, run.arrays, parts(run.desc)
    assert isinstance(sizes, Parts)
    if "special" in run.patterns:
        return
    if desc.mask_tensor is not None and desc.mask_type == MASK_TYPE.KEY_QUERY_SEQUENCE_LENGTH_START_END:
        return
    by_part = dict(zip("qkv", sizes[:3], strict=True))
    names = {
        of: next(n for n, all_ in HOLDS.items() if of in all_ and getattr(desc, attribute_of(n)) is not None)
        for of in "qkv"
        if of == "q" or sizes.keys > sizes.past
    }

    def element(key: str, *place: int) -> float:
        """Of a tensor that may have leading ones; 0 of one that is not there."""
        if getattr(desc, key) is None:
            return 0.0
        return float(arrays[key][(0,) * (arrays[key].ndim - len(place)) + place])

    def held(of: str, b: int, h: int, i: int, d: int) -> float:
        """An element of a head of query, key or value, with its bias; those from before come first."""
        if of != "q" and i < sizes.past:
            return element("past_key_tensor" if of == "k" else "past_value_tensor", b, h, i, d)
        i -= sizes.past if of != "q" else 0
        name, size = names[of], by_part[of].size
        stacked = (b, i, h, HOLDS[name].index(of), d)
        found = element(attribute_of(name), *(stacked if name in STACKED else (b, i, h * size + d)))
        before = sum(part.hidden for part in sizes[: "qkv".index(of)])
        return found + element("bias_tensor", before + h * size + d)

    def is_masked(b: int, h: int, i: int, j: int) -> bool:
        if desc.mask_tensor is None:
            return False
        if desc.mask_type == MASK_TYPE.BOOLEAN:
            return element("mask_tensor", b, h, i, j) == 0
        is_before = desc.mask_type == MASK_TYPE.KEY_SEQUENCE_END_START and j < element("mask_tensor", 1, b)
        return j >= element("mask_tensor", 0, b) or is_before

    largest = [0.0, 0.0, 0.0]
    for b, h, i in np.ndindex(*sizes.scores[:3]):
        scores, shared = [], h // (sizes.query.heads // sizes.key.heads)
        for j in range(sizes.keys):
            products = [held("q", b, h, i, d) * held("k", b, shared, j, d) for d in range(sizes.query.size)]
            score = math.fsum(products) * desc.scale + element("relative_position_bias_tensor", b, h, i, j)
            scores.append(score + (desc.mask_filter_value if is_masked(b, h, i, j) else 0.0))
            largest[0] = max(largest[0], sum(map(abs, products)) * abs(desc.scale))
        weights = [math.exp(score - max(scores)) for score in scores]
        for d in range(sizes.value.size):
            values = [held("v", b, shared, j, d) for j in range(sizes.keys)]
            y = math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)
            place = (b, i, h * sizes.value.size + d)
            is_plain = desc.mask_tensor is None and desc.output_tensor.data_type is DataType.FLOAT32
            width = 2.0**-14 * (1 + largest[0]) * max(map(abs, values)) + 1e-6 if is_plain else math.inf
            leading = (0,) * (len(desc.output_tensor.sizes) - 3)
            yield OUTPUT, (*leading, *place), y, unit(y, desc.output_tensor.data_type) + 2.0**-120, width
    for key, of in (("output_present_key_tensor", "k"), ("output_present_value_tensor", "v")):
        present = getattr(desc, key)
        for b, h, j, d in np.ndindex(*present.sizes[-4:]) if present is not None and desc.bias_tensor is None else ():
            yield key, (*(0,) * (len(present.sizes) - 4), b, h, j, d), held(of, b, h, j, d), 0.0, math.inf


# --- recurrent units --------------------------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[[Any, float], float]] = {
    "ACTIVATION_SIGMOID": lambda of, x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0,
    "ACTIVATION_TANH": lambda of, x: math.tanh(x),
    "ACTIVATION_LINEAR": lambda of, x: of.alpha * x + of.beta,
    "ACTIVATION_HARD_SIGMOID": lambda of, x: max(0.0, min(of.alpha * x + of.beta, 1.0)),
    "ACTIVATION_RELU": lambda of, x: max(x, 0.0),
}
SINGLE = ("output_single_tensor", "output_cell_single_tensor")
States = tuple[list[float], ...]


class Gates:
    """The equations of a unit in one direction, with the elements of its weights.

    Args:
        run: the case.
        n: which direction.
        shows_new: whether the output gate of an LSTM sees the new cell state.
    """

    def __init__(self, run: Run, n: int, shows_new: bool) -> None:
        self.run, self.n, self.shows_new, self.desc = run, n, shows_new, run.desc
        self.size = run.desc.recurrence_tensor.sizes[3]
        count = len(UNITS[run.desc.operator].functions)
        chosen = run.desc.activation_descs[count * n :][:count]
        self.functions = [lambda x, of=of: FUNCTIONS[of.operator](of, x) for of in chosen]

    def element(self, key: str, *place: int) -> float:
        return float(self.run.arrays[key][place]) if key in self.run.arrays else 0.0

    def of_state(self, row: int, state: list[float]) -> list[float]:
        terms = [self.element("recurrence_tensor", 0, self.n, row, k) * h for k, h in enumerate(state)]
        gates = len(UNITS[self.desc.operator].gates)
        return [*terms, self.element("bias_tensor", 0, 0, self.n, gates * self.size + row)]

    def of_input(self, row: int, t: int, b: int) -> list[float]:
        x, w = self.run.arrays["input_tensor"][0, t, b], self.run.arrays["weight_tensor"][0, self.n, row]
        terms = [float(one) * float(weight) for one, weight in zip(x, w, strict=True)]
        return [*terms, self.element("bias_tensor", 0, 0, self.n, row)]

    def gate(self, row: int, t: int, b: int, state: list[float]) -> float:
        """W x + R h and both biases, of a row of the weights."""
        return math.fsum([*self.of_input(row, t, b), *self.of_state(row, state)])

    def rnn(self, t: int, b: int, states: States) -> States:
        return ([self.functions[0](self.gate(k, t, b, states[0])) for k in range(self.size)],)

    def gru(self, t: int, b: int, states: States) -> States:
        (h,), (f, g), size = states, self.functions, self.size
        z, r = ([f(self.gate(row * size + k, t, b, h)) for k in range(size)] for row in (0, 1))
        found = []
        for k, row in enumerate(range(2 * size, 3 * size)):
            inner = math.fsum(self.of_state(row, [x * y for x, y in zip(r, h, strict=True)]))
            if self.desc.linear_before_reset:
                inner = r[k] * math.fsum(self.of_state(row, h))
            found.append((1 - z[k]) * g(math.fsum(self.of_input(row, t, b)) + inner) + z[k] * h[k])
        return (found,)

    def lstm(self, t: int, b: int, states: States) -> States:
        """What h is taken of is not clipped."""
        (h, c), (f, g, show), desc, size = states, self.functions, self.desc, self.size

        def of_gate(row: int, k: int, seen: float) -> float:
            peephole = self.element("peephole_tensor", 0, 0, self.n, row * size + k) * seen if row < 3 else 0.0
            x = self.gate(row * size + k, t, b, h) + peephole
            return max(-desc.clip_threshold, min(x, desc.clip_threshold)) if desc.use_clip_threshold else x

        cells, shown = [], []
        for k in range(size):
            i = f(of_gate(0, k, c[k]))
            forget = 1 - i if desc.couple_input_forget else f(of_gate(2, k, c[k]))
            cells.append(forget * c[k] + i * g(of_gate(3, k, 0.0)))
            shown.append(f(of_gate(1, k, cells[k] if self.shows_new else c[k])) * show(cells[k]))
        return shown, cells


def recurrent(run: Run) -> Iterator[Element]:
    """Of functions that are here; each sequence from its first element to its own end, in its direction."""
    desc, data_type = run.desc, run.desc.input_tensor.data_type
    if "special" in run.patterns or any(one.operator not in FUNCTIONS for one in desc.activation_descs):
        return
    initial = ("hidden_init_tensor", "cell_mem_init_tensor")[: 2 if desc.operator == "LSTM" else 1]
    directions, (steps, batch) = range(desc.weight_tensor.sizes[1]), desc.input_tensor.sizes[1:3]
    for n, b, shows_new in product(directions, range(batch), (False, True) if len(initial) > 1 else (False,)):
        gates = Gates(run, n, shows_new)
        lengths = run.arrays.get("sequence_lengths_tensor")
        order = list(range(steps if lengths is None else int(lengths.reshape(-1)[b])))
        states: States = tuple([gates.element(key, 0, n, b, k) for k in range(gates.size)] for key in initial)
        found = []
        for t in reversed(order) if desc.direction == 1 or n else order:
            states = getattr(gates, desc.operator.lower())(t, b, states)
            found.append(("output_sequence_tensor", t, states[0]))
        found += [(key, 0, of) for key, of in zip(SINGLE, states, strict=False)] if order else []
        for key, t, h in found:
            if getattr(desc, key) is not None and max(map(abs, h)) < 1e4:
                for k, y in enumerate(h):
                    width = math.inf
                    if desc.operator != "LSTM" and data_type is DataType.FLOAT32 and steps * gates.size < 5:
                        width = 2.0**-10 * (1 + abs(y)) * 2.0**steps
                    yield key, (t, n, b, k), y, unit(y, data_type) + 2.0**-120, width


SLOW: dict[str, tuple[Callable[[Run], Iterator[Element]], int]] = {
    **{
        f"BATCH_NORMALIZATION{suffix}": (batch_normalization, 70)
        for suffix in ("", "_GRAD", "_TRAINING", "_TRAINING_GRAD")
    },
    **{f"MEAN_VARIANCE_NORMALIZATION{version}": (mean_variance, 120) for version in ("", "1", "2")},
    **dict.fromkeys((FORWARD, GRADIENT), (local_response, 90)),
    "LP_NORMALIZATION": (lp_normalization, 90),
    "VALUE_SCALE_2D": (value_scale, 60),
    "ADAM_OPTIMIZER": (adam, 150),
    **dict.fromkeys(("MULTIHEAD_ATTENTION", "MULTIHEAD_ATTENTION1"), (attention, 120)),
    **dict.fromkeys(UNITS, (recurrent, 100)),
}


@pytest.mark.few(len(SLOW))
@pytest.mark.parametrize("name", SLOW)
def test_what_is_expected_lies_around_the_formula(name: str) -> None:
    function, count = SLOW[name]
    runs = map(without_activation, small_runs(name, count))
    assert sum(count_around(run, function(run)) for run in runs) > 100
