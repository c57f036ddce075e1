"""Makes the table of docs/how-to/derive-a-tolerance.md: what the tolerances of other tests make of results that are
right, and of results of planted faults.

python docs/tolerances.py            writes it, in some seconds
python docs/tolerances.py --check    ends with 1 if what it says is not what is measured

All data and results are made here, by NumPy's element-wise arithmetic, in an order that is fixed: they are the same on
every machine. Figures are compared to 5 %, words exactly.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dml_conformance import enclosure

PAGE = Path(__file__).resolve().parent / "how-to" / "derive-a-tolerance.md"
BLOCK = re.compile(r"(<!-- measured: tolerances -->\n).*?(<!-- end -->)", re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]\d+)?")
SLACK = 0.05  # by which figures may differ
ACCURACY = "precise"
SIDE = 256  # rows and columns of a product

Array = Any
Term = Callable[[int], Array]  # by its number
Results = Mapping[str, Array]
EPSILON = {"float32": 2.0**-23, "float16": 2.0**-10}


class Subject(NamedTuple):
    """An operation on some data.

    Attributes:
        name: of it, with its size.
        kind: of operation, by which tests choose a tolerance.
        desc: the descriptor.
        arrays: its inputs.
        right: results that are right, by how they were computed.
        faults: results of faults, by what was done wrong.
    """

    name: str
    kind: str
    desc: dict[str, Any]
    arrays: Results
    right: Results
    faults: Results


# --- results ----------------------------------------------------------------------------------------------------------


def normal(seed: int, *shape: int) -> Array:
    """Normal numbers; of RandomState, whose numbers do not change with NumPy's versions."""
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def in_turn(count: int, term: Term, dtype: str = "float32") -> Array:
    """The sum of terms, one after the other."""
    found = term(0).astype(dtype)
    for k in range(1, count):
        found += term(k).astype(dtype)
    return found


def in_pairs(count: int, term: Term, start: int = 0) -> Array:
    """The sum of both halves of the terms, each of which is summed likewise."""
    if count == 1:
        return term(start)
    half = count // 2
    return in_pairs(half, term, start) + in_pairs(count - half, term, start + half)


def products(a: Array, b: Array) -> Term:
    """The terms of a product of matrices, in FLOAT32."""
    a, b = a.astype(np.float32), b.astype(np.float32)
    return lambda k: a[:, k, None] * b[k]


def of_10_bits(numbers: Array) -> Array:
    """FLOAT32 numbers rounded to the mantissa that TF32 has."""
    bits = np.ascontiguousarray(numbers).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def column_off(found: Array) -> Array:
    """With the first column 1 % larger."""
    scale = np.ones(found.shape[-1], np.float32)
    scale[0] = 1.01
    return (found.astype(np.float32) * scale).astype(found.dtype)


def exp(x: Array) -> Array:
    return np.exp(x.astype(np.float64)).astype(np.float32)


def exp_in_float32(x: Array) -> Array:
    """By a polynomial of degree 7, after a multiple of log(2) in two parts is taken away; all of it in FLOAT32."""
    high, low = np.float32(0.693359375), np.float32(-2.12194440e-4)
    times = np.rint(x * np.float32(1 / math.log(2)))
    rest = (x - times * high) - times * low
    found = np.ones_like(x)
    for n in range(7, 0, -1):
        found = np.float32(1) + found * rest / np.float32(n)
    return np.ldexp(found, times.astype(np.int32))


# --- operations -------------------------------------------------------------------------------------------------------


def gemm(dtype: str, k: int, data: str = "") -> Subject:
    if data:  # as benchdnn fills FLOAT16 matrices: so few that their sums are numbers of the type
        draw = np.random.RandomState(3)
        a = (draw.randint(-4, 5, (SIDE, k)) * (draw.rand(SIDE, k) < 256 / k)).astype(dtype)
        b = draw.randint(-2, 3, (k, SIDE)).astype(dtype)
    else:
        a, b = normal(1, SIDE, k).astype(dtype), normal(2, k, SIDE).astype(dtype)
    term = products(a, b)
    right = {"in turn": in_turn(k, term).astype(dtype), "in pairs": in_pairs(k, term).astype(dtype)}
    faults = {
        "last term missing": in_turn(k - 1, term).astype(dtype),
        "column 1 % off": column_off(right["in turn"]),
        "summed in FLOAT16": in_turn(k, term, "float16").astype(dtype),
    }
    if dtype == "float32":
        faults["operands of TF32"] = in_turn(k, products(of_10_bits(a), of_10_bits(b)))
    desc = described("GEMM", {"TransA": "NONE", "TransB": "NONE", "Alpha": 1.0, "Beta": 0.0})
    name = f"GEMM {dtype.upper()}, K = {k:,}{data}"
    return Subject(name, "gemm", desc, {"ATensor": a, "BTensor": b}, right, faults)


