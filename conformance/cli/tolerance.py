"""`dml-conformance tolerance`: what a right implementation may give, and the tolerances that follow."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Binding
from dml_conformance.conformance.accuracy.enclosure import (
    Array,
    OutputEnclosure,
    StepCost,
    bindings_of,
    completed,
    output_enclosures,
    step_costs,
)
from dml_conformance.conformance.campaign.throughput import timed_recipes
from dml_conformance.conformance.cli.check import name_of, read_bytes
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import LEVEL, accuracy_option, format_option
from dml_conformance.conformance.cli.output import print_json, print_table
from dml_conformance.spec.accuracy import TOLERANCES
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.descriptor import OperatorDesc, inputs, slots
from dml_conformance.spec.forms import FormError
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.model_files import ModelError, parse_document, read_parsed
from dml_conformance.spec.primitives import PRIMITIVES
from dml_conformance.spec.registry import spec_of
from dml_conformance.strategies.values import materialize

WIDEST = 3  # elements of each output that are shown
MOST_BYTES = 2**26  # of all tensors; the intervals take some twenty times as much
_FIELD = re.compile(r"(\w+(?:\[\d+\])?)=")
_RECIPE = re.compile(r"([a-z-]+)(?::(\d{1,10}))?", re.ASCII)


class Data(NamedTuple):
    """What inputs hold: recipes and arrays, by name; a recipe under "" is for all inputs that hold no indices."""

    recipes: dict[str, Recipe]
    arrays: dict[str, Array]


@click.command()
@click.argument("file", metavar="DESC.json", type=click.Path(allow_dash=True))
@click.option(
    "--data",
    "given",
    multiple=True,
    metavar="RECIPE|FIELD=RECIPE|FIELD=FILE.npy|FILE.npz",
    help="What inputs hold: a recipe, as PATTERN, PATTERN:SEED or JSON, or a file of arrays; may be repeated.",
)
@accuracy_option
@click.option("--level", type=LEVEL, help="Feature level of the descriptor; that of a case, else the highest.")
@format_option("text", "json")
def tolerance(file: str, given: tuple[str, ...], accuracy: str, level: Level | None, format_: str) -> None:
    """Say what a right implementation of an operator may give, and the tolerances that follow.

    The file holds one descriptor, as for check, or a case, whose data is taken then. Input tensors that it leaves out
    have type and shape of their arrays, output tensors the first input's type and the sizes that follow.

    A file of --data has arrays as numpy.save and numpy.savez write them; in a .npz they have the names of the fields.
    Patterns are those of cases. What is not named is made by the pattern of its domain whose values repeat least, in
    range where it is indices, with the seed 0, 1, ... by its place among the inputs.

    For each output it prints the smallest rtol, the smallest atol, a pair of both and the units in the last place
    by which every right result passes, as numpy.testing.assert_allclose compares, the elements whose right values are
    farthest apart, and which steps of the formula cost most of that. Exit code 0: all is said; 2: wrong usage, or a
    file or descriptor is not as expected.
    """
    desc, data, own_level = _read(file)
    level = level or own_level
    for text in given:
        read = _data_of(text)
        data.recipes.update(read.recipes)
        data.arrays.update(read.arrays)
    try:
        desc = completed(desc, data.arrays, level)
        _require_room(desc)
        recipes = _recipes(desc, data.recipes)
        contents = materialize(Case.of(desc, level, recipes))
        bindings = {key: Binding(content, 0, content.size) for key, content in contents.items()}
        bindings |= bindings_of(desc, data.arrays)
    except ValueError as error:
        raise FormError(name_of(file), str(error)) from None
    held = {slot.name: data.arrays.get(slot.name, recipes[slot.key]) for slot in inputs(desc)}
    found = output_enclosures(desc, bindings, TOLERANCES[accuracy])
    costs = step_costs(desc, bindings, TOLERANCES[accuracy], found)
    if format_ == "json":
        print_json(as_json(desc, level, accuracy, held, found, costs))
    else:
        _print(desc, level, accuracy, held, found, costs)


def _read(file: str) -> tuple[OperatorDesc, Data, Level]:
    """The one descriptor of a file; what its inputs hold and its level, where it is a case."""
    name = name_of(file)
    root = parse_document(read_bytes(file, name), name)
    operators = read_parsed(root, name).operators
    if len(operators) != 1:
        raise ModelError(name, "", f"expected one operator, found {len(operators)}; give it in a file of its own")
    case = root if isinstance(root, dict) else {}
    try:
        level = Level.parse(str(case.get("level", HIGHEST.label)))
    except ValueError as error:
        raise ModelError(name, "level", str(error)) from None
    try:
        return operators[0].desc, Data(msgspec.convert(case.get("data") or {}, dict[str, Recipe]), {}), level
    except msgspec.ValidationError as error:
        raise ModelError(name, "data", str(error)) from None


def _data_of(text: str) -> Data:
    """What one --data says."""
    if text.endswith(".npz"):
        several = _loaded(text)
        if not isinstance(several, dict):
            raise FormError(text, "holds one array without a name; give it as FIELD=FILE.npy")
        return Data({}, several)
    match = _FIELD.match(text)
    field, said = (match[1], text[match.end() :]) if match else ("", text)
    if field and said.endswith(".npy"):
        one = _loaded(said)
        if isinstance(one, dict):
            raise FormError(said, "holds several arrays; give it as FILE.npz")
        return Data({}, {field: one})
    if said.startswith("{"):
        try:
            return Data({field: msgspec.json.decode(said, type=Recipe)}, {})
        except msgspec.MsgspecError as error:
            raise FormError(f"--data {text}", f"expected a recipe as JSON: {error}") from None
    recipe = _RECIPE.fullmatch(said)
    if recipe is None:
        wanted = (
            "expected PATTERN, PATTERN:SEED or JSON of a recipe, for one input after FIELD=; FIELD=FILE.npy; FILE.npz"
        )
        raise FormError(f"--data {text}", wanted)
    return Data({field: Recipe(recipe[1], int(recipe[2] or 0))}, {})


def _loaded(file: str) -> Array | dict[str, Array]:
    """What NumPy has saved in a file: an array, or several by name."""
    name = click.format_filename(file)
    try:
        with Path(file).open("rb") as stream:
            loaded = np.load(stream)
            return loaded if isinstance(loaded, np.ndarray) else dict(loaded)
    except OSError as error:
        raise FormError(name, f"cannot be read: {error.strerror or error}") from None
    except Exception as error:  # whatever Python's own parser makes of a header that is none
        raise FormError(name, f"expected arrays of numbers as numpy.save or numpy.savez writes them: {error}") from None


def _require_room(desc: OperatorDesc) -> None:
    """Raises FormError where tensors are larger than what is computed here."""
    sizes = (
        max(s.tensor.total_tensor_size_in_bytes, s.tensor.element_count * s.tensor.data_type.size) for s in slots(desc)
    )
    if (size := sum(sizes)) > MOST_BYTES:
        found = f"expected tensors of {MOST_BYTES >> 20} MiB in all at most, found {size >> 20:,} MiB"
        raise FormError(desc.operator, f"{found}; dml_conformance.enclosure takes more, in Python")


def _recipes(desc: OperatorDesc, given: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """The recipes of all inputs, by slot."""
    index = spec_of(desc).index
    names = {slot.name: slot.key for slot in inputs(desc)}
    for name in given:
        if name and name not in names:
            raise FormError(name, f"{desc.operator} has no such input tensor here; it has {', '.join(names) or 'none'}")
    found = {key: replace(recipe, period=0) for key, recipe in timed_recipes(desc).items()}
    for n, key in enumerate(names.values()):
        if "" in given and (index is None or key != index.indices):
            found[key] = replace(given[""], seed=given[""].seed + n)
    return found | {names[name]: recipe for name, recipe in given.items() if name}


def as_json(
    desc: OperatorDesc,
    level: Level,
    accuracy: str,
    held: Mapping[str, Recipe | Array],
    found: Mapping[str, OutputEnclosure],
    costs: Mapping[str, Sequence[StepCost]],
) -> dict[str, Any]:
    """What `tolerance --format json` prints.

    Returns:
        `format` (1; another number when a member changes its meaning), `operator`, `level`, `accuracy`, `data` (by
        input a recipe; null where it is an array) and `outputs`. An output has `output`, `data_type`, `sizes`, `free`
        and `from_memory` (how many elements may be anything, and any element of an input's memory), `rtol`, `atol`,
        `both` (rtol, atol) and `ulp` of the other ones, `widest` (at, value, low, high, whether NaN is right too), and
        `steps` (primitive, part: by how much of it the first one's width would be less if the step lost nothing).
        A tolerance is null where none admits every right result; another number that is not finite is a text.
    """
    return {
        "format": 1,
        "operator": desc.operator,
        "level": level.label,
        "accuracy": accuracy,
        "data": {name: msgspec.to_builtins(of) if isinstance(of, Recipe) else None for name, of in held.items()},
        "outputs": [_output_json(output, costs[name]) for name, output in found.items()],
    }


def _output_json(output: OutputEnclosure, costs: Sequence[StepCost]) -> dict[str, Any]:
    rtol, atol, both, ulp = output.tolerances
    return {
        "output": output.name,
        "data_type": output.data_type.name,
        "sizes": list(output.value.shape),
        "free": int(output.free.sum()),
        "from_memory": int(output.from_memory.sum()),
        "rtol": rtol if math.isfinite(rtol) else None,
        "atol": atol if math.isfinite(atol) else None,
        "both": list(both) if math.isfinite(atol) else None,
        "ulp": ulp,
        "widest": [
            {
                "at": list(at),
                **{name: _number(getattr(output, name)[at].item()) for name in ("value", "low", "high")},
                "nan": bool(output.nan[at]),
            }
            for at in output.widest(WIDEST)
        ],
        "steps": [cost._asdict() for cost in costs],
    }


def _number(number: float) -> float | str:
    """As JSON has it."""
    return number if math.isfinite(number) else str(number)


def _print(
    desc: OperatorDesc,
    level: Level,
    accuracy: str,
    held: Mapping[str, Recipe | Array],
    found: Mapping[str, OutputEnclosure],
    costs: Mapping[str, Sequence[StepCost]],
) -> None:
    echo(f"{desc.operator} at {level}, held to the tolerance {accuracy}")
    for name, of in held.items():
        echo(f"{name}: {_words(of)}", indent=2)
    echo()
    headers = ("output", "type", "elements", "rtol", "atol", "both: rtol, atol", "ulp")
    print_table(headers, map(_row, found.values()), whole=len(headers))
    for output in found.values():
        for line in _open_lines(output):
            echo(line)
        if widest := output.widest(WIDEST):
            echo()
            echo(f"{output.name}, where right values are farthest apart:")
            print_table(("at", "value", "low", "high"), (_wide_row(output, at) for at in widest), whole=4)
            echo()
            steps = costs[output.name]
            if not steps:
                echo(f"{output.name}: no step alone makes the first of these wide; its type does, or what is near zero")
                continue
            echo(f"{output.name}, by how much the first of these would be narrower if a step lost nothing:")
            rows = ((cost.primitive, PRIMITIVES[cost.primitive].formula, f"{100 * cost.part:.0f} %") for cost in steps)
            print_table(("step", "formula", "narrower by"), rows, whole=3)


def _words(of: Recipe | Array) -> str:
    if not isinstance(of, Recipe):
        return "an array"
    return of.pattern if of.values else f"{of.pattern}, seed {of.seed}"


def _row(output: OutputEnclosure) -> tuple[str, ...]:
    rtol, atol, both, ulp = output.tolerances
    pair = ", ".join(map(_tolerance, both)) if math.isfinite(atol) else _tolerance(atol)
    size = f"{output.value.size:,}"
    return output.name, output.data_type.name, size, _tolerance(rtol), _tolerance(atol), pair, f"{ulp:,}"


def _tolerance(number: float) -> str:
    """To three digits, and not below the number."""
    if not math.isfinite(number):
        return "none"
    return f"{float(Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(number)):g}"


def _open_lines(output: OutputEnclosure) -> Iterator[str]:
    if output.expected.open is None:
        yield f"{output.name}: every bit of it is determined"
    for mask, what in ((output.free, "anything"), (output.from_memory, "any element of an input's memory")):
        if count := int(mask.sum()):
            yield f"{output.name}: of {count:,} elements {what} is right; the tolerances are those of the others"


def _wide_row(output: OutputEnclosure, at: tuple[int, ...]) -> tuple[str, ...]:
    numbers = (str(part[at]) for part in (output.value, output.low, output.high))
    return f"[{', '.join(map(str, at))}]", *numbers
