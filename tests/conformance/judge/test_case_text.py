"""Cases read from their text: by the fast way and by the careful one the same, whatever the text is."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import reduce
from operator import delitem, getitem, setitem
from typing import Any

import msgspec
import pytest

from dml_conformance.conformance.exchange.corpus import Header
from dml_conformance.spec.case import Case
from dml_conformance.spec.forms import FormError, _usual_readers
from dml_conformance.spec.tensor import UINT32_MAX, UINT64_MAX

COUNT = 600
JUNK: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 1.0, 1.5, UINT32_MAX, UINT32_MAX + 1, 2**63, UINT64_MAX, UINT64_MAX + 1, 10**30),
    *("", "FLOAT32", "DML_TENSOR_DATA_TYPE_FLOAT32", "OWNED_BY_DML", "1_0", "1.0", "é"),
    *([], [1], [1, 2, 3], [1, "1"], [-1], [UINT32_MAX + 1], {}, {"pattern": "ramp"}),
    {"Type": "BUFFER", "DataType": "FLOAT32", "Sizes": [2, 3]},
    {"Type": "BUFFER", "Desc": {"DataType": "FLOAT32", "Sizes": [2, 3]}},
)


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    return [case.to_json() for case in Header.of(COUNT, 5).numbered_cases()]


def careful(text: bytes) -> tuple[Case, Any] | str:
    """What reading comes to without the fast way: the case and its expectation, or the error."""
    value = msgspec.json.decode(text)
    try:
        return Case.from_json(value), value.get("expect")
    except FormError as error:
        return str(error)


def read(text: bytes) -> tuple[Case, Any] | str:
    try:
        return Case.from_text(text)
    except FormError as error:
        return str(error)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a member or an entry stands, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def test_what_a_case_writes_is_read_the_fast_way(cases: list[Any]) -> None:
    """But where an operator has other fields than tensors and numbers."""
    fast = 0
    for content in cases:
        text = msgspec.json.encode(content)
        found = Case._from_usual_text(text)
        assert repr(found or Case.from_text(text)) == repr(careful(text))  # which are alike of a NaN too
        fast += found is not None
    assert fast > 0.95 * sum(content["type"] in _usual_readers() for content in cases) > 200


@pytest.mark.parametrize("n", range(0, COUNT, 41))
def test_edited_cases_read_the_same_either_way(n: int, cases: list[Any]) -> None:
    """Each member in turn is replaced by what does not belong there, left out, and joined by another."""

    def edited(path: tuple[Any, ...], edit: Callable[[Any, Any], object]) -> None:
        content = copy.deepcopy(cases[n])
        owner = reduce(getitem, path[:-1], content)
        edit(owner, path[-1])
        text = json.dumps(content).encode()
        assert read(text) == careful(text)

    for path in places(cases[n]):
        for junk in JUNK:
            edited(path, lambda owner, key, junk=junk: setitem(owner, key, junk))
        edited(path, delitem)
        edited(path, lambda owner, key: isinstance(owner, dict) and owner.update(Typ=0))


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b'{"type":"\xff"}', b'{"type":"TILE"}{}'])
def test_what_is_no_case_is_refused(text: bytes) -> None:
    with pytest.raises((FormError, msgspec.MsgspecError, UnicodeDecodeError)):
        Case.from_text(text)