def softmax(dtype: str, width: int) -> Subject:
    x = (2 * normal(4, 4, width)).astype(dtype)
    wide = x.astype(np.float32)

    def of(terms: int = width, own: str = "float32") -> Array:
        powers = exp(wide - wide.max(axis=1, keepdims=True)).astype(own).astype(np.float32)
        total = in_turn(terms, lambda k: powers[:, k, None], own).astype(np.float32)
        return (powers / total).astype(dtype)

    faults = {
        "last term missing": of(width - 1),
        "column 1 % off": column_off(of()),
        "summed in FLOAT16": of(own="float16"),
    }
    desc = described("ACTIVATION_SOFTMAX1", {"Axes": [1]})
    name = f"softmax {dtype.upper()}, rows of {width:,}"
    return Subject(name, "softmax", desc, {"InputTensor": x}, {"in turn": of()}, faults)


def total(dtype: str, count: int) -> Subject:
    x = normal(5, 2, count).astype(dtype)
    wide = x.astype(np.float32)

    def of(terms: int, own: str = "float32") -> Array:
        return np.add.accumulate(wide[:, :terms].astype(own), axis=1)[:, -1:].astype(dtype)

    halves = np.zeros((2, 2 ** math.ceil(math.log2(count))), np.float32)
    halves[:, :count] = wide
    while halves.shape[1] > 1:
        halves = halves[:, 0::2] + halves[:, 1::2]
    right = {"in turn": of(count), "in pairs": halves.astype(dtype)}
    faults = {
        "last term missing": of(count - 1),
        "sum 1 % off": column_off(of(count)),
        "summed in FLOAT16": of(count, "float16"),
    }
    desc = described("REDUCE", {"Function": "SUM", "Axes": [1]})
    return Subject(f"sum {dtype.upper()} of {count:,}", "sum", desc, {"InputTensor": x}, right, faults)


def lstm(hidden: int) -> Subject:
    """One step; the hidden state is what is compared."""
    x, h, c = (normal(6 + n, 2, hidden) for n in range(3))
    w, r = (normal(9 + n, 4 * hidden, hidden) / np.float32(math.sqrt(hidden)) for n in range(2))

    def of(terms: int = hidden, own: str = "float32") -> Array:
        sums = [
            in_turn(*each, own).astype(np.float32) for each in ((terms, products(x, w.T)), (hidden, products(h, r.T)))
        ]
        i, o, f, g = np.split(sums[0] + sums[1], 4, axis=1)
        one = np.float32(1)
        i, o, f = (one / (one + exp(-gate)) for gate in (i, o, f))
        cell = f * c + i * np.tanh(g.astype(np.float64)).astype(np.float32)
        return (o * np.tanh(cell.astype(np.float64)).astype(np.float32))[None, None]

    faults = {
        "last term missing": of(hidden - 1),
        "column 1 % off": column_off(of()),
        "summed in FLOAT16": of(own="float16"),
    }
    activations = [{"type": f"DML_OPERATOR_ACTIVATION_{name}", "desc": {}} for name in ("SIGMOID", "TANH", "TANH")]
    desc = {
        "OutputSingleTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 2, hidden]},
        "ActivationDescs": activations,
        "Direction": "FORWARD",
        "ClipThreshold": 1.0,
        "UseClipThreshold": False,
        "CoupleInputForget": False,
    }
    named = {"Input": x, "Weight": w, "Recurrence": r, "HiddenInit": h, "CellMemInit": c}
    arrays = {f"{name}Tensor": array[None, None] for name, array in named.items()}
    return Subject(
        f"LSTM FLOAT32, one step of {hidden}", "lstm", described("LSTM", desc), arrays, {"in turn": of()}, faults
    )


def powers(dtype: str, count: int) -> Subject:
    x = (2 * normal(11, 1, count)).astype(dtype)
    faults = {"column 1 % off": column_off(exp(x).astype(dtype))}
    if dtype == "float32":
        faults["rounded to 10 bits"] = of_10_bits(exp(x))
    right = {"polynomial": exp_in_float32(x.astype(np.float32)).astype(dtype)}
    desc = described("ELEMENT_WISE_EXP", {})
    return Subject(f"exp {dtype.upper()} of {count:,}", "exp", desc, {"InputTensor": x}, right, faults)


