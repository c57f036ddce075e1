"""How the languages of the pages write what a reader of pages must know: headings, kinds, ranges, lists, punctuation.

The tables are small on purpose. A page is read by its anchors, originals and order first; a word that is missing here
costs a page in plain text one heading, and no page in Markdown anything.

Source: the headings of the DirectML reference in its published languages.
"""

from __future__ import annotations

import re

# Full-width forms of ASCII, and their ASCII characters; one for one, so that places stay as they are.
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_HALF_WIDTH |= str.maketrans("\u3000、﹐،−‐", " ,,,--")
_DASHES = str.maketrans("‑‒–—〜～~", "-------")

LEVEL = re.compile(r"(?<![A-Za-z0-9_])DML_FEATURE_LEVEL_(\d{1,3}_\d{1,3})(?![0-9])")
_TRAILING = " \t:.。："
_SENTENCE_ENDS = (".", "。", "!", "?", "！", "？", ":", "：", ";", "；", "．", "…")


def half_width(text: str) -> str:
    """The text with full-width punctuation, digits and letters as ASCII; as long as before."""
    return text.translate(_HALF_WIDTH)


def ends_sentence(text: str) -> bool:
    return text.rstrip(')）」』"” ').endswith(_SENTENCE_ENDS)


def levels_in(text: str) -> tuple[str, ...]:
    """The labels of the feature levels in a text, in order: `4_1`, also where glued to other words."""
    return tuple(match.group(1) for match in LEVEL.finditer(text))


def _folded(*words: str) -> frozenset[str]:
    return frozenset(word.casefold() for line in words for word in line.split("|"))


# The headings of a page by section; first in English, then as its translations have them.
_HEADINGS = {
    "syntax": _folded(
        "syntax|語法|语法|構文|구문|синтаксис|sintassi|sintaxis|syntaxe|sintaxe|składnia|sözdizimi",
        "söz dizimi|syntaxis|szintaxis",
    ),
    "members": _folded(
        "members|fields|成員|成员|メンバー|メンバ|멤버|구성원|члены|элементы|поля|участники|membri",
        "miembros|membres|member|mitglieder|membros|elementy członkowskie|członkowie|składowe|členové",
        "üyeler|leden|medlemmar|tagok",
    ),
    "examples": _folded(
        "examples|example|範例|范例|示例|例|例子|使用例|예제|예|примеры|пример|esempi|esempio|ejemplos",
        "ejemplo|exemples|exemple|beispiele|beispiel|exemplos|exemplo|przykłady|przykład|příklady|příklad",
        "örnekler|örnek|voorbeelden|voorbeeld|exempel|példák|példa",
    ),
    "remarks": _folded(
        "remarks|備註|备注|注解|註解|注釈|解説|備考|설명|비고|комментарии|примечания|примечание|замечания",
        "commenti|osservazioni|observaciones|comentarios|remarques|notes|hinweise|bemerkungen|comentários",
        "uwagi|poznámky|açıklamalar|opmerkingen|kommentarer|anmärkningar|megjegyzések",
    ),
    "availability": _folded(
        "availability|可用性|가용성|사용 가능 여부|доступность|disponibilità|disponibilidad|disponibilité",
        "verfügbarkeit|disponibilidade|dostępność|dostupnost|kullanılabilirlik|beschikbaarheid",
        "tillgänglighet|elérhetőség",
    ),
    "constraints": _folded(
        "tensor constraints|tensor 條件約束|張量條件約束|張量限制|tensor 約束|tensor 约束|张量约束",
        "张量限制|テンソル制約|テンソルの制約|tensor の制約|텐서 제약 조건|ограничения тензора",
        "ограничения тензоров|ограничения тензорные|vincoli tensore|vincoli del tensore|vincoli di tensor",
        "vincoli tensor|restricciones de tensor|restricciones del tensor|contraintes de tenseur",
        "contraintes tensor|tensoreinschränkungen|restrições do tensor|restrições de tensor",
        "ograniczenia tensora|omezení tensoru|tensor kısıtlamaları|tensorbeperkingen",
    ),
    "support": _folded(
        "tensor support|tensor 支援|張量支援|tensor 支持|张量支持|tensor のサポート|テンソルのサポート",
        "テンソル サポート|テンソルサポート|텐서 지원|поддержка тензора|поддержка тензоров",
        "поддержка тензорные|supporto di tensor|supporto tensore|supporto del tensore|supporto tensor",
        "compatibilidad con tensor|compatibilidad con tensores|prise en charge du tenseur",
        "prise en charge de tensor|tensorunterstützung|suporte ao tensor|suporte a tensor|obsługa tensora",
        "podpora tensoru|tensor desteği|tensorondersteuning",
    ),
    "requirements": _folded(
        "requirements|規格需求|需求|要求|要件|必要条件|요구 사항|требования|requisiti|requisitos",
        "configuration requise|conditions requises|spécifications|anforderungen|wymagania|požadavky",
        "gereksinimler|vereisten|krav|követelmények",
    ),
    "other": _folded(
        "see also|另請參閱|另请参阅|関連項目|참고 항목|см. также|vedi anche|vedere anche|consulte también",
        "voir aussi|siehe auch|consulte também|confira também|zobacz też|viz také|ayrıca bkz.",
    ),
}

