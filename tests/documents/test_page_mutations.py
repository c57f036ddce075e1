"""Pages with one fault more: the parser takes them all, and every fault in a table is reported.

A mutation counts as reported if the checks of the page yield a finding that they did not yield before, or if the file
is refused as no page. Run with `-s` to see how many mutations there were of each page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from page_mutations import (
    Mutation,
    example_mutations,
    line_mutations,
    syntax_mutations,
    table_mutations,
)
from places import SHARED, TESTS

from dml_conformance.documents.check import check_pages
from dml_conformance.documents.check.differences import differences
from dml_conformance.documents.check.model import Severity
from dml_conformance.documents.read import Page, PageError, parse_page
from dml_conformance.spec.registry import operators

OWN = sorted(path for path in (TESTS / "pages").iterdir() if path.name != "README.md")
# The published pages are not this project's to ship; where they lie beside the checkout they are mutated too.
PUBLISHED_FOLDER = SHARED / "spec-pages"
PUBLISHED = sorted(path for path in PUBLISHED_FOLDER.glob("*.*") if path.name != "README.md")

own_pages = pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
# The published pages take long, so they come with the slow tests.
all_pages = pytest.mark.parametrize(
    "path",
    [*OWN, *(pytest.param(path, marks=pytest.mark.slow, id=f"published {path.name}") for path in PUBLISHED)],
    ids=lambda path: path.name,
)

Finding = tuple[str, str, str, str]


def findings(page: Page) -> Counter[Finding]:
    """What the checks say of a page, wherever on it."""
    return Counter((f.id, str(f.severity), f.found, f.expected) for f in check_pages([page]).findings)


@cache
def original(path: Path) -> tuple[bytes, Page, Counter[Finding]]:
    data = path.read_bytes()
    page = parse_page(data, path.name)
    return data, page, findings(page)


@own_pages
def test_own_pages_have_no_error(path: Path) -> None:
    assert [finding for finding in original(path)[2] if finding[1] == Severity.ERROR] == []


def is_reported(mutation: Mutation, path: Path) -> bool:
    _, _, before = original(path)
    try:
        after = findings(parse_page(mutation.data, path.name))
    except PageError:
        return True
    # A fault that is gone was one before: such a change repairs the page.
    return bool(after - before) or after < before


def real(mutations: Iterable[Mutation], data: bytes) -> Iterator[Mutation]:
    """Without those that happen to change nothing."""
    return (mutation for mutation in mutations if mutation.data != data)


def some(mutations: Iterable[Mutation], of_each_kind: int) -> list[Mutation]:
    """The first and last of each kind, evenly in between."""
    by_kind: defaultdict[tuple[str, str], list[Mutation]] = defaultdict(list)
    for mutation in mutations:
        by_kind[mutation.kind, mutation.where.rpartition("/")[2]].append(mutation)
    chosen = []
    for of_kind in by_kind.values():
        step = max(1, (len(of_kind) - 1) // max(1, of_each_kind - 1))
        chosen += [*islice(of_kind, 0, None, step)][:of_each_kind]
    return chosen


def can_be_known(mutation: Mutation, page: Page) -> bool:
    """Whether anything on the page or in the registry contradicts a table that was changed.

    That input stands for output, in the text and its original alike, shows in the registry or another table only. A
    page's only table needs no heading: it holds from the operator's introduction.
    """
    known = page.operator in operators() or len(page.tables) > 1
    return known or mutation.kind not in ("input for output, with the original", "heading dropped")


def unreported_in_tables(path: Path, of_each_kind: int | None) -> tuple[list[str], int]:
    """The mutations of a page's tables that nothing is said about, and how many there were."""
    data, page, _ = original(path)
    mutations = [m for m in real(table_mutations(data, page), data) if can_be_known(m, page)]
    if of_each_kind is not None:
        mutations = some(mutations, of_each_kind)
    return [str(mutation) for mutation in mutations if not is_reported(mutation, path)], len(mutations)


def tell(path: Path, what: str, count: int) -> None:
    print(f"{path.name}: {count} {what}, all reported")


@pytest.mark.few(2, 4)
@own_pages
def test_mutations_of_every_kind_in_the_tables_are_reported(path: Path) -> None:
    unreported, count = unreported_in_tables(path, 1)
    assert unreported == []
    assert count > 30
    tell(path, "mutations of tables, one of each kind", count)


@pytest.mark.few(0, 3)
@all_pages
def test_many_mutations_of_the_tables_are_reported(path: Path, is_exhaustive: bool) -> None:
    unreported, count = unreported_in_tables(path, None if is_exhaustive else 5)
    assert unreported == []
    assert count > (200 if is_exhaustive else 150)
    tell(path, "mutations of tables", count)


