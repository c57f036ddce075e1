"""docs/mutation.md, from what is recorded and explained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from record import Explanation, Mutant, survivors

_INTRODUCTION = """
# Mutants of the specification and of what compares

[Strength](strength.md) plants faults in backends and asks whether the suite finds them. Here the faults are planted in
the suite itself: in the specification (`spec/`) and in what compares, judges and guards memory (`conformance/`). Each
*mutant* is one small change of the source. It is *killed* if a test of this project then fails. One that survives shows
a statement that no test holds, or a change that changes nothing. One that takes longer than {timeout:g} s is killed.

[Cosmic Ray]({cosmic_ray}) makes the mutants. mutmut 3 was the other choice, and is
faster for each of them; but it mutates the bodies of functions alone, and leaves out those under a decorator. Most of
the specification stands outside: level tables, the rules' bounds and preconditions, fields. Cosmic Ray mutates whole
files. Of its operators all are used that need no arguments, but of the 188 that swap one comparison or arithmetic
operator for another only those of `tests/mutation/config.toml`. To these come eight of our own for code that declares
(`tests/mutation/declarations.py`): they drop an argument that has a name, the id of a rule, an element of a list or
table, or a data type; they take the next feature level or the next category; they return nothing, and turn `in` into
`not in`.

Not mutated are texts, for no rule rests on a message's words, and annotations, which the type checker holds.
"""

_NOT_MADE = """
Not counted are {count} mutants that Cosmic Ray could not make: it does not replace an exception named with its module.
"""

_HOW = """
## How to run it again

```sh
tox run -e mutation
```

A mutant takes one to seven seconds of a processor core, all of them about two hours; `tox run -e mutation -- run
--workers 16` uses sixteen. A run that is cut short goes on when it is started again, and takes anew only modules that
have changed. After new tests, `--again` tries once more what survived without a reason; more tests kill no fewer. `tox
run -e mutation -- run --only spec/tensor.py` tries some modules, and records nothing. The sessions are in
`build/mutation/sessions`, for Cosmic Ray's `cr-report` and `cr-html` too.

Every mutant runs against the quick tests of its group in `tests/mutation/config.toml`, with the same examples of
Hypothesis each time. The slow tests of this project, which would kill more, have no say.

The run writes `tests/mutation/results.json` and this page, and ends with 1 if a survivor is not explained. To explain
one, add an entry to `tests/mutation/explained.toml`, which is where the reasons above stand; `tox run -e mutation --
report` writes this page anew. `tests/project/test_mutation_record.py` checks that this page is current, that no
survivor is without a reason, and that no reason is without a survivor.

Recorded on {date}, with {versions}.
"""

COSMIC_RAY = "https://cosmic-ray.readthedocs.io"


def page(record: dict[str, Any], explained: Sequence[Explanation]) -> str:
    found = survivors(record)
    reasons = {mutant: next((entry for entry in explained if entry.fits(mutant)), None) for mutant in found}
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    parts = [
        _INTRODUCTION.lstrip().format(cosmic_ray=COSMIC_RAY, timeout=record["timeout"]),
        "\n## Figures\n\n",
        _table(record, reasons),
        _NOT_MADE.format(count=record["not_made"]) if record["not_made"] else "",
        "\n## What survives, and why\n\n",
        *_by_reason(found, reasons, explained),
        _HOW.format(date=record["date"], versions=versions),
    ]
    return "".join(parts)


def _table(record: dict[str, Any], reasons: dict[Mutant, Explanation | None]) -> str:
    left = Counter(mutant.module for mutant, reason in reasons.items() if reason is None)
    rows = [
        (f"`{module}`", counts["killed"], counts["survived"] - left[module], left[module])
        for module, counts in record["modules"].items()
    ]
    rows.append(("all", *(sum(row[column] for row in rows) for column in (1, 2, 3))))
    lines = ["| module | mutants | killed | survive, explained | survive, unexplained |", "| --- " * 5 + "|"]
    lines += [f"| {name} | {k + e + u:,} | {k:,} | {e:,} | {u:,} |" for name, k, e, u in rows]
    return "\n".join(lines) + "\n"


def _by_reason(
    found: Sequence[Mutant], reasons: dict[Mutant, Explanation | None], explained: Iterable[Explanation]
) -> Iterable[str]:
    told = {mutant: reason.reason if reason else "Not explained." for mutant, reason in reasons.items()}
    for text in dict.fromkeys((*(entry.reason for entry in explained), "Not explained.")):
        mutants = [mutant for mutant in found if told[mutant] == text]
        if not mutants:
            continue
        yield f"**{text}**\n\n"
        yield from (f"* {_line(mutant)}\n" for mutant in mutants)
        yield "\n"


def _line(mutant: Mutant) -> str:
    where = f"`{mutant.module}`" + (f", `{mutant.definition}`" if mutant.definition else "")
    was, becomes = _shortened(mutant.was, mutant.becomes)
    return f"{where}: `{was}` becomes `{becomes}`" if becomes else f"{where}: `{was}` is gone"


def _shortened(was: str, becomes: str, context: int = 24) -> tuple[str, str]:
    """Both texts around what differs, cut at spaces."""
    same = 0
    while same < min(len(was), len(becomes)) and was[same] == becomes[same]:
        same += 1
    tail = 0
    while tail < min(len(was), len(becomes)) - same and was[-1 - tail] == becomes[-1 - tail]:
        tail += 1
    start = was.rfind(" ", 0, max(same - context, 0)) + 1

    def cut(text: str) -> str:
        end = text.find(" ", len(text) - tail + context)
        shown = text[start:] if end < 0 else text[start:end]
        return ("… " if start else "") + shown.strip() + ("" if end < 0 else " …")

    return cut(was), cut(becomes)