# The anchors that the pages give their headings, which are those of the English words, and the source form's names.
_ANCHORS = {
    "description": "description",
    "syntax": "syntax",
    "members": "members",
    "fields": "members",
    "struct-fields": "members",
    "examples": "examples",
    "example": "examples",
    "remarks": "remarks",
    "availability": "availability",
    "tensor-constraints": "constraints",
    "tensor-support": "support",
    "requirements": "requirements",
    "see-also": "other",
}

_KINDS = {
    "Input": _folded(
        "input|輸入|输入|入力|入力データ|입력|входные данные|ввод|вход|входной|вводимые данные|entrada",
        "entrada de datos|entrée|eingabe|eingang|wejście|dane wejściowe|wejściowe|vstup|vstupní|giriş",
        "girdi|invoer|indata|bemenet",
    ),
    "Output": _folded(
        "output|輸出|输出|出力|出力データ|출력|выходные данные|вывод|выход|выходной|salida|resultados",
        "saída|sortie|ausgabe|ausgang|wyjście|dane wyjściowe|wyjściowe|výstup|výstupní|çıkış|çıktı",
        "uitvoer|utdata|kimenet|uscita",
    ),
}

_OPTIONAL = re.compile(
    r"\b(?:optional[eo]?s?|opcional|opzionale|facultative?|optionnel(?:le)?|optionale[rs]?|необязательн\w+|opcjonaln\w+)\b"
    r"|選用的?|可選的?|可选的?|省略可能な?|オプションの?|선택적"
)

_COLUMNS = {
    "tensor": _folded("tensor|張量|张量|張|张|テンソル|텐서|тензор|тензоры|тензорные|tensore|tenseur|tensör"),
    "kind": _folded(
        "kind|種類|类型|種别|種別|類型|类别|種|種類別|종류|вид|тип|tipo|type|genre|art|typ|rodzaj|druh",
        "tür|soort|slag|variante",
    ),
    "dimensions": _folded(
        "dimensions|維度|维度|次元|ディメンション|차원|измерения|dimensioni|dimensiones|dimensionen|dimensões"
    ),
    "dimension_counts": _folded(
        "supported dimension counts|支援的維度計數|支援的維度數目|支持的维度计数|支持的维数",
        "サポートされているディメンション数|サポートされる次元数|サポートされているディメンションの数",
        "지원되는 차원 수|поддерживаемые счетчики измерений|поддерживаемое количество измерений",
        "поддерживаемое число измерений|conteggi delle dimensioni supportati",
        "conteggi dimensioni supportati|recuentos de dimensiones admitidos",
        "nombre de dimensions prises en charge|nombres de dimensions pris en charge",
        "unterstützte dimensionsanzahl|unterstützte dimensionsanzahlen|contagens de dimensões suportadas",
        "contagens de dimensões com suporte",
    ),
    "data_types": _folded(
        "supported data types|支援的資料類型|支援的資料型別|支持的数据类型|サポートされるデータ型",
        "サポートされているデータ型|サポートされているデータの種類|지원되는 데이터 형식",
        "поддерживаемые типы данных|tipi di dati supportati|tipos de datos admitidos",
        "types de données pris en charge|unterstützte datentypen|tipos de dados suportados",
        "tipos de dados com suporte",
    ),
}

