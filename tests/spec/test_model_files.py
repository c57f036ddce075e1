"""Files with descriptors: what is taken, and that everything else ends in one located line."""

from __future__ import annotations

import codecs
import json
from typing import Any

import pytest

from dml_conformance.spec.examples import examples
from dml_conformance.spec.forms import desc_from_json, desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.model_files import MAX_BYTES, ModelError, ModelFile, read_model

EXAMPLE = examples()["GATHER/2"].corrected
assert EXAMPLE is not None
DESCRIPTOR: dict[str, Any] = desc_to_json(EXAMPLE)
TEXT = json.dumps(DESCRIPTOR)


def read(text: str | bytes) -> ModelFile:
    return read_model(text if isinstance(text, bytes) else text.encode(), "m.json")


def model(**dispatchables: Any) -> str:
    return json.dumps({"resources": {}, "dispatchables": dispatchables, "commands": []})


def test_one_descriptor() -> None:
    (operator,) = read(TEXT).operators
    assert operator == ("", "desc", EXAMPLE)


def test_fields_beside_the_type() -> None:
    (operator,) = read(json.dumps({"type": "GATHER", **DESCRIPTOR["desc"]})).operators
    assert operator == ("", "", EXAMPLE)


def test_a_list() -> None:
    found = read(f"[{TEXT}, {TEXT}]")
    assert found.operators == (("[0]", "[0].desc", EXAMPLE), ("[1]", "[1].desc", EXAMPLE))
    assert found.skipped == ()
    assert read("[]") == ((), ())


def test_a_model() -> None:
    text = model(
        first=DESCRIPTOR,
        shader={"type": "hlsl", "sourcePath": "a.hlsl"},
        second={"Type": "GATHER", "Desc": DESCRIPTOR["desc"], "dmlCompileType": "DmlCompileGraph"},
        gemm={"type": "DML_OPERATOR_GEMMA", "desc": {"ATensor": None}},
        third={"type": "GATHER", **DESCRIPTOR["desc"], "bindings": {}, "executionFlags": 0, "dmlCompileType": "x"},
    )
    found = read(text)
    assert found.operators == (
        ("dispatchables.first", "dispatchables.first.desc", EXAMPLE),
        ("dispatchables.second", "dispatchables.second.desc", EXAMPLE),
        ("dispatchables.third", "dispatchables.third", EXAMPLE),
    )
    assert found.skipped == (("dispatchables.shader", "hlsl"), ("dispatchables.gemm", "DML_OPERATOR_GEMMA"))


def test_dxdispatch_computes_a_total_size_of_0() -> None:
    """Of tensors wherever they sit, in a model alone."""
    given = json.loads(TEXT)
    for tensor in ("InputTensor", "IndicesTensor", "OutputTensor"):
        given["desc"][tensor]["TotalTensorSizeInBytes"] = 0
    assert read(model(a=given)).operators[0].desc == EXAMPLE
    assert read(json.dumps(given)).operators[0].desc != EXAMPLE


def test_a_case_is_a_descriptor() -> None:
    case = examples()["GATHER/2"].case(Level.L3_0)
    assert read(json.dumps(case.to_json())).operators[0].desc == EXAMPLE


@pytest.mark.parametrize(
    "text",
    [
        codecs.BOM_UTF8 + TEXT.encode(),
        f"// a comment\n{TEXT}",
        f"{TEXT} // a comment without end of line",
        f"/* over\n   lines **/ {TEXT}",
        TEXT.replace("}", ",}").replace("]", " , \n]"),
        TEXT.replace('"Axis": 0', '"Axis": /* ] , */ 0 /**/ // ,}\n'),
        TEXT.replace("}", ", /* trailing */ }"),
        f"\r\n\t {TEXT}\r\n",
        TEXT.replace("DML_OPERATOR_GATHER", "DML_OPERATOR_\\u0047ATHER"),
    ],
    ids=range(9),
)
def test_what_dxdispatch_takes_is_taken(text: str | bytes) -> None:
    assert read(text).operators[0].desc == EXAMPLE


def test_signs_within_texts_are_left_alone() -> None:
    names = ["// no comment", "/* nor this */", ",}", ',"]', "\\"]
    text = model(**dict.fromkeys(names, DESCRIPTOR)).replace('"commands": []', '"commands": [],')
    paths = [operator.where for operator in read(text).operators]
    assert paths == [f"dispatchables[{json.dumps(name)}]" for name in names]