def described(operator: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": f"DML_OPERATOR_{operator}", "desc": dict(fields)}


QUICK: tuple[Callable[[], Subject], ...] = (
    *(partial(softmax, dtype, 1000) for dtype in ("float32", "float16")),
    *(partial(powers, dtype, 4096) for dtype in ("float32", "float16")),
    partial(lstm, 64),
)
SUBJECTS = (
    *(partial(gemm, dtype, k) for dtype in ("float32", "float16") for k in (64, 1024, 4096)),
    partial(gemm, "float16", 1024, " and few whole numbers"),
    *(partial(total, dtype, 1_000_000) for dtype in ("float32", "float16")),
    *QUICK,
)


# --- tests ------------------------------------------------------------------------------------------------------------

# Whether a test takes a result for right, from the kind of operation, the type, the result and the nearest right one,
# both in FLOAT64; None where it has no tolerance for that kind.
Verdict = Callable[[str, str, Array, Array], bool | None]


def is_close(got: Array, value: Array, rtol: float, atol: float) -> bool:
    """As numpy.testing.assert_allclose and torch.testing.assert_close have it, of numbers that are finite."""
    return bool((np.abs(got - value) <= atol + rtol * np.abs(value)).all())


def torch_default(kind: str, dtype: str, got: Array, value: Array) -> bool:
    return is_close(got, value, *{"float32": (1.3e-6, 1e-5), "float16": (1e-3, 1e-5)}[dtype])


def torch_override(kind: str, dtype: str, got: Array, value: Array) -> bool | None:
    """That of test_cublas_addmm."""
    return is_close(got, value, 0.1, 0.1) if kind == "gemm" else None


def onnx(kind: str, dtype: str, got: Array, value: Array) -> bool:
    return is_close(got, value, 1e-3, 1e-7)


def benchdnn(kind: str, dtype: str, got: Array, value: Array) -> bool:
    """A threshold of the relative difference, of the absolute one where the value is below 1e-5; and tiny differences
    of tiny numbers, of softmax of any, are let pass."""
    is_wide = dtype == "float32"
    threshold = {
        "gemm": 0.0,
        "softmax": 10 * EPSILON[dtype] if is_wide else 0.0,
        "sum": EPSILON[dtype],
        "lstm": 16 * EPSILON[dtype],  # 4 * ceil(log2(9)) for one step
        "exp": 4e-6 if is_wide else EPSILON[dtype],
    }[kind]
    away, size = np.abs(got - value), np.abs(value)
    relative = np.where(size > 1e-5, away / np.maximum(size, 1e-5), away)
    is_tiny = (away < EPSILON["float32"]) & ((size <= 1e-5) | (kind == "softmax"))
    return bool(((relative <= threshold) | is_tiny).all())


TESTS: dict[str, Verdict] = {
    "torch's default": torch_default,
    "torch's override": torch_override,
    "ONNX": onnx,
    "benchdnn": benchdnn,
}


# --- the table --------------------------------------------------------------------------------------------------------


def measured(subjects: Iterable[Callable[[], Subject]] = SUBJECTS) -> str:
    """The table, as the page has it."""
    headers = ("operation", "derived: rtol, atol", *TESTS, "faults that these data do not show")
    lines = [headers, ["---"] * len(headers), *map(row, (subject() for subject in subjects))]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def row(subject: Subject) -> Sequence[str]:
    """One operation; what is called right is inside its enclosure, and a fault that counts is not."""
    (found,) = enclosure(subject.desc, subject.arrays, accuracy=ACCURACY).values()
    for name, result in subject.right.items():
        assert found.is_right(result).all(), f"{subject.name}, {name}"
    shown = {name: result for name, result in subject.faults.items() if not found.is_right(result).all()}
    hidden = ", ".join(name for name in subject.faults if name not in shown) or "-"
    rtol, atol = found.tolerances.both
    own = cell(subject, found.value, shown, lambda kind, dtype, got, value: is_close(got, value, rtol, atol))
    derived = f"{rtol:.2g}, {atol:.2g}" + ("" if own == "-" else f"; {own}")
    return subject.name, derived, *(cell(subject, found.value, shown, test) for test in TESTS.values()), hidden


def cell(subject: Subject, value: Array, faults: Results, accepts: Verdict) -> str:
    """What a test makes of the results that are right, and of those that are not."""

    def verdict(got: Array) -> bool | None:
        return accepts(subject.kind, value.dtype.name, got.astype(np.float64), value.astype(np.float64))

    if verdict(value) is None:
        return "no override"
    refused = ", ".join(name for name, got in subject.right.items() if not verdict(got))
    passed = ", ".join(name for name, got in faults.items() if verdict(got))
    said = [f"**fails right**: {refused}"] if refused else []
    said += [f"**passes wrong**: {passed}"] if passed else []
    return "; ".join(said) or "-"


def with_table(text: str, table: str) -> str:
    """The page with a table in place of its own."""
    return BLOCK.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", text)


def differences(text: str, table: str) -> Iterator[str]:
    """The lines of a table that the page's has not, or with other figures."""
    match = BLOCK.search(text)
    assert match is not None
    lines = [line for line in match[0].splitlines() if line.startswith("|")]
    yield from (line for line in table.splitlines() if not any(is_alike(line, each) for each in lines))


def is_alike(line: str, other: str) -> bool:
    """Whether words are the same and figures near."""
    if NUMBER.sub("", line) != NUMBER.sub("", other):
        return False
    figures = [list(map(float, NUMBER.findall(each))) for each in (line, other)]
    return len(figures[0]) == len(figures[1]) and np.allclose(*figures, rtol=SLACK, atol=0)


def main(arguments: Sequence[str]) -> int:
    text, table = PAGE.read_text(encoding="utf-8"), measured()
    if "--check" not in arguments:
        PAGE.write_text(with_table(text, table), encoding="utf-8")
        return 0
    found = list(differences(text, table))
    for line in found:
        print(f"{PAGE.name} is not current: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
