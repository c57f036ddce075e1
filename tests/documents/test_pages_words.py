"""The languages of the pages: numbers, kinds, headings, lists, levels."""

from __future__ import annotations

import pytest

from dml_conformance.documents.read import words

EIGHT = tuple(range(1, 9))


@pytest.mark.parametrize(
    "text",
    [
        "1 to 8",
        "1至8",
        "1 到 8",
        "从 1 到 8",
        "從1至8",
        "Da 1 a 8",
        "da 1 a 8",
        "от 1 до 8",
        "От 1 до 8",
        "с 1 по 8",
        "1 から 8",
        "1から8まで",
        "1-8",
        "1–8",
        "1 — 8",
        "1 ~ 8",
        "1～8",
        "1〜8",
        "1..8",
        "1 bis 8",
        "von 1 bis 8",
        "1 à 8",
        "De 1 à 8",
        "de 1 a 8",
        "1에서 8까지",
        "od 1 do 8",
        "１ から ８",
        "1 through 8",
        "1, 2, 3, 4, 5, 6, 7, 8",
        "1、2、3、4 から 8",
        "1, 2 to 7 and 8",
    ],
)
def test_one_to_eight(text: str) -> None:
    assert words.numbers(text) == EIGHT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4", (4,)),
        (" 4 ", (4,)),
        ("４", (4,)),
        ("4 to 5", (4, 5)),
        ("2 or 4", (2, 4)),
        ("2, 4", (2, 4)),
        ("2、4", (2, 4)),
        ("2 и 4", (2, 4)),
    ],
)
def test_other_counts(text: str, expected: tuple[int, ...]) -> None:
    assert words.numbers(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "to",
        "1 8",
        "8 to 1",
        "1 to",
        "to 8",
        "1 foo 8",
        "four",
        "FLOAT32",
        "1 to 4294967295",
        "1 to 9999",
        "4 4",
        "-1",
    ],
)
def test_what_names_no_counts(text: str) -> None:
    assert words.numbers(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Input", "Input"),
        ("輸入", "Input"),
        ("输入", "Input"),
        ("入力", "Input"),
        ("Входные данные", "Input"),
        ("Eingabe", "Input"),
        ("Entrada", "Input"),
        ("Output", "Output"),
        ("出力", "Output"),
        ("Выходные данные", "Output"),
        ("Sortie", "Output"),
        ("Saída", "Output"),
        ("Optional input", "Input"),
        ("Entrada opcional", "Input"),
        ("Необязательные входные данные", "Input"),
        ("Inputs", None),
        ("", None),
    ],
)
def test_kinds(text: str, kind: str | None) -> None:
    assert words.kind(text) == kind


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("Syntax", "syntax"),
        ("構文", "syntax"),
        ("成員", "members"),
        ("Члены", "members"),
        ("例", "examples"),
        ("Esempio", "examples"),
        ("可用性", "availability"),
        ("Verfügbarkeit", "availability"),
        ("Tensor 條件約束", "constraints"),
        ("Ограничения тензорные", "constraints"),
        ("Supporto di Tensor", "support"),
        ("Tensor のサポート", "support"),
        ("要件", "requirements"),
        ("Kommentare zum Wetter", None),
    ],
)
def test_headings(heading: str, section: str | None) -> None:
    assert words.by_heading(heading) == section


def test_anchors() -> None:
    assert words.by_anchor("tensor-constraints") == "constraints"
    assert words.by_anchor("-struct-fields") == "members"
    assert words.by_anchor("struct-fields") == "members"
    assert words.by_anchor("example-1-1d-remapping") is None


def test_levels_glued_to_words() -> None:
    assert words.levels_in("DML_FEATURE_LEVEL_4_1和更新版本") == ("4_1",)
    assert words.levels_in("從DML_FEATURE_LEVEL_3_0起、DML_FEATURE_LEVEL_6_4") == ("3_0", "6_4")
    assert words.levels_in("XDML_FEATURE_LEVEL_4_1 DML_FEATURE_LEVEL_ dml_feature_level_3_0") == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("FLOAT32, FLOAT16", ("FLOAT32", "FLOAT16")),
        ("FLOAT32、FLOAT16。", ("FLOAT32", "FLOAT16")),
        ("FLOAT32，FLOAT16", ("FLOAT32", "FLOAT16")),
        ("FLOAT32 FLOAT16", ("FLOAT32", "FLOAT16")),
        ("FLOAT32,, FLOAT16,", ("FLOAT32", "FLOAT16")),
        ("ЗНАЧЕНИЕМ", ("ЗНАЧЕНИЕМ",)),
        ("UINT 32", ("UINT 32",)),
        ("", ()),
    ],
)
def test_names_in_a_list(text: str, names: tuple[str, ...]) -> None:
    assert words.names(text) == names


@pytest.mark.parametrize(
    ("title", "number"),
    [
        ("Example 1. 1D remapping", 1),
        ("範例 3. 2D,軸 1", 3),
        ("例１２：", 12),
        ("Пример 2", 2),
        ("1D remapping", None),
        ("A 2D remapping", None),
        ("Repeats", None),
    ],
)
def test_numbers_of_examples(title: str, number: int | None) -> None:
    assert words.example_number(title) == number


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("要從中讀取的張量，包含索引的張量。", "zh-TW"),
        ("要从中读取的张量，包含索引的张量。", "zh-CN"),
        ("この配列の各値は、入力の次元に対応します。", "ja-JP"),
        ("이 텐서는 입력 텐서와 같은 크기여야 합니다.", "ko-KR"),
        ("Тензор, из которого читаются значения.", "ru-RU"),
        ("The tensor must have the type of the input.", "en-US"),
        ("Il tensore deve avere il tipo della sorgente.", "it-IT"),
        ("Der Tensor und die Indizes müssen gleich sein.", "de-DE"),
        ("Le tenseur doit avoir les dimensions du premier.", "fr-FR"),
        ("Los tensores deben tener el tipo de los otros.", "es-ES"),
        ("xyzzy 1 2 3", None),
        ("", None),
    ],
)
def test_languages(text: str, language: str | None) -> None:
    assert words.language(text) == language


def test_half_width_keeps_the_length() -> None:
    text = "（Ｓｉｚｅｓ：｛１，２｝）、［０］\u3000−1"
    assert words.half_width(text) == "(Sizes:{1,2}),[0] -1"
    assert len(words.half_width(text)) == len(text)
