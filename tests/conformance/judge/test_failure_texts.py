"""What a person reads of a failure: on which data it happened, where in the backend, and which rule is to blame."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_files import write_backend
from commands import invoke
from msgspec.structs import replace
from report_data import printed, summary_of
from scripted_backend import ScriptedBackend, flip_a_bit, raising

from dml_conformance.backends.base import Backend
from dml_conformance.backends.foreign_text import place_of
from dml_conformance.conformance.judge.explain import explain
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.memory import elements_at
from dml_conformance.reports.model.inputs import MOST_SHOWN, input_lines
from dml_conformance.reports.model.records import Difference, Phase, Record, Verdict
from dml_conformance.reports.model.summary import case_size
from dml_conformance.reports.model.text import difference_text
from dml_conformance.reports.views.junit import record_text
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.tensor_rules import BINDING, IN_PLACE, STRIDES
from dml_conformance.strategies.values import SPECIAL, materialize

Execute = Callable[..., None]


def copying(sizes: tuple[int, ...], data_type: DataType = DataType.FLOAT32, **changes: Any) -> Any:
    """A descriptor of ELEMENT_WISE_IDENTITY without its scale."""
    tensor = TensorDesc.of(data_type, sizes)
    desc = operators()["ELEMENT_WISE_IDENTITY"].desc(tensor, tensor, None)
    return replace(desc, **changes)


def judged(desc: Any, rule: str, recipe: Recipe, backend: Backend) -> Record:
    case = Case.of(desc, HIGHEST, {"input_tensor": recipe}, rule=rule)
    return Judge(backend, "mine.py:Mine").record(case, Phase.BOUNDARIES)


# --- which rule -------------------------------------------------------------------------------------------------------


def where_strided(do: Execute) -> Execute:
    def after(desc: Any, inputs: Any, outputs: Any) -> None:
        if desc.output_tensor.strides is not None:
            do(desc, inputs, outputs)

    return after


def where_in_place(desc: Any, inputs: Any, outputs: Any) -> None:
    if np.shares_memory(inputs["input_tensor"].view, outputs["output_tensor"].view):
        flip_a_bit(desc, inputs, outputs)


RAISING = raising(KeyError("oops"))
STRIDED = TensorDesc.of(DataType.FLOAT32, (3, 2), (2, 6))
PACKED = TensorDesc.of(DataType.FLOAT32, (3, 2), (2, 1))  # with strides that say so
OWN, VALUES = Recipe("ramp"), "ELEMENT_WISE_IDENTITY.values"


@pytest.mark.parametrize(
    ("rule", "output", "recipe", "after", "blamed"),
    [
        (STRIDES, STRIDED, OWN, where_strided(flip_a_bit), STRIDES),
        (STRIDES, STRIDED, OWN, where_strided(RAISING), STRIDES),
        (STRIDES, STRIDED, OWN, flip_a_bit, VALUES),
        (STRIDES, STRIDED, OWN, RAISING, VALUES),
        (STRIDES, PACKED, OWN, flip_a_bit, VALUES),
        (VALUES, STRIDED, OWN, where_strided(flip_a_bit), STRIDES),
        (VALUES, STRIDED, OWN, where_strided(RAISING), STRIDES),
        (IN_PLACE, STRIDED, Recipe("ramp", in_place=True), where_strided(flip_a_bit), STRIDES),
        (IN_PLACE, STRIDED, Recipe("ramp", in_place=True), where_in_place, IN_PLACE),
        (VALUES, STRIDED, Recipe("ramp", in_place=True), where_in_place, IN_PLACE),
        (IN_PLACE, PACKED, Recipe("ramp", in_place=True), where_in_place, IN_PLACE),
        (IN_PLACE, PACKED, Recipe("ramp", in_place=True), flip_a_bit, VALUES),
        (BINDING, PACKED, OWN, RAISING, VALUES),
    ],
)
def test_a_rule_of_layout_is_blamed_only_where_the_case_passes_without_it(
    rule: str, output: TensorDesc, recipe: Recipe, after: Execute, blamed: str
) -> None:
    source = output if recipe.in_place else PACKED
    desc = copying((3, 2), input_tensor=source, output_tensor=output)
    found = judged(desc, rule, recipe, ScriptedBackend(after=after))
    assert (found.rule, found.verdict) == (blamed, Verdict.CRASH if after in (RAISING,) else found.verdict)
    assert found.verdict in (Verdict.FAIL, Verdict.CRASH)


def test_a_case_without_its_layout_has_the_same_elements() -> None:
    """So a fault that depends on an element is none of layout."""

    def wrong_of_large(desc: Any, inputs: Any, outputs: Any) -> None:
        if elements_at(inputs["input_tensor"].view, 0, desc.input_tensor).view(np.float32).max() > 5:
            flip_a_bit(desc, inputs, outputs)

    assert case_elements(copying((3, 2), input_tensor=STRIDED)).max() > 5 >= case_elements(copying((3, 2))).max()
    found = judged(copying((3, 2), input_tensor=STRIDED), STRIDES, OWN, ScriptedBackend(after=wrong_of_large))
    assert (found.verdict, found.rule) == (Verdict.FAIL, VALUES)


def case_elements(desc: Any) -> Any:
    case = Case.of(desc, HIGHEST, {"input_tensor": OWN})
    return elements_at(materialize(case)["input_tensor"], 0, desc.input_tensor).view(np.float32)


def test_a_failure_that_does_not_come_again_is_none_of_layout() -> None:
    calls = iter(range(100))

    def once(desc: Any, inputs: Any, outputs: Any) -> None:
        if next(calls) == 0:
            flip_a_bit(desc, inputs, outputs)

    found = judged(copying((3, 2), output_tensor=STRIDED), STRIDES, OWN, ScriptedBackend(after=once))
    assert (found.verdict, found.rule) == (Verdict.FAIL, VALUES)


# --- on which data ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data_type", [t for t in DataType if t.size and t is not DataType.UNKNOWN])
@pytest.mark.parametrize("sizes", [(5,), (2, 3)])
def test_what_an_input_holds_can_be_pasted_into_python(data_type: DataType, sizes: tuple[int, ...]) -> None:
    """Bit for bit, NaNs included."""
    bound: dict[str, Any] = {}

    def keep(_: Any, inputs: Any, outputs: Any) -> None:
        bound["bytes"] = inputs["input_tensor"].view.tobytes()
        flip_a_bit(None, inputs, outputs)

    found = judged(copying(sizes, data_type), VALUES, Recipe(SPECIAL, 3), ScriptedBackend(after=keep))
    (line,) = input_lines(found.case_json)
    names: dict[str, Any] = {"np": np}
    exec(line, names)
    assert names["InputTensor"].shape == sizes
    if not data_type.shares_bytes:
        assert names["InputTensor"].tobytes() == bound["bytes"][: names["InputTensor"].nbytes]


def test_of_a_large_input_the_first_elements_are_shown_and_the_one_at_the_wrong_place() -> None:
    def wrong(_: Any, inputs: Any, outputs: Any) -> None:
        outputs["output_tensor"].view.view(np.uint32)[4 * 10 + 7] = 0

    found = judged(copying((6, 10)), VALUES, Recipe("ramp"), ScriptedBackend(after=wrong))
    assert MOST_SHOWN < 6 * 10
    first, other = input_lines(found.case_json, found.differences[0].coordinates)
    assert first == ("InputTensor, 6 by 10, begins with np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], np.float32)")
    assert other == "InputTensor[4, 7] = np.array([47.0], np.float32)"
    for text in (explain(found), record_text(found)):
        assert first in text
        assert other in text


def test_of_a_large_input_that_is_reduced_the_elements_of_the_wrong_result_are_shown() -> None:
    of, to = TensorDesc.of(DataType.FLOAT32, (3, 4, 5)), TensorDesc.of(DataType.FLOAT32, (3, 1, 5))
    desc = operators()["REDUCE"].desc(enumeration("DML_REDUCE_FUNCTION")["SUM"], of, to, (1,))
    case = Case.of(desc, HIGHEST, {"input_tensor": OWN}).to_json()
    first, other = input_lines(case, (2, 0, 4))
    assert first.startswith("InputTensor, 3 by 4 by 5, begins with ")
    assert other == "InputTensor[2, :, 4] = np.array([44.0, 49.0, 54.0, 59.0], np.float32)"
    assert len(input_lines(case)) == 1


@pytest.mark.parametrize(
    "change",
    [{"desc": {}}, {"type": "DML_OPERATOR_NONE"}, {"data": {"InputTensor": {"pattern": "none"}}}, {"data": None}],
)
def test_of_a_case_that_cannot_be_read_no_input_is_shown(change: dict[str, Any]) -> None:
    found = judged(copying((2,)), VALUES, Recipe("ramp"), ScriptedBackend(after=flip_a_bit))
    assert input_lines(found.case_json)
    assert not input_lines({**found.case_json, **change})
    assert not input_lines({**found.case_json, **change}, (7, 7))


def test_data_too_large_to_be_made_for_a_line_is_not() -> None:
    case = Case.of(copying((2**20,)), HIGHEST, {"input_tensor": Recipe("ramp")}, rule=VALUES)
    assert not input_lines(case.to_json())


@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.UINT4])
def test_an_input_that_repeats_a_few_bytes_is_not_laid_out(data_type: DataType) -> None:
    """As the largest cases have them: one row that stands for many."""
    tensor = TensorDesc.of(data_type, (2**12, 2**12), (0, 1))
    case = Case.of(copying((2,), input_tensor=tensor), HIGHEST, {"input_tensor": Recipe("ramp")})
    tracemalloc.start()
    lines = input_lines({**case.to_json(), "data": {"InputTensor": {"pattern": "ramp"}}})
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**22
    assert len(lines) == (data_type is DataType.FLOAT32)


def test_an_element_that_was_never_written_is_told_as_that() -> None:
    def execute(_: Any, inputs: Any, outputs: Any) -> None:
        outputs["output_tensor"].view[:4] = 9

    found = judged(copying((3,)), VALUES, Recipe("ramp"), ScriptedBackend(execute=execute))
    assert [each.actual == "never written" for each in found.differences] == [False, True, True]
    for text in (explain(found), record_text(found)):
        (line,) = (line for line in text.splitlines() if "never written" in line and "[1]" in line)
        assert line.endswith("never written")  # the bits are others each time


@pytest.mark.parametrize(("written", "told"), [(0, True), (1, False)])
def test_bytes_are_told_as_never_written_all_together_or_not_at_all(written: int, told: bool) -> None:
    """One that was written may hold by chance what it held before."""

    def execute(_: Any, inputs: Any, outputs: Any) -> None:
        outputs["output_tensor"].view[:written] = inputs["input_tensor"].view[:written] ^ 1

    found = judged(copying((3,), DataType.UINT8), VALUES, Recipe("ramp"), ScriptedBackend(execute=execute))
    assert {each.actual == "never written" for each in found.differences} == {told}


def test_how_far_a_result_is_from_the_right_one_is_told_of_inaccurate_ones() -> None:
    near, far = (Difference((0,), "0.5", "", "0.6", "0x3f19999a", ulp) for ulp in (2.5, 2.85e45))
    assert difference_text(near) == "output[0]: expected 0.5, got 0.6 0x3f19999a, 2.5 ULP from the exact value"
    assert difference_text(far) == "output[0]: expected 0.5, got 0.6 0x3f19999a"


def test_of_a_crash_the_inputs_are_shown_too() -> None:
    found = judged(copying((2,)), VALUES, Recipe("ramp"), ScriptedBackend(execute=RAISING))
    for text in (explain(found), record_text(found), on_the_console(found)):
        assert "InputTensor = np.array([0.0, 1.0], np.float32)" in text


def on_the_console(found: Record) -> str:
    return printed(summary_of([found], operators=(found.operator,), levels=(found.level,)))


def test_a_boundary_case_is_called_that() -> None:
    found = judged(copying((2,)), VALUES, Recipe("ramp"), ScriptedBackend(after=flip_a_bit))
    assert "  a boundary case; no smaller one was found" in explain(found).splitlines()
    assert ", the smallest a boundary case" in on_the_console(found)
    searched = replace(found, phase=Phase.SEARCH)
    assert "boundary" not in explain(searched) + on_the_console(searched)


@pytest.mark.parametrize(
    ("small", "large"), [(((1,), "FLOAT32"), ((4,), "INT8")), (((5,), "FLOAT32"), ((1, 1, 1, 1), "INT8"))]
)
def test_the_smallest_case_is_the_one_with_the_smallest_tensors(small: Any, large: Any) -> None:
    """Not the one that takes the fewest characters."""
    one, other = (
        judged(copying(sizes, DataType[name]), VALUES, Recipe("ramp"), ScriptedBackend(after=flip_a_bit))
        for sizes, name in (small, large)
    )
    assert case_size(one) < case_size(other)


def test_of_equal_cases_the_one_made_for_the_rule_is_the_smallest() -> None:
    """So the line that runs it again names the rule that stands above it."""
    desc, after = copying((3, 2), output_tensor=STRIDED), where_strided(flip_a_bit)
    other, own = (judged(desc, rule, OWN, ScriptedBackend(after=after)) for rule in (VALUES, STRIDES))
    assert other.rule == own.rule == STRIDES
    assert case_size(own) < case_size(other)


# --- where in the backend ---------------------------------------------------------------------------------------------

RAISES = """
from dml_conformance.backends.reference import ReferenceBackend