TYPE_WORDS = _folded("type|類型|类型|型|種類|형식|유형|тип|tipo|typ|tür|typen")

_RANGE_WORDS = _folded(
    "to|through|thru|-|..|...|…|至|到|から|ー|до|по|a|al|à|au|bis|do|až|tot|até|ate|ila|ile|til|till|–|에서|부터|〜",
)
# A word before the first bound, and one after the second.
_RANGE_OPENERS = _folded("from|between|da|dal|от|с|de|du|von|od|van|从|從|自|由|entre|zwischen|från|fra|desde|das")
_RANGE_CLOSERS = _folded("まで|까지|以下|arası|の間|之間|之间|間")
_LIST_WORDS = _folded("and|or|,|;|/|и|или|e|o|y|ou|et|und|oder|i|lub|nebo|ve|veya|或|和|及|と|または|및|또는")

_TOKEN = re.compile(r"\d+|\.{2,}|[^\W\d]+|[^\w\s]")
_NUMBERED = re.compile(r"\D{1,40}?(\d{1,4})\s*(?:[.:)]|$)")
_MOST_COUNTS = 64


def by_heading(text: str) -> str | None:
    """The section that a heading names in some language."""
    word = text.strip(_TRAILING).casefold()
    return next((section for section, words in _HEADINGS.items() if word in words), None)


def by_anchor(anchor: str) -> str | None:
    """The section that an anchor (`tensor-support`, `-struct-fields`) names."""
    return _ANCHORS.get(anchor.strip().lstrip("-").casefold())


def kind(text: str) -> str | None:
    """`Input` or `Output` for the word of any language, optional or not; None for another word."""
    word = _OPTIONAL.sub("", half_width(text).casefold()).strip(_TRAILING)
    return next((name for name, words in _KINDS.items() if word in words), None)


def kind_at_end(text: str) -> int | None:
    """Where a kind's word starts that ends the text, after another word; None where none does."""
    folded = half_width(text).casefold().rstrip()
    if len(folded) != len(half_width(text).rstrip()):
        return None
    starts = [
        len(folded) - len(word)
        for words in _KINDS.values()
        for word in words
        if folded.endswith(word) and len(word) < len(folded) and folded[-len(word) - 1].isspace()
    ]
    return min(starts, default=None)


def column(text: str) -> str | None:
    """What a column holds by its header."""
    word = half_width(text).strip(_TRAILING).casefold()
    return next((name for name, words in _COLUMNS.items() if word in words), None)


def columns_in(text: str) -> list[tuple[int, int, str]]:
    """Headers of columns run together in one line: start, end and what each holds, where every one is known."""
    folded = text.casefold()
    if len(folded) != len(text):
        return []
    found: list[tuple[int, int, str]] = []
    at = 0
    while at < len(folded):
        words = [
            (len(word), name)
            for name, group in _COLUMNS.items()
            for word in group
            if folded.startswith(word, at) and (at + len(word) == len(folded) or folded[at + len(word)].isspace())
        ]
        if not words:
            return []
        length, name = max(words)
        found.append((at, at + length, name))
        at += length
        at += len(folded[at:]) - len(folded[at:].lstrip())
    return found


def numbers(text: str) -> tuple[int, ...] | None:
    """The numbers that a cell names: `4`, `1 to 8`, `1至8`, `Da 1 a 8`, `1, 2 and 4`; None where it is not clear."""
    tokens = _TOKEN.findall(half_width(text).translate(_DASHES).casefold())
    if len(tokens) > 3:
        tokens = tokens[tokens[0] in _RANGE_OPENERS : len(tokens) - (tokens[-1] in _RANGE_CLOSERS)]
    if len(tokens) % 2 == 0 or any(not token.isdigit() or len(token) > 4 for token in tokens[::2]):
        return None
    bounds = [int(token) for token in tokens[::2]]
    counts = bounds[:1]
    for bound, separator in zip(bounds[1:], tokens[1::2], strict=True):
        if bound <= counts[-1] or bound - counts[-1] > _MOST_COUNTS:
            return None
        if separator in _RANGE_WORDS:
            counts += range(counts[-1] + 1, bound + 1)
        elif separator in _LIST_WORDS:
            counts.append(bound)
        else:
            return None
    return tuple(counts)


