"""The words of the languages: numbers, kinds, headings, lists, levels, and the limits of each."""

from __future__ import annotations

import unicodedata

import pytest
from pages_support import FRONT, STRUCT, parsed

from dml_conformance.documents.read import words

EIGHT = tuple(range(1, 9))


ONE_TO_EIGHT = ("1 to 8", "1至8", "從1至8", "Da 1 a 8", "От 1 до 8", "с 1 по 8", "1から8まで", "1에서 8까지")
COUNTS: dict[tuple[int, ...], tuple[str, ...]] = {
    EIGHT: (*ONE_TO_EIGHT, "1-8", "1 — 8", "1～8", "1..8", "１ から ８", "1、2、3、4 から 8", "1, 2 to 7 and 8"),
    (4,): (" 4 ", "４"),
    (4, 5): ("4 to 5",),
    (2, 4): ("2 or 4", "2、4", "2 и 4"),
    (12, 13, 14, 15, 16): ("12 to 16",),
    (32, 33, 34): ("32 to 34",),
    (8, 64): ("8 or 64",),
    (32, 64, 96, 128): ("32, 64, 96 and 128",),
}


@pytest.mark.parametrize(("counts", "text"), [(counts, text) for counts, texts in COUNTS.items() for text in texts])
def test_counts(counts: tuple[int, ...], text: str) -> None:
    assert words.numbers(text) == counts


@pytest.mark.parametrize(
    "text",
    [
        *("", "to", "1 8", "8 to 1", "1 to", "to 8", "1 foo 8", "four", "FLOAT32", "1 to 9999", "4 4", "-1"),
        # The same number twice is a slip of the pen, not a count.
        *("4 to 4", "4, 4", "1, 2 and 2"),
        # Each number is above the one before, not just above the first.
        *("1, 4, 2", "1 to 4, 3", "2 to 6 to 4"),
        # A range that is opened and closed has two bounds.
        *("從 4 之間", "から 4 まで", "from 4 以下"),
        # Too many to be meant.
        "1, 100 to 999",
    ],
)
def test_what_names_no_counts(text: str) -> None:
    assert words.numbers(text) is None


KINDS: dict[str | None, tuple[str, ...]] = {
    "Input": ("Input", "輸入", "Входные данные", "Optional input", "Entrada opcional", "Необязательные входные данные"),
    "Output": ("Output", "出力", "Saída"),
    None: ("Inputs", ""),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in KINDS.items() for text in texts])
def test_kinds(text: str, kind: str | None) -> None:
    assert words.kind(text)[0] == kind


HEADINGS: dict[str | None, tuple[str, ...]] = {
    "syntax": ("Syntax", "構文"),
    "members": ("成員", "Члены"),
    "examples": ("例", "Esempio"),
    "availability": ("可用性", "Verfügbarkeit"),
    "constraints": ("Tensor 條件約束", "Ограничения тензорные"),
    "support": ("Supporto di Tensor", "Tensor のサポート"),
    "requirements": ("要件",),
    None: ("Kommentare zum Wetter",),
}


@pytest.mark.parametrize(("section", "heading"), [(section, h) for section, found in HEADINGS.items() for h in found])
def test_headings(heading: str, section: str | None) -> None:
    assert words.by_heading(heading) == section


