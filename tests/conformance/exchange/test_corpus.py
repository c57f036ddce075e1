"""Corpora: the same lines everywhere, shards that make up the whole, and no damage that goes unnoticed."""

from __future__ import annotations

import hashlib
import io
import os
import random
import re
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from five_operators import TileDesc

from dml_conformance.conformance.exchange import corpus_files
from dml_conformance.conformance.exchange.corpus import (
    MOST_LINE_BYTES,
    CorpusError,
    CorpusLine,
    CorpusReader,
    Header,
    Shard,
    check_corpus,
    corpus_lines,
    read_case,
)
from dml_conformance.conformance.exchange.corpus_files import FRAME_LINES, open_corpus, write_corpus
from dml_conformance.reports.model.release import suite_version
from dml_conformance.reports.output import whole_file
from dml_conformance.reports.output.folder import OutputError
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.cases import applicable_rules, numbered_case


def made(cases: int = 40, seed: int = 1, **more: Any) -> list[bytes]:
    return list(corpus_lines(Header.of(cases, seed, **more)))


def reader(lines: Sequence[bytes] | bytes) -> CorpusReader:
    return CorpusReader("a.jsonl", io.BytesIO(lines if isinstance(lines, bytes) else b"".join(lines)))


def problem(lines: Sequence[bytes] | bytes) -> str:
    with pytest.raises(CorpusError) as caught:
        check_corpus(reader(lines))
    return str(caught.value)


def with_header(lines: Sequence[bytes], **changes: Any) -> list[bytes]:
    header = msgspec.json.decode(lines[0])["corpus"]
    return [msgspec.json.encode({"corpus": header | changes}) + b"\n", *lines[1:]]


def with_ending(lines: Sequence[bytes], **changes: Any) -> list[bytes]:
    ending = msgspec.json.decode(lines[-1])["end"]
    return [*lines[:-1], msgspec.json.encode({"end": ending | changes}) + b"\n"]


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return made()


# --- what is in it ----------------------------------------------------------------------------------------------------


def test_a_corpus_says_what_it_is_and_its_cases_are_those_of_a_sweep(lines: list[bytes]) -> None:
    assert msgspec.json.decode(lines[0])["corpus"] == {
        "form": 1,
        "suite_version": suite_version(),
        "seed": 1,
        "operators": list(operators()),
        "levels": [level.label for level in Level],
        "cases": 40,
        "shard": [1, 1],
        "in_shard": 40,
    }
    assert len(lines) == 42
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    digest = hashlib.sha256(b"".join(lines[:-1])).hexdigest()
    assert msgspec.json.decode(lines[-1]) == {"end": {"cases": 40, "sha256": digest}}
    # By their JSON: a NaN among attributes is not equal to itself.
    cases = [read_case("a", line).to_json() for line in reader(lines).lines()]
    assert cases == [case.to_json() for case in reader(lines).header.numbered_cases()]
    assert [line.number for line in reader(lines).lines()] == list(range(2, 42))
    swept = [numbered_case(9, "TILE", Level.L6_4, n) for n in range(30)]
    assert list(Header.of(30, 9, ["TILE"], [Level.L6_4]).numbered_cases()) == swept
    check_corpus(reader(made(0)))


def test_its_lines_are_as_documented() -> None:
    """Fixed by hand, so that a change of the form does not go unnoticed: it needs another `form`."""
    pair, four = TensorDesc.of(DataType.UINT8, (2,)), TensorDesc.of(DataType.UINT8, (4,))
    case = Case.of(
        TileDesc(pair, four, (2,)), Level.L6_4, {"input_tensor": Recipe("ramp", 3)}, rule="TILE.values", origin="here"
    )
    header = Header(1, "1.2.3", 5, ("TILE",), ("6_4",), 1, (1, 1), 1)
    text = (
        b'{"type":"DML_OPERATOR_TILE","desc":{"InputTensor":{"DataType":"UINT8","Sizes":[2],"TotalTensorSizeInBytes":4},'
        b'"OutputTensor":{"DataType":"UINT8","Sizes":[4],"TotalTensorSizeInBytes":4},"RepeatsCount":1,"Repeats":[2]},'
        b'"level":"6_4","data":{"InputTensor":{"pattern":"ramp","seed":3}},"rule":"TILE.values",'
        b'"expect":{"decision":"ACCEPT","rules":[]},"origin":"here"}'
    )
    first = (
        b'{"corpus":{"form":1,"suite_version":"1.2.3","seed":5,"operators":["TILE"],"levels":["6_4"],"cases":1,'
        b'"shard":[1,1],"in_shard":1}}\n'
    )
    second = b'{"check":"ce8f056f","case":' + text + b"}\n"
    digest = hashlib.sha256(first + second).hexdigest().encode()
    last = b'{"end":{"cases":1,"sha256":"' + digest + b'"}}\n'
    assert list(corpus_lines(header, [case])) == [first, second, last]