WRONG: list[tuple[str | bytes, str, str]] = [
    ("", "", "is empty; expected a descriptor"),
    (" \n\t", "", "is empty"),
    (codecs.BOM_UTF8, "", "is empty"),
    ("{", "1:2", "not JSON: expecting property name"),
    ("[", "1:2", "not JSON: expecting value"),
    ("[1,\n 2,\n oops]", "3:2", "not JSON: expecting value"),
    (f"{TEXT} {TEXT}", f"1:{len(TEXT) + 2}", "not JSON: extra data"),
    ("// a\n// b\n[1 2]", "3:4", "not JSON: expecting ',' delimiter"),
    ("[,]", "1:2", "not JSON: expecting value"),
    ("[1,,]", "1:4", "not JSON: expecting value"),
    ('{,"a":1}', "1:2", "not JSON: expecting property name"),
    ('{"a":,}', "1:6", "not JSON: expecting value"),
    ("[1 /* never closed", "1:4", "a comment that is not closed"),
    ("/*/", "1:1", "a comment that is not closed"),
    ("# not a comment here\n1", "1:1", "not JSON: expecting value"),
    ("{'a': 1}", "1:2", "not JSON: expecting property name"),
    ("{a: 1}", "1:2", "not JSON"),
    ("[1,\n  NaN]", "2:3", "not JSON: there is no number NaN"),
    ('["NaN",\n -Infinity]', "2:2", "not JSON: there is no number -Infinity"),
    ("/* NaN */ [Infinity]", "1:12", "not JSON: there is no number Infinity"),
    ('"open', "1:1", "not JSON: unterminated string"),
    ('["a\nb"]', "1:4", "not JSON: invalid control character"),
    ('"\\x"', "1:2", "not JSON: invalid \\escape"),
    ("[" * 100_000, "", "nested too deeply"),
    ('{"a":' * 100_000, "", "nested too deeply"),
    (b"\xff\xfe[\x001\x00]\x00", "", "expected UTF-8 text, found UTF-16"),
    ("[1]".encode("utf-16-be"), "", "expected UTF-8 text, found UTF-16"),
    ("[1]".encode("utf-32"), "", "expected UTF-8 text, found UTF-16, UTF-32"),
    *(("\ufeff\u4e01\u4e02".encode(encoding), "", "UTF-16") for encoding in ("utf-16-le", "utf-16-be")),
    (bytes(range(256)), "", "binary"),
    (b"[1,\0]", "", "UTF-16, UTF-32 or binary"),
    (b"[1, \0]", "1:5", "not JSON"),
    (b'{"a":\n "\xe9"}', "2:3", "expected UTF-8 text, found the byte 0xe9"),
    (codecs.BOM_UTF8 + b"[\xff]", "1:2", "found the byte 0xff"),
    (b"\x89PNG\r\n\x1a\n", "1:1", "found the byte 0x89"),
    (b" " * (MAX_BYTES + 1), "", "larger than 16 MiB"),
    ("null", "", "expected an operator as an object with type and desc, found null"),
    ("9" * 5000, "", "found the number <5000 digits>"),
    ("{}", "type", "missing"),
    ("[{}]", "[0].type", "missing"),
    (f"[{TEXT}, 5]", "[1]", "found the number 5"),
    ('[{"type": "DML_OPERATOR_GEMMA"}]', "[0].type", "unknown operator 'DML_OPERATOR_GEMMA'"),
    ('{"dispatchables": []}', "dispatchables", "expected an object with named dispatchables"),
    ('{"dispatchables": {"a b": 5}}', 'dispatchables["a b"]', "found the number 5"),
    ('{"dispatchables": {"a": {}}}', "dispatchables.a.type", "missing"),
    (TEXT.replace('"Axis": 0', '"Axis": 1e400'), "desc.Axis", "found inf"),
    (TEXT.replace('"Axis": 0', f'"Axis": {"1" * 41}'), "desc.Axis", "found <41 digits>"),
    (TEXT.replace('"Axis": 0', f'"Axis": -{"1" * 41}'), "desc.Axis", "found <41 digits>"),
    (TEXT.replace('"Axis": 0', f'"Axis": {"[" * 300}{"]" * 300}'), "desc.Axis", "found [[["),
    (TEXT.replace('"Axis": 0', '"\\ud800": 0'), "desc.\\ud800", "has no such field"),
    ('{"a": 1, "b": 2, "a": 1}', "a", "given twice in the same object"),
    (f'[{TEXT}, {{"x y": [0, {{"q": 1, "q": 2}}]}}]', '[1]["x y"][1].q', "given twice"),
    (model(a=DESCRIPTOR).replace('"Axis"', '"Axis": 1, "Axis"'), "dispatchables.a.desc.Axis", "given twice"),
    ('{"a": {"b": 1, "b": 2}, "a": 3}', "a", "given twice"),
    ('{"a": {"x": 1, "x": 2}, "b": {"y": 1, "y": 2}}', "a.x", "given twice"),
]


@pytest.mark.parametrize(
    ("text", "where", "problem"), WRONG, ids=[f"{i} {p[:40]}" for i, (_, _, p) in enumerate(WRONG)]
)
def test_anything_else_ends_in_one_located_line(text: str | bytes, where: str, problem: str) -> None:
    with pytest.raises(ModelError) as caught:
        read(text)
    error = caught.value
    assert problem in error.problem
    if where != "a" or "twice" not in problem:
        assert error.where == where
    else:
        assert error.where in ("a", "a.b", "b")  # of two repeated names either may be told
    assert str(error) == ": ".join(part for part in ("m.json", error.where, error.problem) if part)
    assert str(error).isprintable()
    assert len(str(error)) < 400


def test_every_beginning_of_a_file_is_answered() -> None:
    """A file cut off anywhere is read or told of, never anything else."""
    text = ("// c\n" + model(a=DESCRIPTOR, b={"type": "hlsl"})).replace("}", ",}").encode()
    for end in range(len(text)):
        with pytest.raises(ModelError):
            read(text[:end])


def test_blanking_keeps_places() -> None:
    text = '{ // one\n  "type": /* two\n lines */ "GATHER",\n  "desc": {"Axis": 0,, }\n}'
    with pytest.raises(ModelError) as caught:
        read(text)
    assert caught.value.where == "4:22"


def test_a_long_text_is_answered_in_linear_time() -> None:
    """Each of these would take hours if a pattern were tried anew at every place."""
    for text in (
        b'"' + b'\\"' * 10**6,
        b"/*" * 10**6,
        b"[" + b"," * 10**6,
        b"[1," + b" " * 10**6,
        b"[1" + b"  ," * 10**6,
    ):
        with pytest.raises(ModelError):
            read(text)


def test_reading_is_that_of_forms() -> None:
    for example in examples().values():
        if example.printed is not None:
            written = desc_to_json(example.printed)
            assert read(json.dumps(written)).operators[0].desc == desc_from_json(written)