def test_levels_glued_to_words() -> None:
    assert words.levels_in("DML_FEATURE_LEVEL_4_1和更新版本") == ("4_1",)
    assert words.levels_in("從DML_FEATURE_LEVEL_3_0起、DML_FEATURE_LEVEL_6_4") == ("3_0", "6_4")
    assert words.levels_in("XDML_FEATURE_LEVEL_4_1 DML_FEATURE_LEVEL_ dml_feature_level_3_0") == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("FLOAT32,\t,FLOAT16", ("FLOAT32", "FLOAT16")),
        ("FLOAT32,\xa0,FLOAT16", ("FLOAT32", "FLOAT16")),
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
        ("Os tensores devem ter o mesmo tipo; este não.", "pt-BR"),
        ("Jest to indeks, który musi mieścić się w wymiarach tensora.", "pl-PL"),
        ("Tato hodnota, která určuje osu, musí být kladná; je nutná pro tento výpočet.", "cs-CZ"),
        ("Bu tensör, giriş için bir dizin ve eksen içermelidir.", "tr-TR"),
        ("Het type van deze tensor moet gelijk zijn voor een aanroep.", "nl-NL"),
        ("Den tensor som läses måste ha samma typ och storlek för ett anrop.", "sv-SE"),
        ("Az index és egy tengely: ez azt jelenti, hogy meg kell adni.", "hu-HU"),
        # Of several scripts: a character of both Chinese ones, a dot that the Japanese use too, a few kana.
        ("要從中讀取的張量。不准為空，且維數必須與資料類型對應。", "zh-TW"),
        ("Тензор, из которого читаются значения・и ещё", "ru-RU"),
        ("값을 읽을 텐서・그리고 다른 것들이 있다", "ko-KR"),
        ("次元" * 20 + "のはをにとでがもへか" + "次元" * 25, "ja-JP"),
        ("xyzzy 1 2 3", None),
        ("", None),
    ],
)
def test_languages(text: str, language: str | None) -> None:
    assert words.language(text) == language


# --- The tables of words, letters and limits by which a page is read in any language: what they hold, and what not


def test_full_width_forms_are_those_of_unicode() -> None:
    """Each character of the block stands for its ASCII one where Unicode has one for it, and else for itself."""
    for code in range(0xFF00, 0xFFF0):
        plain = unicodedata.normalize("NFKC", chr(code))
        assert words.half_width(chr(code)) == (plain if plain.isascii() else chr(code)), hex(code)


@pytest.mark.parametrize("end", [".", "!", "?", ":", ";", "…", "。", "！", "？", "：", "；", "．"])
@pytest.mark.parametrize("closing", ["", ")", "）", "」", "』", '"', "”", " "])
def test_what_ends_a_sentence(end: str, closing: str) -> None:
    assert words.ends_sentence(f"The size of the tensor{end}{closing}")


@pytest.mark.parametrize("text", ["Tensor support", "InputTensor (input)", "張量支援", "Axis,", "1.0", "「軸」", ""])
def test_what_ends_no_sentence(text: str) -> None:
    assert not words.ends_sentence(text)


ANCHORS = {
    "description": "description",
    "syntax": "syntax",
    "members": "members fields -struct-fields",
    "examples": "examples example",
    "remarks": "remarks -remarks",
    "availability": "availability",
    "constraints": "tensor-constraints",
    "support": "tensor-support",
    "requirements": "requirements",
    "other": "see-also -see-also See-Also",
}


@pytest.mark.parametrize(
    ("section", "anchor"), [(section, a) for section, found in ANCHORS.items() for a in found.split()]
)
def test_anchors_tell_the_sections_of_a_page_in_an_unknown_language(anchor: str, section: str) -> None:
    """Greek is not among the languages whose headings are known. The heading may be a level too low."""
    for marks in ("##", "###"):
        heading = f'{marks} <a name="{anchor}"></a>Επικεφαλίδα'
        page = parsed(f"{FRONT}# DML_X_OPERATOR_DESC\n\n## Examples\n\n{heading}\n\nΜια πρόταση.\n")
        assert [(p.section, p.role) for p in page.passages[-2:]] == [(section, "heading"), (section, "sentence")]


@pytest.mark.parametrize(
    ("start", "remarks", "see_also"),
    [
        (f"{FRONT}# DML_X_OPERATOR_DESC\n\n", "## Remarks\n\n", "## See also\n\n"),
        (f"{FRONT}# DML_X_OPERATOR_DESC\n\n", "## Remarks\n\n", "### Siehe auch:\n\n"),
        (f"DML_X_OPERATOR_DESC structure\n{STRUCT}\n", "備考\n", "関連項目\n"),
        (f"DML_X_OPERATOR_DESC structure\n{STRUCT}\n", "Uwagi\n", "Zobacz też\n"),
    ],
)
def test_what_to_see_also_is_no_remark(start: str, remarks: str, see_also: str) -> None:
    page = parsed(f"{start}{remarks}One.\n{see_also}DML_Y_OPERATOR_DESC\n")
    assert [remark.text for remark in page.remarks] == ["One."]
    assert (page.passages[-1].section, page.passages[-1].quoted.text) == ("other", "DML_Y_OPERATOR_DESC")