def numbers_start(text: str) -> int:
    """Where the wording of numbers starts whose first digit is at the end of `text`: before a word such as `from`."""
    stripped = text.rstrip()
    word = re.search(r"[^\W\d]+$", stripped)
    if word is not None and word.group().casefold() in _RANGE_OPENERS:
        return word.start()
    return len(text)


def names(text: str) -> tuple[str, ...]:
    """The items of a list, whatever separates them: commas, ideographic commas, semicolons, slashes, white space.

    A word of several ASCII capitals is an item of its own, so that a lost comma does not make two names one.
    """
    items = [item.strip(" .。") for item in re.split(r"[,;/|]", half_width(text))]
    found: list[str] = []
    for item in items:
        words = item.split()
        found += words if len(words) > 1 and all(_NAME.fullmatch(word) for word in words) else [item]
    return tuple(" ".join(item.split()) for item in found if item.split())


_NAME = re.compile(r"[A-Z]+\d+")
_DATA_TYPE = re.compile(r"(?<![A-Za-z0-9_.])(?:U?INT|FLOAT)(?:4|8|16|32|64)(?![A-Za-z0-9_])")


def data_types_in(text: str) -> list[tuple[int, int]]:
    """Where names in the form of DirectML's data types stand: start and end of each."""
    return [match.span() for match in _DATA_TYPE.finditer(text)]


def example_number(title: str) -> int | None:
    """The number that a title gives its example (`Example 2.`, `範例 3.`); None where it gives none."""
    match = _NUMBERED.match(half_width(title))
    return None if match is None else int(match.group(1))


# Words that are frequent in the prose of one language, for a page that does not say what it is written in.
_FREQUENT = {
    "en-US": "the|of|and|this|must|is|to|with",
    "it-IT": "il|di|del|questo|deve|devono|tensore|per|della",
    "es-ES": "el|de|los|este|debe|deben|las|para",
    "fr-FR": "le|les|du|ce|doit|doivent|tenseur|pour|une",
    "de-DE": "der|die|das|und|muss|müssen|dieser|des",
    "pt-BR": "o|os|deve|devem|este|para|das|não",
    "pl-PL": "jest|musi|się|tensora|oraz|który|dla",
    "cs-CZ": "je|musí|tento|která|pro|jsou|hodnota",
    "tr-TR": "bu|ve|bir|için|olmalıdır|tensör",
    "nl-NL": "het|een|van|moet|deze|voor",
    "sv-SE": "och|den|som|måste|för|ett",
    "hu-HU": "az|egy|és|kell|hogy|ez",
}
_FREQUENT_WORDS = {language: frozenset(words.split("|")) for language, words in _FREQUENT.items()}
_TRADITIONAL = frozenset("張維數對輸類種應稱將會這個為與從資據錄後項連續標準執來時條結構語範軸")
_SIMPLIFIED = frozenset("张维数对输类种应称将会这个为与从资据录后项连续标准执来时条结构语范轴")


def language(text: str) -> str | None:
    """The language that a text is written in, told from its letters and frequent words; None where neither tells."""
    letters = [character for character in text[:200_000] if ord(character) > 0xBF]
    kana = sum("\u3040" <= letter <= "\u30ff" for letter in letters)
    hangul = sum("\uac00" <= letter <= "\ud7a3" for letter in letters)
    cyrillic = sum("\u0400" <= letter <= "\u04ff" for letter in letters)
    han = sum("\u4e00" <= letter <= "\u9fff" for letter in letters)
    most = max(kana, hangul, cyrillic, han)
    if most >= 10:
        if kana * 10 > han and kana + han >= max(hangul, cyrillic):
            return "ja-JP"
        if most == hangul:
            return "ko-KR"
        if most == cyrillic:
            return "ru-RU"
        simplified = sum(letter in _SIMPLIFIED for letter in letters)
        traditional = sum(letter in _TRADITIONAL for letter in letters)
        return "zh-TW" if traditional >= simplified else "zh-CN"
    words = re.findall(r"[^\W\d_]+", text[:200_000].casefold())
    counts = {language: sum(word in known for word in words) for language, known in _FREQUENT_WORDS.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] >= 3 else None