class Mine(ReferenceBackend):
    def execute(self, desc, level, inputs, outputs):
        self.rows(desc)

    def rows(self, desc):
        return {}["oops"]
"""


@pytest.mark.parametrize("options", [(), ("--in-process",)])
def test_an_exception_says_where_in_the_backends_file_it_was_raised(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(RAISES)
    case = Case.of(copying((2,)), HIGHEST, {"input_tensor": Recipe("ramp")}, rule=VALUES)
    result = invoke("replay", *options, "--backend", f"{file}:Mine", json.dumps(case.to_json()))
    assert "execute raised KeyError: 'oops', at mine.py:10 (rows), mine.py:7 (execute)" in result.output


@pytest.mark.parametrize("options", [(), ("--in-process",)])
def test_a_backend_that_ends_the_process_ends_no_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Its code would be the command's: 0, without a verdict."""
    name = write_backend(tmp_path, "def execute(self, desc, level, inputs, outputs):\n    raise SystemExit(0)")
    case = Case.of(copying((2,)), HIGHEST, {"input_tensor": Recipe("ramp")}, rule=VALUES)
    result = invoke("replay", *options, "--backend", name, json.dumps(case.to_json()))
    assert result.exit_code == 1, result.output
    assert "execute raised SystemExit: 0, at mine.py" in result.output
    scope = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--no-throughput", "--out", tmp_path / "out")
    result = invoke("certify", *options, "--backend", name, *scope)
    assert result.exit_code == 1, result.output
    assert "not conformant" in result.output


def test_of_installed_files_and_of_what_calls_a_backend_no_place_is_told() -> None:
    def place(call: Callable[[], object]) -> str:
        try:
            call()
        except Exception as error:
            return place_of(error)
        raise AssertionError

    assert place(lambda: np.zeros(2).reshape(3)).startswith(", at test_failure_texts.py:")
    assert place_of(KeyError("oops")) == ""
    deep = place(lambda: deeper(20))
    assert deep.count("deeper") == 3


def deeper(count: int) -> object:
    return {}["oops"] if count == 0 else deeper(count - 1)
