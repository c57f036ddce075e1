"""MAX_UNPOOLING: elements at the places that the indices name, and zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, executed, small_runs, with_values

from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.records import Phase, Verdict
from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.values import EXPLICIT, Recipe

NAME = "MAX_UNPOOLING"
CLASSES: Any = descriptor_classes()


def slowly(run: Run) -> list[set[int]]:
    """For each place of the output the elements that were written there; 0 where none was."""
    source, indices = run.memory("input_tensor"), run.memory("indices_tensor")
    found: list[set[int]] = [set() for _ in slow.walk(run.desc.output_tensor.sizes)]
    times = [0] * len(found)
    for c in slow.walk(run.desc.input_tensor.sizes):
        found[indices.number(c)].add(int.from_bytes(source.element(c), "little"))
        times[indices.number(c)] += 1
    return [
        {0} if count == 0 else elements | ({-1} if count > 1 else set())
        for elements, count in zip(found, times, strict=True)
    ]


def test_the_reference_agrees_with_the_pages_words() -> None:
    met = 0
    for run in small_runs(NAME):
        expected = run.expected["output_tensor"]
        is_open = np.zeros(expected.values.size, bool) if expected.one_of is None else expected.one_of.reshape(-1)
        for value, one_of, elements in zip(expected.values.reshape(-1).tolist(), is_open, slowly(run), strict=True):
            assert value in elements
            assert one_of == (-1 in elements)  # several indices that name one place
        met += int(is_open.sum())
    assert met


def unpooling(values: Any, indices: Any, sizes: tuple[int, ...]) -> Run:
    tensors = [TensorDesc.of(DataType.INT16, values.shape), TensorDesc.of(DataType.UINT64, values.shape)]
    desc = CLASSES[NAME](*tensors, TensorDesc.of(DataType.INT16, sizes))
    return with_values(desc, HIGHEST, input_tensor=values, indices_tensor=indices)


def unpooled(values: Any, indices: Any, sizes: tuple[int, ...]) -> Any:
    run = unpooling(values, indices, sizes)
    assert_conforms(TorchBackend("cpu"), run)
    assert run.expected["output_tensor"].open is None
    return run.expected["output_tensor"].values.view(np.int16)


VALUES = np.arange(1, 25, dtype=np.int16).reshape(1, 2, 3, 4)
PLACES = np.random.default_rng(7).permutation(60)[:24].astype(np.uint64).reshape(VALUES.shape)


def test_pooling_again_gives_the_elements_back() -> None:
    output = unpooled(VALUES, PLACES, (1, 2, 5, 6))
    assert np.array_equal(output.reshape(-1)[PLACES.astype(int)], VALUES)
    assert np.count_nonzero(output) == VALUES.size


def test_the_outputs_sizes_do_not_matter_as_one_row() -> None:
    output = unpooled(VALUES, PLACES, (1, 2, 5, 6))
    for sizes in ((1, 1, 1, 60), (5, 3, 2, 2), (60, 1, 1, 1)):
        assert np.array_equal(unpooled(VALUES, PLACES, sizes).reshape(-1), output.reshape(-1))


def test_the_inputs_order_does_not_matter() -> None:
    order = np.random.default_rng(8).permutation(24)
    values, places = (array.reshape(-1)[order].reshape(VALUES.shape) for array in (VALUES, PLACES))
    assert np.array_equal(unpooled(values, places, (1, 2, 5, 6)), unpooled(VALUES, PLACES, (1, 2, 5, 6)))


@pytest.mark.parametrize("beyond", [60, 61, 2**63, 2**64 - 1])
def test_an_index_beyond_the_output_leaves_all_of_it_open(beyond: int) -> None:
    """No page says what it does; but neither torch nor the reference may break, or write elsewhere in memory."""
    places = PLACES.copy()
    places[0, 0, 0, 1] = beyond
    run = unpooling(VALUES, places, (1, 2, 5, 6))
    free = run.expected["output_tensor"].free
    assert free is not None
    assert free.all()
    for backend in (TorchBackend("cpu"), ReferenceBackend()):
        listed = {"input_tensor": VALUES, "indices_tensor": places}
        data = {key: Recipe(EXPLICIT, values=tuple(array.reshape(-1).tolist())) for key, array in listed.items()}
        case = Case.of(run.desc, HIGHEST, data, rule="MAX_UNPOOLING.values")
        assert Judge(backend, "any").record(case, Phase.EXAMPLES).verdict is Verdict.PASS
        output = executed(backend, run)["output_tensor"].reshape(-1)
        assert np.count_nonzero(output) == VALUES.size - 1
