"""A page against its English original: every kind of change is found, and what a translator may do is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from page_factories import level_row_of, page_of
from pages_support import check_translation
from places import TESTS

from dml_conformance.documents.check import translation
from dml_conformance.documents.check.identifiers import likeness
from dml_conformance.documents.check.model import Severity, checks
from dml_conformance.documents.read import read_page
from dml_conformance.documents.read.model import FieldSection, Page, Passage, Place, Quoted

PLACE = Place(7, 3)


def page_with(*passages: Passage, **parts: Any) -> Page:
    """The page on GATHER with other passages and parts."""
    return msgspec.structs.replace(page_of("GATHER"), passages=passages, **parts)


def page_on(shown: str, original: str, section: str = "members/Axis", role: str = "sentence") -> Page:
    """A page with one piece of text, emphasised where it has guillemets."""
    (text, marked), (of, originally) = emphasised(shown), emphasised(original)
    return page_with(Passage(section, role, Quoted(text, PLACE, of, marked, originally)))


def told(page: Page) -> list[tuple[str, str, str]]:
    """(id, found, expected) of every finding."""
    return [(finding.id, finding.found, finding.expected) for finding in check_translation(page)]


def emphasised(text: str) -> tuple[str, tuple[str, ...]]:
    """A text without its guillemets, and what stood between them."""
    return re.sub("[«»]", "", text), tuple(re.findall("«([^»]*)»", text))


# Text and original: what a translator may do.
GOOD = {
    "other words in another order": (
        "Le dimensioni di «OutputTensor.Sizes» sono quelle di «InputTensor».",
        "«InputTensor» gives «OutputTensor.Sizes» its values.",
    ),
    "a plain word that is a field elsewhere": ("dell'asse del tensore", "of the axis of the tensor"),
    "a plain word with a capital": ("Tensore da cui leggere", "Tensor to read; Sizes of it"),
    "decimal comma": ("версии 1,4 и более поздних", "version 1.4 and later"),
    "full-width digits": ("１至８", "1 to 8"),
    "grouped thousands": ("bis zu 10.000 Elemente", "up to 10,000 elements"),
    "groups with spaces": ("до 10 000 элементов", "up to 10,000 elements"),
    "ungrouped thousands": ("до 10000 элементов", "up to 10,000 elements"),
    "a numeral": ("必須為四個維度", "must be 4 dimensions"),
    "numbers as words": ("bei drei Achsen, der zweiten und der vierten", "with 3 axes, the 2nd and the 4th"),
    "numbers as words of Spanish": ("las cuatro dimensiones, dos de ellas", "all 4 dimensions, 2 of them"),
    "numbers as words of Russian": ("двух из восьми измерений", "2 of 8 dimensions"),
    "a number as a word between others": ("必須是雙引數", "must be 2-argument"),
    "a number said twice": ("Achse 2 (axis 2)", "axis 2"),
    "zeroed": ("wird auf 0 gesetzt", "is zeroed"),
    "a difference": ("число DimensionCount-2", "the DimensionCount - 2"),
    "a name in a compound": ("den «DataType-Wert»", "the «DataType»"),
    "a word as a figure": ("入力テンソルの次元の 1 つに対応します", "corresponds to one of the dimensions"),
    "typographic minus": ("индекс −1", "an index of -1"),
    "a minus stuck to a word": ("индекс-1 ссылается", "an index of -1 refers"),
    "a hyphen before a letter": ("из 2-координатных кортежей 4x5", "4x5 2-coordinate tuples"),
    "full-width brackets": ("範圍為 ［0, Axis）", "ranging [0, Axis)"),
    "an ideographic comma in an interval": ("範圍為 [0、Axis)", "ranging [0, Axis)"),
    "spaces in a list": ("размеры { 1, 4，6 }", "sizes {1,4,6}"),
    "emphasis inside code": ("da `[0, *InputTensor.DimensionCount*)`", "from [0, InputTensor.DimensionCount)"),
    "a name said once instead of twice": (
        "InputTensor 和它的 DimensionCount",
        "InputTensor and InputTensor's DimensionCount",
    ),
    "a name glued to Han characters": ("從DML_FEATURE_LEVEL_3_0開始，使用INT32", "DML_FEATURE_LEVEL_3_0: INT32"),
    "a full stop within the emphasis": ("ad eccezione di «Axis.»", "except «Axis»."),
    "a remark in brackets": ("(siehe Tabelle, oben)", "(see the table, above)"),
    "an emphasised plain word": ("«Заголовок»", "«Header»"),
    "a property with its tensor": (
        "«DimensionCount» и «OutputTensor.DimensionCount»",
        "«DimensionCount» and that of «OutputTensor»",
    ),
    "a tensor with its property": ("come «OutputTensor.DimensionCount»", "as its «DimensionCount»"),
    "a plain word that is emphasised in the original only": ("La nota: Note", "The «Note»"),
    "a product left out": ("包的一部分", "part of the DirectML package"),
}

# Text and original, and what is found: check, end of the id, what is quoted.
BAD = {
    "transliterated": ("в «инпуттенсор» после", "within the «InputTensor» after", "name / InputTensor / инпуттенсор"),
    "transliterated in kana": (
        "«インプットテンソル»の値",
        "values of «InputTensor»",
        "name / InputTensor / インプットテンソル",
    ),
    "joined to the next word": (
        "wenn es DML_AXIS_DIRECTION_INCREASINGist",
        "where it is DML_AXIS_DIRECTION_INCREASING",
        "name / DML_AXIS_DIRECTION_INCREASING / DML_AXIS_DIRECTION_INCREASINGist",
    ),
    "a field joined to the next word": (
        "«OutputTensor»y «IndicesTensor»",
        "«OutputTensor» and «IndicesTensor»",
        "name / OutputTensor / OutputTensory",
    ),
    "half transliterated": (
        "не превышает инпуттенсор. DimensionCount.",
        "at most InputTensor.DimensionCount.",
        "name / InputTensor.DimensionCount / инпуттенсор. DimensionCount",
    ),
    "translated": (
        "devono avere lo stesso «tipo di dati»",
        "must have the same «DataType»",
        "name / DataType / tipo di dati",
    ),
    "eaten in part": (
        "必須符合 «InputTensor。» 每個維度的大小",
        "must match «InputTensor.Sizes»",
        "name / InputTensor.Sizes / InputTensor。 每個維度的大小",
    ),
    "the package of a name eaten": (
        "vedere DirectML",
        "see Microsoft.AI.DirectML",
        "name / Microsoft.AI.DirectML / DirectML",
    ),
    "the property of a name eaten": (
        "wie bei InputTensor",
        "as in InputTensor.Sizes",
        "name / InputTensor.Sizes / InputTensor",
    ),
    "eaten": ("muss übereinstimmen", "must match InputTensor.Sizes", "name / InputTensor.Sizes / nothing"),
    "broken by a space": ("in directml .h", "in directml.h", "name / directml.h / directml .h"),
    "in other letters": ("der Typ uint", "the type UINT", "name / UINT / uint"),
    "a product": ("Журнал версий директмл", "DirectML version history", "product / DirectML / директмл"),
    "one name for another": (
        "wie «IndicesTensor.Sizes»",
        "as «InputTensor.Sizes»",
        "wrong-name / InputTensor.Sizes / IndicesTensor.Sizes",
    ),
    "one emphasised word for another": ("außer «Sizes»", "except «Axis»", "wrong-name / Axis / Sizes"),
    "one data type for another": ("nur INT32", "UINT32 only", "wrong-name / UINT32 / INT32"),
    "another level": (
        "ab DML_FEATURE_LEVEL_2_1",
        "from DML_FEATURE_LEVEL_3_0 on",
        "level / DML_FEATURE_LEVEL_3_0 / DML_FEATURE_LEVEL_2_1",
    ),
    "a level eaten": ("ab dieser Stufe", "from DML_FEATURE_LEVEL_3_0 on", "level / DML_FEATURE_LEVEL_3_0 / nothing"),
    "a number": ("от 1 до 7", "from 1 to 8", "number / 8 / 7"),
    "a number beside a word for it": ("el eje 2 de un tensor", "axis 1 of a tensor", "number / 1 / 2"),
    "a lost minus": ("индекс 1", "an index of -1", "number / -1 / 1"),
    "a minus too many": ("index -1", "index 1", "number / 1 / -1"),
    "a bracket": ("da [0, Axis]", "from [0, Axis)", "range / [0, Axis) / [0, Axis]"),
    "a bound": ("da [1, Axis)", "from [0, Axis)", "range / [0, Axis) / [1, Axis)"),
    "a transliterated bound": (
        "[1, индицестенсор. DimensionCount]",
        "[1, IndicesTensor.DimensionCount]",
        "range / [1, IndicesTensor.DimensionCount] / [1, индицестенсор.DimensionCount]",
    ),
    "a lost range": ("im Bereich", "ranging [0, Axis)", "range / [0, Axis) / nothing"),
    "a list": ("размеры {1,4,5}", "sizes {1,4,6}", "code / {1,4,6} / {1,4,5}"),
    "a separator in a list": ("{1.4}", "{1,4}", "code / {1,4} / {1.4}"),
    "a formula": ("ist «Sizes[i] * Axis»", "is «Sizes[i] + Axis»", "code / Sizes[i] + Axis / nothing"),
}


@pytest.mark.parametrize(("shown", "original"), GOOD.values(), ids=GOOD)
def test_what_a_translator_may_do_is_no_finding(shown: str, original: str) -> None:
    assert told(page_on(shown, original)) == []


@pytest.mark.parametrize(("shown", "original", "expected"), BAD.values(), ids=BAD)
def test_what_must_be_kept_is_found_once_where_it_is_not(shown: str, original: str, expected: str) -> None:
    check, part, found = expected.split(" / ")
    (finding,) = check_translation(page_on(shown, original))
    assert finding.id == f"translation-{check}:GATHER:members/Axis/{part.replace(' ', '')}"
    assert finding.found == found
    assert finding.place == PLACE
    assert finding.fragment == emphasised(shown)[0]
    assert finding.against == "original"
    assert emphasised(original)[0] in finding.why
    assert finding.severity is next(s.severity for s in checks().values() if s.name == f"translation-{check}")


@pytest.mark.parametrize(
    ("shown", "original", "expected"),
    [
        # Transliterated names go to the name that each sounds like.
        (
            "«Индицестенсор», «инпуттенсор» и «аутпуттенсор»",
            "«OutputTensor», «IndicesTensor» and «InputTensor»",
            {
                ("Индицестенсор", "IndicesTensor"),
                ("инпуттенсор", "InputTensor"),
                ("аутпуттенсор", "OutputTensor"),
            },
        ),
        # A name that was cut is not taken for another one, nor is what is left of one.
        (
            "IndicesTensor und InputTensor",
            "InputTensor.Sizes and IndicesTensor.Sizes",
            {("InputTensor", "InputTensor.Sizes"), ("IndicesTensor", "IndicesTensor.Sizes")},
        ),
        (
            "wie IndicesTensor",
            "as InputTensor.Sizes and IndicesTensor.Sizes",
            {("nothing", "InputTensor.Sizes"), ("IndicesTensor", "IndicesTensor.Sizes")},
        ),
    ],
)
def test_of_several_names_each_is_told_as_what_it_became(
    shown: str, original: str, expected: set[tuple[str, str]]
) -> None:
    assert {(found, name) for _, found, name in told(page_on(shown, original))} == expected


def test_the_same_fault_twice_in_a_section_has_two_ids() -> None:
    page = page_on("инпуттенсор и инпуттенсор", "InputTensor and InputTensor", "remarks")
    first = "translation-name:GATHER:remarks/InputTensor"
    assert [finding.id for finding in check_translation(page)] == [first, f"{first}#2"]


@pytest.mark.parametrize(
    ("shown", "original", "role", "check", "severity", "found"),
    [
        ("директмл. h", "directml.h", "cell", "cell-name", Severity.ERROR, "директмл. h"),
        ("«Achse»", "«Axis»", "heading", "cell-name", Severity.ERROR, "Achse"),
        ("директмл. h", "directml.h", "sentence", "name", Severity.WARNING, "директмл. h"),
        ("", "The axis to gather along.", "sentence", "lost-text", Severity.WARNING, "nothing"),
        ("", "The axis to gather along.", "heading", "lost-text", Severity.WARNING, "nothing"),
        ("", "The axis to gather along.", "cell", "lost-cell", Severity.ERROR, "nothing"),
        ("инпуттенсор " * 500, "InputTensor " * 500, "sentence", "too-long", Severity.NOTE, None),
    ],
)
def test_what_a_cell_or_heading_lost_weighs_more_than_what_a_sentence_did(
    shown: str, original: str, role: str, check: str, severity: Severity, found: str | None
) -> None:
    (finding,) = check_translation(page_on(shown, original, role=role))
    assert (finding.check, finding.severity) == (f"translation-{check}", severity)
    assert found is None or finding.found == found
    assert shown or finding.expected == original


ORIGINALS = ("InputTensor", "Input", "4 to 5", "FLOAT32, FLOAT16")


def table_page(*cells: str, original: tuple[str, ...] = ORIGINALS) -> Page:
    row = level_row_of(42, *cells, originals=original)
    table = next(table for table in page_of("GATHER").tables if table.level == "3_0")
    passages = (Passage("support/3_0", "cell", cell) for cell in row.cells)
    return page_with(*passages, tables=(msgspec.structs.replace(table, rows=(row,)),))


@pytest.mark.parametrize(
    ("kind", "counts", "types", "original"),
    [
        ("Eingabe", "4 bis 5", "FLOAT32, FLOAT16", "Input"),
        ("Input", "4, 5", "FLOAT16, FLOAT32", "Input"),
        ("Input", "4 až 5", "FLOAT32, FLOAT16", "Input"),
        ("Optionale Eingabe", "4 to 5", "FLOAT32, FLOAT16", "Optional input"),
    ],
    ids=["translated", "as a list, in another order", "in words that are not known", "an input that is more"],
)
def test_a_row_that_means_the_same_is_no_finding(kind: str, counts: str, types: str, original: str) -> None:
    page = table_page("InputTensor", kind, counts, types, original=("InputTensor", original, *ORIGINALS[2:]))
    assert told(page) == []


TYPES = "FLOAT32, FLOAT16"


@pytest.mark.parametrize(
    ("cells", "check", "found", "expected"),
    [
        (("инпуттенсор", "Input", "4 to 5", TYPES), "tensor", "инпуттенсор", "InputTensor"),
        (("InputTensor", "Ausgabe", "4 to 5", TYPES), "kind", "Ausgabe (Output)", "Input"),
        (("InputTensor", "Eimer", "4 to 5", TYPES), "kind-word", "Eimer", "a word for input"),
        (("InputTensor", "Input", "4 to 6", TYPES), "dimension-counts", "4 to 6", "4 to 5"),
        (("InputTensor", "Input", "4 až 6", TYPES), "dimension-counts", "4 až 6", "4 to 5"),
        (("InputTensor", "Input", "4 to 5", "FLOAT32, ЗНАЧЕНИЕМ"), "data-types", "ЗНАЧЕНИЕМ", "FLOAT16"),
        (("InputTensor", "Input", "4 to 5", "FLOAT32"), "data-types", "no FLOAT16", "FLOAT16"),
        (("InputTensor", "Input", "4 to 5", f"{TYPES}, INT8"), "data-types", "INT8", "no INT8"),
        (("InputTensor", "Input", "4 to 5", ""), "lost-cell", "nothing", TYPES),
    ],
)
def test_every_cell_of_a_row_is_compared(cells: tuple[str, ...], check: str, found: str, expected: str) -> None:
    (finding,) = check_translation(table_page(*cells))
    assert (finding.found, finding.expected) == (found, expected)
    assert finding.id.startswith(f"translation-{check}:GATHER:3_0/InputTensor")


@pytest.mark.parametrize(
    ("text", "faulty"),
    [
        ("Tipo: const DML_TENSOR_DESC *", False),
        ("Type： const DML_TENSOR_DESC *", False),
        ("Тип: const DML_TENSOR_DESC", True),
        ("Тип: DML_TENSOR_DESC*", True),
        ("Тип: const DML_BUFFER_DESC*", True),
        ("Тип: const dml_tensor_desc*", True),
    ],
)
def test_the_type_of_a_field_is_compared_with_its_stars(text: str, faulty: bool) -> None:
    line = Quoted(text, PLACE, "Type: const DML_TENSOR_DESC*")
    member = FieldSection(Quoted("InputTensor", PLACE), text.partition(":")[2].strip(), line)
    found = check_translation(page_with(Passage("members/InputTensor", "sentence", line), members=(member,)))
    assert [finding.id for finding in found] == ["translation-type:GATHER:members/InputTensor"] * faulty


def test_a_sentence_of_nothing_but_names_is_not_compared_name_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    monkeypatch.setattr(translation, "likeness", lambda word, name: compared.append(word) or 0.0)
    names = [f"Input{chr(97 + n // 26)}{chr(97 + n % 26)}Tensor" for n in range(100)]
    page = page_on(" ".join(f"слово{n}" for n in range(100)), "«" + "» «".join(names) + "»")
    assert len(check_translation(page)) >= 100
    assert len(compared) < 100 * 100
    check_translation(page_on("слово и слово", "«InputTensor»"))
    assert compared


def test_a_page_without_an_original_has_no_findings() -> None:
    assert check_translation(page_of("GATHER")) == []


@pytest.mark.parametrize(
    ("word", "name", "alike"),
    [
        ("инпуттенсор", "InputTensor", True),
        ("индицесдименсионкаунт", "IndicesDimensionCount", True),
        ("директмл", "DirectML", True),
        ("인풋텐서", "InputTensor", True),
        ("インデックステンソル", "IndicesTensor", True),
        ("тензорные", "InputTensor", False),
        ("大小", "Sizes", False),
        ("Tensore", "Tensor", False),
        ("uint", "UINT", True),
    ],
)
def test_words_that_sound_like_a_name(word: str, name: str, alike: bool) -> None:
    assert (likeness(word, name) > 0) == alike


WITH_ORIGINAL = ("gather_elements.zh-TW.md", "gather_nd.ru-RU.md", "gather_nd1.it-IT.md", "row_blend.de-DE.md")


def changed_texts(quoted: Quoted) -> Iterator[Quoted]:
    """The text with one name, one number or one level changed, or without anything."""
    yield msgspec.structs.replace(quoted, text="", marked=())
    for name in re.finditer(
        r"(?<![A-Za-z0-9_.])(?:[A-Za-z]+Tensor|DML_FEATURE_LEVEL_3_0|DML_OPERATOR_\w+)\b", quoted.text
    ):
        other = {"DML_FEATURE_LEVEL_3_0": "DML_FEATURE_LEVEL_2_1"}.get(name[0], "Тензор")
        yield msgspec.structs.replace(quoted, text=quoted.text[: name.start()] + other + quoted.text[name.end() :])
    for number in re.finditer(r"(?<![A-Za-z0-9_])\d+", quoted.text):
        more = str(int(number[0]) + 1)
        yield msgspec.structs.replace(quoted, text=quoted.text[: number.start()] + more + quoted.text[number.end() :])


@pytest.mark.parametrize("name", WITH_ORIGINAL)
def test_every_changed_name_and_number_in_the_sentences_of_a_page_is_found(name: str) -> None:
    page = read_page(TESTS / "pages" / name)
    assert told(page) == []
    unfound, count = [], 0
    for index, passage in enumerate(page.passages):
        if not passage.quoted.original or passage.role == "cell" or "Type:" in passage.quoted.original:
            continue
        for changed in changed_texts(passage.quoted):
            passages = (*page.passages[:index], msgspec.structs.replace(passage, quoted=changed))
            count += 1
            if not told(msgspec.structs.replace(page, passages=passages)):
                unfound.append(changed.text)
    assert unfound == []
    assert count > 25
