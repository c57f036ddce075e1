"""Numbers from 0 to 10 that a text writes as words, in the languages of the documentation.

A word is told by its beginning, because endings change with case and gender: `zwei`, `zweite`, `zweiten`. Where a
language has one word for a number and for something else (`um`, `ein`: also an article), it counts as the number: it
can only excuse a figure that the text has not got.
"""

from __future__ import annotations

import re
from collections import Counter

from dml_conformance.documents.check.identifiers import numerals

_BEGINNINGS = {
    0: "zero|null|nul|cero|zéro|ноль|нул",
    1: "one$|single$|first$|eins?$|eine[mnrs]?$|erste|uno?$|una$|primer|prim[oai]$|uma?$|primeir|une$|premi"
    "|один|одн|перв|satu$|jeden$|pierwsz|bir$|birinci|첫",
    2: "two$|both$|second$|pair$|zwei|beide|dos$|ambos$|ambas$|segund|dois$|duas$|два$|две$|двух|двум|двой|втор"
    "|оба$|обе|deux|due$|second[oai]$|dwa$|dwie$|dwóch|iki|두$|둘|雙|双",
    3: "three$|third$|drei|dritt|tres$|tercer|três$|terceir|три$|тр[её]х|тр[её]м|трет|trois|tre$"
    "|terz[oai]$|trzy|üç|세$|셋",
    4: "four|vier|cuatro|cuart|quatro|quart[oa]|четыр|четв[её]рт|quatr|quattro|cztery|dört|네$|넷",
    5: "five|fifth|fünf|cinco|quint[oa]|пят|cinq|beş|pięć|다섯",
    6: "six|sechs|seis|шест|sei$|sześć|altı|여섯",
    7: "seven|sieben|siebte|siete|sete$|sétim|сем[ьи]|седьм|sept$|septième|sette|siedem|yedi|일곱",
    8: "eight|acht|ocho|oito|восем|восьм|huit|otto|osiem|sekiz|여덟",
    9: "nine|ninth|neun|nueve|nove|девят|neuf|dziewięć|dokuz|아홉",
    10: "ten$|tenth|zehn|diez|dez$|десят|dix|dieci|dziesięć|열$",
}
_NUMBER = {number: re.compile(rf"(?:{beginnings})") for number, beginnings in _BEGINNINGS.items()}
_NO_SPACES = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")  # scripts in which a word may begin anywhere
_WORD = re.compile(r"[^\W\d_]+")


def written_numbers(text: str) -> Counter[str]:
    """The numbers that words and numerals of a text may stand for, in figures, as often as they do."""
    found = Counter(numerals(text))
    for word in _WORD.findall(text.casefold()):
        for number, beginning in _NUMBER.items():
            is_there = beginning.search(word) if _NO_SPACES.search(word) else beginning.match(word)
            found[str(number)] += is_there is not None
    return found