def is_known_to_something(mutation: Mutation, page: Page) -> bool:
    """Whether anything contradicts a changed declaration, section, interval or level.

    An interval in a tensor's section runs over the dimensions of a formula: only an English original tells of a change.
    A type in a section is held against the syntax block, which the source form of a page does not have.
    """
    if mutation.kind in ("bracket opened or closed", "bound changed") and not page.has_original:
        return "Tensor" not in mutation.where
    return mutation.kind != "type of a section" or bool(page.declarations)


@pytest.mark.few(2, 6)
@all_pages
def test_mutations_of_fields_sections_intervals_and_levels_are_reported(path: Path) -> None:
    data, page, _ = original(path)
    mutations = [m for m in real(syntax_mutations(data, page), data) if is_known_to_something(m, page)]
    assert [str(mutation) for mutation in mutations if not is_reported(mutation, path)] == []
    assert len(mutations) > 20
    tell(path, "mutations of fields, sections, intervals and levels", len(mutations))


def elements(value: object) -> list[object]:
    """The elements of nested lists."""
    return [element for item in value for element in elements(item)] if isinstance(value, list) else [value]


def changes_nothing(mutation: Mutation, page: Page) -> bool:
    """Whether an example is still right: the element is not read, or a dimension of size 1 is counted now or not."""
    for before, after in zip(page.examples, parse_page(mutation.data, page.path).examples, strict=True):
        changed = [name for name, value in after.attributes.items() if value.value != before.attributes[name].value]
        if changed:
            return all(name.endswith("DimensionCount") for name in changed)
        tensors = {tensor.label.text: tensor for tensor in before.tensors}
        for tensor in after.tensors:
            old, output = tensors[tensor.label.text].values, tensors["OutputTensor"].values
            if tensor.label.text == "InputTensor" and tensor.values and old and output and tensor.values != old:
                pairs = zip(elements(old.value), elements(tensor.values.value), strict=True)
                return not {one for one, other in pairs if one != other} & {*elements(output.value)}
    return False


@pytest.mark.few(2, 6)
@all_pages
def test_mutations_of_examples_are_reported(path: Path) -> None:
    data, page, _ = original(path)
    if page.operator not in operators():
        pytest.skip("an operator that is not in the registry is not run")
    mutations = list(real(example_mutations(data, page), data))
    unreported = [mutation for mutation in mutations if not is_reported(mutation, path)]
    assert [str(mutation) for mutation in unreported if not changes_nothing(mutation, page)] == []
    assert len(mutations) - len(unreported) > 20
    print(f"{path.name}: {len(mutations)} mutations of examples, {len(mutations) - len(unreported)} reported")


def test_a_page_beside_itself_before_the_mutation_tells_every_mutation_of_its_tables() -> None:
    path = TESTS / "pages" / "tile.en-US.md"
    data, page, _ = original(path)
    unreported, count = [], 0
    for mutation in some(real(table_mutations(data, page), data), 5):
        count += 1
        try:
            mutated = parse_page(mutation.data, "mutated.md")
        except PageError:
            continue
        if not any(differences([mutated, page])):
            unreported.append(str(mutation))
    assert unreported == []
    assert count > 150


def survives(mutations: Iterable[Mutation], name: str) -> int:
    """Parse and check every mutation; how many. Any exception but the parser's own refusal fails the test."""
    every = list(mutations)
    for mutation in every:
        try:
            check_pages([parse_page(mutation.data, name)])
        except PageError:
            continue
        except Exception as error:
            raise AssertionError(f"{name}, {mutation}: {error!r}") from error
    return len(every)


def lines_lost_doubled_or_moved(path: Path, stride: int) -> int:
    data, _, _ = original(path)
    count = survives(islice(line_mutations(data), 0, None, stride), path.name)
    print(f"{path.name}: {count} pages with a line lost, doubled or moved, no crash")
    return count


@pytest.mark.few(2, 4)
@own_pages
def test_any_line_may_be_lost_doubled_or_moved(path: Path) -> None:
    assert lines_lost_doubled_or_moved(path, 11 if original(path)[1].has_original else 5) > 25


@pytest.mark.few(0, 3)
@all_pages
def test_many_lines_may_be_lost_doubled_or_moved(path: Path, is_exhaustive: bool) -> None:
    assert lines_lost_doubled_or_moved(path, 2 if is_exhaustive else 3) > 50
