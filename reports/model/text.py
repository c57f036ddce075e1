"""Figures, JSON and lines of text as reports show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from dml_conformance.backends.foreign_text import UNPRINTABLE, one_line
from dml_conformance.reports.model.grouping import grouped
from dml_conformance.reports.model.records import (
    NEVER_WRITTEN,
    Caches,
    Difference,
    Record,
    Throughput,
    Verdict,
    at_largest_size,
)
from dml_conformance.spec.rules import Category

SHOWN_SIZES = 8  # of outputs that were timed, in a line
LONGEST_BRIEF = 200  # characters
MOST_TOLD = 1e6  # ULP; what is farther from a value is no inaccurate form of it

# What reading text raises that is no JSON, or JSON of another form than ours; the last one where it is nested too
# deeply, also in a part that nobody asks for.
MALFORMED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def indented_json(value: Any) -> str:
    """JSON, indented by two; characters that must not reach a screen are there as JSON's own escapes."""
    return _escaped(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def _escaped(json: str) -> str:
    """The same JSON, with escapes in place of these characters: it means the same."""
    return UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", json)


def in_lines(lines: Iterable[str]) -> str:
    """Several lines, each with its indentation and, whatever is in it, no more than one."""
    return "\n".join(f"{line[: len(line) - len(line.lstrip(' '))]}{one_line(line)}" for line in lines)


def pretty_json(value: Any, width: int = 88, *, is_spaced: bool = True) -> str:
    """JSON for people: whatever fits on a line is on one line, so that sizes and strides stay together.

    Without spaces on a line a long file is a tenth smaller.
    """
    return _laid_out(value, width, "", 0, is_spaced)


def _laid_out(value: Any, width: int, indent: str, used: int, is_spaced: bool) -> str:
    """`value` in lines of `width`, of which the first has `used` characters already."""
    flat = _flat(value, is_spaced)
    if used + len(flat) <= width or not isinstance(value, dict | list | tuple) or not value:
        return flat
    inner = indent + "  "
    if isinstance(value, dict):
        labels = [f"{_flat(name)}: " for name in value]
        items, brackets = list(value.values()), "{}"
    else:
        labels, items, brackets = [""] * len(value), list(value), "[]"
    lines = [
        inner + label + _laid_out(item, width, inner, len(inner) + len(label), is_spaced)
        for label, item in zip(labels, items, strict=True)
    ]
    return brackets[0] + "\n" + ",\n".join(lines) + "\n" + indent + brackets[1]


def _flat(value: Any, is_spaced: bool = True) -> str:
    text = msgspec.json.encode(value)
    return _escaped((msgspec.json.format(text, indent=0) if is_spaced else text).decode())


def duration(seconds: float | None) -> str:
    """`1 h 05 min`, `2 min 08 s`, `1.2 s`; "" for None."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def count_of(count: int, noun: str) -> str:
    """`1 case`, `1,000 cases`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def counts_text(counts: Mapping[Verdict, int], always: Collection[Verdict] = ()) -> str:
    """`12 pass, 3 fail`: the verdicts that there are, and those that are always told, in their order."""
    found = [verdict for verdict in Verdict if counts.get(verdict) or verdict in always]
    return ", ".join(f"{counts.get(verdict, 0):,} {verdict}" for verdict in found)


def figure(error: float) -> str:
    """`0.546`, `1,940`, `1.2e+09`."""
    return f"{error:,.0f}" if 1000 <= error < 1e6 else f"{error:.3g}"


def claims_text(backend: Mapping[str, Any]) -> str:
    """What a backend claims, in a line: how much, which categories of rules, and of which descriptors if not all."""
    levels, every = backend["levels"], sorted(map(str, Category))
    told = [f"{count_of(len(backend['operators']), 'operator')} at {count_of(len(levels), 'level')}"]
    enforced = sorted(backend["enforces"])
    told.append("every category of rules" if enforced == every else f"categories {', '.join(enforced) or 'none'}")
    if not backend["executes"]:
        told.append("no execution")
    if form := backend.get("form"):
        told.append(f"what has a form in {form}")
    for scope in backend.get("scopes", ()):
        of = ", ".join(scope.get("operators", ())) or "all"
        limits = [f"{name.replace('_', ' ')} {_plain(value)}" for name, value in scope.items() if name != "operators"]
        told.append(f"of {of} {', '.join(limits) or 'everything'}")
    return "; ".join(told)


def _plain(value: Any) -> str:
    """What a scope says of something: a yes or no, a number, several of these, or several by field."""
    if isinstance(value, Mapping):
        return " and ".join(f"{field} {_plain(values)}" for field, values in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " or ".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def part_of_bound(used: float) -> str:
    """`40 %`; of what is far beyond it, or hardly needs any, no more than that."""
    return "more than 1,000 %" if used > 10 else "less than 1 %" if 0 < used < 0.01 else f"{100 * used:.0f} %"


def of_deviation(part: float | None) -> str:
    """`1.2e-06`, a part of the values' standard deviation; what is not below that says nothing, nor what has no end."""
    return figure(part) if part is not None and part < 1 else "says nothing"


def ulp_text(error: float) -> str:
    """`2.5 ULP`."""
    return f"{figure(error)} ULP"


def difference_text(difference: Difference) -> str:
    """`output[0,1]: expected 1.0 0x3c00, got 2.0 0x4000`, and of arithmetic how far that is from the exact value."""
    at = ",".join(map(str, difference.coordinates))
    expected = f"{difference.expected} {difference.expected_bits}".rstrip()
    actual = f"{difference.actual} {actual_bits(difference)}".rstrip()
    return f"output[{at}]: expected {expected}, got {actual}{distance_text(difference)}"


def brief_text(record: Record) -> str:
    """What differs first, if outputs do, and the reason, on one line."""
    texts = (*map(difference_text, record.differences[:1]), record.reason)
    return one_line("; ".join(texts), LONGEST_BRIEF)


def actual_bits(difference: Difference) -> str:
    """The bits that an element holds; "" of one that was never written, where they are others in each run."""
    return "" if difference.actual == NEVER_WRITTEN else difference.actual_bits


def distance_text(difference: Difference) -> str:
    """`, 2.5 ULP from the exact value`, where that is known and says more than that it is far."""
    if difference.ulp is None or difference.ulp >= MOST_TOLD:
        return ""
    return f", {ulp_text(difference.ulp)} from the exact value"


def largest_sizes(rows: Iterable[Throughput]) -> tuple[str, dict[str, list[Throughput]]]:
    """Of the measurements with warm caches those of the largest size that are plausible: their sizes in words, and the
    rows by operator, the slowest first beside the device's copy."""
    timed = [row for row in at_largest_size(rows) if row.caches is Caches.WARM and row.is_plausible]
    sizes = [binary_size(size) for size in sorted({row.output_bytes for row in timed})]
    more = [f"{len(sizes) - SHOWN_SIZES} more sizes"] if len(sizes) > SHOWN_SIZES else []
    by_operator = grouped(timed, attrgetter("operator"))
    return " and ".join([*sizes[:SHOWN_SIZES], *more]), {
        operator: sorted(found, key=attrgetter("fraction_of_copy")) for operator, found in by_operator.items()
    }


def level_ranges(levels: Collection[str], order: Sequence[str]) -> str:
    """Levels as ranges over those of a campaign: `1_0, 3_0 to 6_4`."""
    runs: list[list[str]] = []
    for i, level in enumerate(order):
        if level in levels:
            if runs and i and runs[-1][-1] == order[i - 1]:
                runs[-1].append(level)
            else:
                runs.append([level])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


BETWEEN_EPOCHS = (
    "Every case is executed at an operator's newest level. At the newest of the levels between which nothing changes "
    "for it every case is decided, and a sample executed; at the others a sample is decided, and less of it executed."
)


def executed_texts(executed_at: Iterable[Any]) -> list[str]:
    """Where which operators were executed: `at 2_0, 2_1, 6_4: GATHER, TILE`."""
    return [f"at {', '.join(of.levels) or 'no level'}: {', '.join(of.operators)}" for of in executed_at]


def share_of_copy(row: Throughput, of: str = "") -> str:
    """How fast a measurement is beside the device's copy, with what is to be known of it: `245 % (launch-bound)`.

    None above the copy stands without a reason; earlier releases recorded none.
    """
    share = 100 * row.fraction_of_copy
    told = (f"{share:.2g} %" if share < 10 else f"{share:.0f} %") + of
    caveats = [str(caveat) for caveat in row.caveats] or ["above the one copy that was measured"] * (share > 100)
    return f"{told} ({', '.join(caveats)})" if caveats else told


def binary_size(count: int) -> str:
    """`4 KiB`, `1.5 MiB`, `512 B`; "unknown" for 0."""
    if not count:
        return "unknown"
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 2**power:
            return f"{count / 2**power:.4g} {unit}"
    return f"{count} B"


def rate(per_second: float) -> str:
    """Bytes a second: `2.61 TB/s`, `58.1 GB/s`, `940 MB/s`."""
    for power, letter in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if per_second >= 10**power:
            return f"{per_second / 10**power:.3g} {letter}B/s"
    return f"{per_second:.3g} B/s"


def brief_seconds(seconds: float) -> str:
    """A short time: `8.1 µs`, `24 ms`, `1.2 s`."""
    for power, unit in ((0, "s"), (3, "ms"), (6, "µs")):
        if seconds * 10**power >= 1:
            return f"{seconds * 10**power:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
