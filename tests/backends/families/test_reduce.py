"""REDUCE, held against functions of lists."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, is_right, numbers, small_runs, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operators.reduce import FUNCTION, PLACES, REDUCE
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.context import Context

SLOW = {
    "AVERAGE": lambda row: math.fsum(row) / len(row),
    "L1": lambda row: sum(map(abs, row)),
    "L2": lambda row: math.sqrt(math.fsum(x * x for x in row)),
    "LOG_SUM": lambda row: math.log(math.fsum(row)) if math.fsum(row) > 0 else math.nan,
    "LOG_SUM_EXP": lambda row: max(row) + math.log(math.fsum(math.exp(x - max(row)) for x in row)),
    "MAX": max,
    "MIN": min,
    "MULTIPLY": math.prod,
    "SUM": lambda row: sum(row) if isinstance(row[0], int) else math.fsum(row),
    "SUM_SQUARE": lambda row: sum(x * x for x in row),
    "ARGMAX": lambda row: row.index(max(row)),
    "ARGMIN": lambda row: row.index(min(row)),
}


def row_of(run: Run, c: slow.Coordinates) -> list[Any]:
    """The elements that are taken together, in row-major order."""
    desc, memory = run.desc, run.memory("input_tensor")
    every = product(*(range(n) if d in desc.axes else (c[d],) for d, n in enumerate(desc.input_tensor.sizes)))
    kind = np.dtype(desc.input_tensor.data_type.name.lower())
    return [np.frombuffer(memory.element(place), kind)[0].item() for place in every]


def test_what_is_expected_lies_around_the_slow_reference() -> None:
    seen: dict[tuple[str, bool], int] = {}
    for run in small_runs("REDUCE", 300):
        desc, expected = run.desc, run.expected["output_tensor"]
        name, data_type = FUNCTION(desc.function).name, desc.output_tensor.data_type
        for n, c in list(enumerate(slow.walk(desc.output_tensor.sizes)))[:20]:
            row = row_of(run, c)
            of_floats = desc.input_tensor.data_type.is_float
            if expected.free is not None and expected.free.reshape(-1)[n]:
                assert any(math.isnan(x) or abs(x) < 1e-4 for x in row) if of_floats else False
                continue
            if of_floats and not all(x == 0 or 1e-30 < abs(x) < 1e4 for x in row):
                continue
            y = SLOW[name]([abs(x) for x in row] if name == "L1" else row)
            if not data_type.is_float:
                bits = 8 * data_type.size
                assert int(expected.values.reshape(-1)[n]) == y % 2**bits, (name, row)
            elif math.isfinite(y) and 1e-30 < abs(y) < 6e4:
                assert expected.within is not None
                low, high = (
                    float(numbers(part, data_type).reshape(-1)[n])
                    for part in (expected.within.low, expected.within.high)
                )
                kind = np.finfo(data_type.name.lower())
                largest = max(map(abs, row)) if name in ("SUM", "AVERAGE", "LOG_SUM") else 0.0
                unit = float(kind.eps) * abs(y) + float(kind.smallest_subnormal) + 1e-6 * (1 + largest * 1e-3)
                assert low - unit <= y <= high + unit, (name, row)
                if name not in ("LOG_SUM", "MULTIPLY"):
                    assert high - low <= 4 * unit + 1e-5 * len(row) * max(map(abs, row)) + 1e-5 * abs(y), (name, row)
            seen[name, of_floats] = seen.get((name, of_floats), 0) + 1
    assert {name for name, _ in seen} == set(SLOW)
    assert min(seen.values()) > 3


def of(function: str, row: Any, kind: Any = np.float32, places: DataType = DataType.UINT32) -> Run:
    values = np.array(row, kind)
    data_type = DataType[values.dtype.name.upper()]
    output = places if FUNCTION[function] in PLACES else data_type
    tensors = TensorDesc.of(data_type, (1, values.size)), TensorDesc.of(output, (1, 1))
    return with_values(REDUCE.desc(int(FUNCTION[function]), *tensors, (1,)), HIGHEST, input_tensor=values)


def right(run: Run, value: Any) -> bool:
    tensor = run.desc.output_tensor
    bits = np.array([[value]], tensor.data_type.name.lower()).view(f"u{tensor.data_type.size}")
    return bool(is_right(run.expected["output_tensor"], bits, tensor.data_type).all())


@pytest.mark.parametrize(
    ("function", "row", "kind", "is_so", "is_not"),
    [
        ("ARGMAX", (1, 3, 3), np.float32, 1, 2),
        ("ARGMIN", (1, 3, 1), np.int8, 0, 2),
        ("SUM", (2**31 - 1, 2), np.int32, -(2**31) + 1, 2**31 - 1),
        ("L1", (-3, 2), np.int64, 5, -1),
        ("MULTIPLY", (2**63, 3), np.uint64, 2**63, 0),
        ("MULTIPLY", (-3.0, 5.0), np.float16, -15.0, 15.0),
        ("SUM", (2048.0, *(1.0,) * 8), np.float16, 2056.0, 2048.0),
        ("SUM", (60000.0, 60000.0, -60000.0), np.float16, 60000.0, math.inf),
        ("LOG_SUM_EXP", (1000.0, 0.0), np.float32, 1000.0, math.inf),
        ("LOG_SUM_EXP", (math.inf, 0.0), np.float32, math.inf, 0.0),
        ("AVERAGE", (1.0, 2.0), np.float32, 1.5, 3.0),
        ("MAX", (-0.5, -7.0), np.float32, -0.5, 0.0),
    ],
)
def test_a_row(function: str, row: Any, kind: Any, is_so: Any, is_not: Any) -> None:
    run = of(function, row, kind)
    assert right(run, is_so)
    assert not right(run, is_not)
    assert_conforms(TorchBackend("cpu"), run)


def test_each_function_has_tables_of_its_own() -> None:
    tensor = TensorDesc.of(DataType.INT32, (1, 1, 1, 2))
    output = TensorDesc.of(DataType.INT32, (1, 1, 1, 1))
    first = {
        function.name: next((level for level in Level if not decide(desc, level).violations), None)
        for function in FUNCTION
        if (desc := REDUCE.desc(int(function), tensor, output, (3,)))
    }
    assert first["SUM"] is first["MAX"] is Level.L2_1
    assert first["L1"] is Level.L5_0
    assert first["ARGMAX"] is Level.L3_0
    assert first["AVERAGE"] is None
    every = Context.at(SeededChooser(""), REDUCE, HIGHEST).types
    assert DataType.INT8 in every["data"]
    assert DataType.FLOAT32 in every["OutputTensor"]