@pytest.mark.parametrize(
    ("header", "holds"),
    [
        ("Tensor", "tensor"),
        ("張量", "tensor"),
        ("テンソル", "tensor"),
        ("Тензор", "tensor"),
        ("Kind", "kind"),
        ("Тип:", "kind"),
        ("Dimensions", "dimensions"),
        ("Supported dimension counts", "dimension_counts"),
        ("Ｓｕｐｐｏｒｔｅｄ ｄａｔａ ｔｙｐｅｓ", "data_types"),
        ("Tensors of the call", None),
        ("", None),
    ],
)
def test_what_columns_hold(header: str, holds: str | None) -> None:
    assert words.column(header) == holds


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Tensor Kind Supported dimension counts Supported data types",
            [
                ("Tensor", "tensor"),
                ("Kind", "kind"),
                ("Supported dimension counts", "dimension_counts"),
                ("Supported data types", "data_types"),
            ],
        ),
        ("Tensor\t  Tipo Dimensioni ", [("Tensor", "tensor"), ("Tipo", "kind"), ("Dimensioni", "dimensions")]),
        ("張量 種類 支援的資料類型", [("張量", "tensor"), ("種類", "kind"), ("支援的資料類型", "data_types")]),
        ("Kind", [("Kind", "kind")]),
        ("", []),
        # A word that only starts as a header does is none, and one that is unknown leaves all of them in doubt.
        ("TensorType Kind", []),
        ("Tensor Kindness", []),
        ("Tensor TypeTensor", []),
        ("Tensor Kind Colour", []),
    ],
)
def test_headers_run_together(line: str, expected: list[tuple[str, str]]) -> None:
    assert [(line[start:end], holds) for start, end, holds in words.columns_in(line)] == expected


def test_headers_with_a_ligature_are_not_cut_elsewhere() -> None:
    """`ﬆ` is one character, and two where case does not count: places in one text are none in the other."""
    line = "Tensor Unterﬆützte Datentypen Art"
    found = [line[start:end] for start, end, _ in words.columns_in(line)]
    assert found in ([], ["Tensor", "Unterﬆützte Datentypen", "Art"])


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("InputTensor Input", "Input"),
        ("OutputTensor 輸出", "輸出"),
        ("InputTensor Входные данные ", "Входные данные "),
        ("IndicesTensor Dane wejściowe", "Dane wejściowe"),
        ("ＩｎｐｕｔＴｅｎｓｏｒ\u3000Ｉｎｐｕｔ", "Ｉｎｐｕｔ"),
        *((text, None) for text in ("Input", "輸出", "OutputTensor", "Input tensor", "DataInput", "")),
    ],
)
def test_a_kind_behind_the_name(text: str, last: str | None) -> None:
    start = words.kind_at_end(text)
    assert (None if start is None else text[start:]) == last


@pytest.mark.parametrize("name", ["Maß", "İndeks", "ﬁlter"])
def test_a_kind_is_not_cut_elsewhere(name: str) -> None:
    """These names are longer where case does not count: places in one text are none in the other."""
    text = f"{name} Eingabe"
    start = words.kind_at_end(text)
    assert start is None or text[start:] == "Eingabe"


@pytest.mark.parametrize(
    ("letters", "language"), [("ァヿ", "ja-JP"), ("ぁん", "ja-JP"), ("가힣", "ko-KR"), ("ЀӾӿ", "ru-RU")]
)
def test_the_letters_of_a_script(letters: str, language: str) -> None:
    """From the first of Unicode's block to the last: each is a letter of the script as any other."""
    assert {words.language(letter * 30) for letter in letters} == {language}