def test_the_same_seed_gives_the_same_lines(lines: list[bytes]) -> None:
    """On no order of a set do they depend, nor on what was made before, nor on the locale."""
    assert made(10)[1:-1] == lines[1:11]
    assert made(seed=2)[1:-1] != lines[1:-1]
    program = (
        "import sys; from dml_conformance.conformance.exchange.corpus import Header, corpus_lines; "
        "sys.stdout.buffer.writelines(corpus_lines(Header.of(40, 1)))"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C"}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
        assert done.stdout == b"".join(lines)


def test_operators_and_levels_are_a_choice_whatever_their_order() -> None:
    two = [Level.L3_0, Level.L4_1]
    chosen = made(60, operators=["TILE", "GATHER"], levels=two)
    assert chosen == made(60, operators=["GATHER", "TILE", "GATHER"], levels=two[::-1])
    cells = Counter((case.operator, case.level) for case in Header.of(60, 1, ["TILE", "GATHER"], two).numbered_cases())
    assert cells == {(name, level): 15 for name in ("GATHER", "TILE") for level in two}


def test_a_corpus_without_cases_that_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dml_conformance.conformance.exchange.corpus.applicable_rules", lambda name, level: ())
    with pytest.raises(CorpusError, match="there are no cases of TILE at 1_0"):
        Header.of(3, 0, ["TILE"], [Level.L1_0])


# --- shards -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 2, 3, 16, 50])
def test_shards_are_the_whole(lines: list[bytes], parts: int) -> None:
    shards = [made(shard=Shard(n, parts)) for n in range(1, parts + 1)]
    taken: list[bytes | None] = [None] * 40
    for number, shard in enumerate(shards):
        check_corpus(reader(shard))
        for position, line in enumerate(shard[1:-1]):
            assert taken[number + position * parts] is None
            taken[number + position * parts] = line
    assert taken == lines[1:-1]


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 15, 16, 75, 150])
def test_every_shard_has_every_operator_at_every_level(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the number of shards has something in common with that of operators and levels or not."""
    monkeypatch.setattr(
        "dml_conformance.conformance.exchange.corpus.numbered_case", lambda seed, *cell_and_turn: cell_and_turn
    )
    cells = [(name, level) for name in operators() for level in Level if applicable_rules(name, level)]
    turns = list(Header.of(len(cells) * 40 * parts, 0, shard=Shard(min(2, parts), parts)).numbered_cases())
    found = Counter((name, level) for name, level, _ in turns)  # type: ignore[misc, attr-defined]
    assert found.keys() == set(cells)
    assert max(found.values()) < 3 * 40
    if parts == 1:
        assert sorted(turns) == sorted((*cell, turn) for turn in range(40) for cell in cells)  # type: ignore[type-var]


@pytest.mark.parametrize(("own", "asked"), [((1, 1), (3, 4)), ((2, 3), (1, 2)), ((2, 4), (2, 4)), ((1, 4), (2, 4))])
def test_a_part_of_a_shard_is_what_both_have(own: tuple[int, int], asked: tuple[int, int]) -> None:
    header = Header.of(40, 1, shard=Shard(*own))
    part = Shard(*asked)
    wanted = [number for number in range(40) if number in Shard(*own) and number in part]
    everything = [line.content for line in reader(made()).lines()]
    assert [line.content for line in reader(list(corpus_lines(header))).lines(part)] == [everything[n] for n in wanted]


@pytest.mark.parametrize("text", ["0/3", "4/3", "1/0", "3", "a/b", "1/2/3", "-1/2", "1.0/2", "", "٣/٤"])
def test_a_shard_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="expected a shard such as 3/16"):
        Shard.parse(text)
    assert Shard.parse("3/16") == Shard(3, 16)
    assert str(Shard(3, 16)) == "3/16"


# --- what is no corpus of this release --------------------------------------------------------------------------------


Change = Callable[[list[bytes]], list[bytes]]
BEGINNINGS = [
    (b"", "the file is empty; expected a corpus"),
    (b"\n", "expected the first line of a corpus"),
    (b"{}\n", "expected the first line of a corpus, as 'dml-conformance generate' makes it: Object missing"),
    (b"\xff\xfe\n", "expected the first line of a corpus"),
    (b'{"type":"DML_OPERATOR_TILE"}\n', "expected the first line of a corpus"),
    (b"x" * 10, "the file ends within this line; it is truncated"),
    (b"x" * MOST_LINE_BYTES, "expected lines of less than 1,048,576 bytes"),
]
HEADERS: list[tuple[dict[str, Any], str]] = [
    ({"form": 2}, "expected a corpus of form 1, found form 2"),
    (
        {"suite_version": "9.9.9"},
        f"expected a corpus made by dml-conformance {suite_version()}, which this is; found one made by 9.9.9",
    ),
    ({"operators": ["GATHR"]}, "corpus.operators: there is no operator 'GATHR'"),
    ({"operators": []}, "corpus: expected operators and levels"),
    ({"levels": ["9_9"]}, "corpus: there is no feature level '9_9'"),
    ({"shard": [3, 2]}, "corpus: expected a shard such as 3/16"),
    ({"in_shard": 39}, "corpus.in_shard: expected as many as part 1/1 of 40 cases has; found 39"),
    ({"cases": -1}, "corpus.in_shard"),
    ({"seed": "one"}, "expected the first line of a corpus"),
    ({"more": 1}, "expected the first line of a corpus"),
]
DAMAGE: list[tuple[Change, str]] = [
    *((lambda lines, start=start: [start], f"line 1: {told}") for start, told in BEGINNINGS),
    *((lambda lines, change=change: with_header(lines, **change), f"line 1: {told}") for change, told in HEADERS),
    (lambda lines: with_header(lines, seed=2), "line 42: end.sha256: expected the lines to digest to"),  # believable
    (lambda lines: lines[:-1], "line 42: the file ends before its last line, which has the digest"),
    (lambda lines: lines[:20], "line 21: expected 40 cases, as line 1 says; there are 19"),
    (lambda lines: [*lines[:20], lines[-1]], "line 21: expected 40 cases, as line 1 says; there are 19"),
    (lambda lines: [*lines[:20], *lines[21:]], "line 41: expected 40 cases, as line 1 says; there are 39"),
    (lambda lines: [*lines[:-1], lines[-1][:-1]], "line 42: the file ends within this line"),
    (lambda lines: [*lines[:20], *lines[19:]], "line 42: expected the last line, after 40 cases as line 1 says"),
    (lambda lines: [*lines, b"\n"], "line 43: expected nothing after the last line of a corpus"),
    (lambda lines: with_ending(lines, cases=39), "line 42: end.cases: expected 40, as line 1 says; found 39"),
    (lambda lines: with_ending(lines, sha256="0" * 64), "line 42: end.sha256: expected the lines to digest to 000"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGE)
def test_what_is_no_corpus_of_this_release_is_told(lines: list[bytes], change: Change, message: str) -> None:
    assert problem(change(lines)).startswith(f"a.jsonl: {message}")


def test_an_edited_case_is_named(lines: list[bytes]) -> None:
    edited = lines[16].replace(b"DML_OPERATOR", b"DML_0PERATOR", 1)
    message = problem([*lines[:16], edited, *lines[17:]])
    assert message.startswith("a.jsonl: line 17: the case is not the one that was written: expected a text of check ")
    assert message.endswith("; 'dml-conformance replay' takes edited cases")
    assert "or they are in another order" in problem([lines[0], *lines[2:-1], lines[1], lines[-1]])


def test_no_changed_byte_goes_unnoticed(lines: list[bytes]) -> None:
    whole, dice = b"".join(lines), random.Random(0)
    for _ in range(400):
        place = dice.randrange(len(whole))
        changed = bytearray(whole)
        changed[place] ^= 1 << dice.randrange(8)
        assert problem(bytes(changed)).startswith("a.jsonl: line ")
    for _ in range(100):
        assert problem(whole[: dice.randrange(len(whole))]).startswith("a.jsonl: line ")


def checked(text: bytes) -> bytes:
    """A line whose check is right, whatever its case is."""
    return b'{"check":"%08x","case":%s}\n' % (zlib.crc32(text), text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}\n", "expected a case with its check: Object missing required field `check`"),
        (b"nonsense\n", "expected a case with its check: JSON is malformed"),
        (checked(b"[]"), "case: expected an object with type, desc, level and data"),
        (checked(b'{"type":"DML_OPERATOR_TILE"}'), "case.level: missing"),
        (checked(b"[" * 100_000 + b"]" * 100_000), ""),
    ],
)
def test_a_line_that_is_no_case(content: bytes, message: str) -> None:
    with pytest.raises(CorpusError) as caught:
        read_case("a.jsonl", CorpusLine(7, content))
    assert str(caught.value).startswith(f"a.jsonl: line 7: {message}")


def test_an_expectation_is_the_specification_s(lines: list[bytes]) -> None:
    """The check is no signature: who makes a right one for a case that expects something else gets no further."""
    text = lines[1][len(b'{"check":"01234567","case":') : -2]
    read_case("a", CorpusLine(7, checked(text)))
    value = msgspec.json.decode(text)
    value["expect"]["decision"] = "ACCEPT" if value["expect"]["decision"] != "ACCEPT" else "REJECT"
    with pytest.raises(
        CorpusError, match=r"^a: line 7: case\.expect: expected .*, as this specification decides; found"
    ):
        read_case("a", CorpusLine(7, checked(msgspec.json.encode(value))))


# --- files ------------------------------------------------------------------------------------------------------------


def checked_file(path: Path) -> str:
    """The digest of a corpus, or what is wrong with it."""
    try:
        with open_corpus(path) as opened:
            check_corpus(opened)
            return opened.sha256
    except CorpusError as error:
        return str(error)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("name", ["a.jsonl.zst", "a.jsonl", "deep/er/a.zst"])
def test_a_file_holds_the_lines(tmp_path: Path, lines: list[bytes], name: str) -> None:
    path = tmp_path / name
    write_corpus(path, lines)
    content = path.read_bytes()
    assert (content == b"".join(lines)) == (not name.endswith(".zst"))
    with open_corpus(path) as opened:
        assert opened.header == reader(lines).header
        assert [line.content for line in opened.lines()] == lines[1:-1]
    assert names(path.parent) == [path.name]
    path.write_bytes(zstandard.ZstdCompressor(level=15).compress(b"".join(lines)))  # whatever the name says
    assert checked_file(path) == hashlib.sha256(b"".join(lines[:-1])).hexdigest()
    write_corpus(path, lines, replace=True)
    assert path.read_bytes() == content


def test_a_compressed_file_is_frames_of_lines(tmp_path: Path) -> None:
    """Each unpacks by itself and has a checksum and its size."""
    lines, path = made(FRAME_LINES + 200, operators=["TILE"]), tmp_path / "a.zst"
    write_corpus(path, lines)
    content, frames = path.read_bytes(), []
    while content:
        parameters = zstandard.get_frame_parameters(content)
        assert parameters.has_checksum
        unpacker = zstandard.ZstdDecompressor().decompressobj()
        frames.append(unpacker.decompress(content))
        assert parameters.content_size == len(frames[-1])
        content = unpacker.unused_data
    assert frames == [b"".join(lines[:FRAME_LINES]), b"".join(lines[FRAME_LINES:])]
    assert re.fullmatch("[0-9a-f]{64}", checked_file(path))


def test_a_damaged_file_is_noticed(tmp_path: Path, lines: list[bytes]) -> None:
    path, dice = tmp_path / "a.zst", random.Random(0)
    write_corpus(path, lines)
    whole, right = path.read_bytes(), hashlib.sha256(b"".join(lines[:-1])).hexdigest()
    for n in range(200):
        changed = bytearray(whole)
        changed[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
        path.write_bytes(whole[: dice.randrange(len(whole))] if n % 4 == 0 else changed)
        # The frame's header has bits that mean nothing; whatever is unpacked all the same is the corpus.
        assert checked_file(path).startswith((right, f"{path}: line ") if n % 4 else f"{path}: line ")
    # What is damaged late is told with its line.
    write_corpus(path, made(3 * FRAME_LINES, operators=["TILE"]), replace=True)
    changed = bytearray(path.read_bytes())
    changed[-100] ^= 0xFF
    path.write_bytes(changed)
    told = re.fullmatch(r".*: line (\d+): .*it cannot be unpacked, so it is damaged.*", checked_file(path))
    assert told is not None
    assert int(told[1]) > 2 * FRAME_LINES


def test_a_bomb_is_no_corpus_and_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A line that never ends is given up on, and not unpacked."""
    path = tmp_path / "a.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(bytes(2**28)))
    assert checked_file(path) == f"{path}: line 1: expected lines of less than 1,048,576 bytes"
    assert checked_file(tmp_path / "none").endswith("none: cannot be read: No such file or directory")
    assert checked_file(tmp_path) == f"{tmp_path}: cannot be read: Is a directory"


# --- written whole or not at all --------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("name", ["a.zst", "a.jsonl"])
def test_what_is_not_written_to_its_end_is_not_there(
    tmp_path: Path, lines: list[bytes], error: type[BaseException] | BaseException, name: str
) -> None:
    def breaking() -> Iterator[bytes]:
        yield from lines[:5]
        raise error

    path = tmp_path / name
    with pytest.raises((ValueError, KeyboardInterrupt, OutputError)) as caught:
        write_corpus(path, breaking())
    assert names(tmp_path) == []
    if isinstance(error, OSError):
        assert str(caught.value) == f"{path}: cannot be written: No space left on device"
    write_corpus(path, lines)
    before = path.read_bytes()
    with pytest.raises((ValueError, KeyboardInterrupt, OutputError)):
        write_corpus(path, breaking(), replace=True)
    assert names(tmp_path) == [name]
    assert path.read_bytes() == before


def test_nothing_is_replaced_unasked_and_nothing_but_a_corpus(tmp_path: Path, lines: list[bytes]) -> None:
    path = tmp_path / "a.zst"
    path.write_bytes(b"mine")
    for replace, message in ((False, "exists; name another file, or replace it"), (True, "is no corpus; it is not")):
        with pytest.raises(OutputError, match=message):
            write_corpus(path, lines, replace=replace)
    assert path.read_bytes() == b"mine"
    path.write_bytes(b'{"corpus":')
    write_corpus(path, lines, replace=True)
    write_corpus(path, made(3), replace=True)
    assert re.fullmatch("[0-9a-f]{64}", checked_file(path))

    def slowly() -> Iterator[bytes]:
        yield from lines[:-1]
        (tmp_path / "b.zst").write_bytes(b"another's")
        yield lines[-1]

    with pytest.raises(OutputError, match="exists; name another file"):
        write_corpus(tmp_path / "b.zst", slowly())
    assert ((tmp_path / "b.zst").read_bytes(), names(tmp_path)) == (b"another's", ["a.zst", "b.zst"])


def test_lines_are_not_held(tmp_path: Path, lines: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a frame of them is in memory, however many there are."""
    monkeypatch.setattr(corpus_files, "FRAME_LINES", 3)
    sizes = set()

    def watched() -> Iterator[bytes]:
        for line in lines:
            yield line
            (partial,) = tmp_path.iterdir()
            sizes.add(partial.stat().st_size)

    monkeypatch.setattr(whole_file, "opened_anew", lambda path: path.open("xb", buffering=0))
    write_corpus(tmp_path / "a.zst", watched())
    assert len(sizes) == 1 + len(lines) // 3  # nothing, one frame, two, ...
