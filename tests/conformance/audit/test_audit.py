"""`spec audit`: with libraries that are made up here, and with the real one where it is installed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from directml_fakes import library_or_skip, tile
from five_operators import GatherDesc, TileDesc
from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Binding, Capabilities, Unsupported
from dml_conformance.backends.directml import DirectmlBackend, DirectmlError, LibraryCrash
from dml_conformance.backends.directml.library import OVERRIDE
from dml_conformance.conformance.audit import audit as audit_module
from dml_conformance.conformance.audit.audit import Audit, AuditPart, Standing, audit
from dml_conformance.conformance.audit.tables import Ask, Aspect, TableFindings, hold_tables
from dml_conformance.conformance.cli import main
from dml_conformance.conformance.cli.errors import Exit
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.divergences import divergences
from dml_conformance.spec.levels import Level
from dml_conformance.spec.observations import observations
from dml_conformance.spec.operator import OperatorDesc, slots
from dml_conformance.spec.registry import operators
from dml_conformance.spec.rules import DESCRIPTOR_CATEGORIES
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, Reading, decide
from dml_conformance.strategies.boundaries import boundary_cases

LEVEL = Level.L6_2
# What is observed of single descriptors is this as well; that the table has what none may have, only tables show.
SHOWN_BY_TABLES = "DIV-filter-zero-point-as-its-scale"
SEVERAL = 200  # random descriptors of one operator
Decide = Callable[[OperatorDesc], "str | None"]


class FakeLibrary:
    """A library as it is on record: by the specification, the observations and the divergences of its level.

    Args:
        level: its own.
        but: what it does differently; None leaves it as it is on record.
        without: divergences that it does not show.
    """

    def __init__(self, level: Level = LEVEL, but: Decide = lambda desc: None, without: tuple[str, ...] = ()) -> None:
        self.level = level
        self.but = but
        self.shows = [
            known for known in divergences().values() if level.label in known.libraries and known.id not in without
        ]
        self.asked: list[OperatorDesc] = []
        self.closed = False

    def capabilities(self) -> Capabilities:
        return Capabilities(
            name="directml",
            device="null device (full)",
            versions={"directml": "made up"},
            levels=tuple(level for level in Level if level <= self.level),
            operators=("GATHER", "TILE", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1"),
            enforces=DESCRIPTOR_CATEGORIES,
            executes=False,
            decides_at=self.level,
        )

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        assert level is self.level
        self.asked.append(desc)
        answer = self.but(desc) or self._on_record(desc)
        if answer == "crash":
            raise LibraryCrash("died of SIGABRT")
        if answer == "not claimed":
            raise Unsupported("cannot be said")
        if answer == "gone":
            raise DirectmlError("the process for the DirectML library ended with code 1")
        return Answer(answer == "accept")

    def _on_record(self, desc: OperatorDesc) -> str:
        decision = decide(desc, self.level, Reading.OBSERVED)
        for answer in ("crash", "reject", "accept"):
            if any(known.explains(desc, decision, answer) for known in self.shows):
                return answer
        return "reject" if decision.outcome is Outcome.REJECT else "accept"

    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        raise AssertionError("an audit executes nothing")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def few_boundaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of TILE at the library's own level, and the tables of two operators; all of them take seconds."""

    def of_tile(level: Level, names: Iterable[str]) -> Iterator[OperatorDesc]:
        for case in boundary_cases("TILE", level) if "TILE" in names else ():
            yield case.desc

    def of_two(ask: Ask, level: Level, names: Iterable[str]) -> Iterator[TableFindings]:
        return hold_tables(ask, level, names or ("TILE", "JOIN"))

    monkeypatch.setattr(audit_module, "boundary_descriptors", of_tile)
    monkeypatch.setattr(audit_module, "hold_tables", of_two)


def audited(library: FakeLibrary, cases: int = 600, names: tuple[str, ...] = ()) -> Audit:
    return audit(library, cases, 0, names=names)


def tiny(**changes: Any) -> TileDesc:
    """The smallest TILE there is, with another input."""
    plain = tile(DataType.FLOAT32, 1)
    return replace(plain, input_tensor=replace(plain.input_tensor, **changes))


# --- what comes of it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [Level.L5_0, Level.L5_2, Level.L6_2], ids=str)
def test_a_library_as_it_is_on_record(level: Level, few_boundaries: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_what_they_alone_show(ask: Ask, level: Level, _: Iterable[str]) -> Iterator[TableFindings]:
        return hold_tables(ask, level, ("TILE", "JOIN", *divergences()[SHOWN_BY_TABLES].operators))

    monkeypatch.setattr(audit_module, "hold_tables", with_what_they_alone_show)
    found = audited(FakeLibrary(level))
    assert found.ok
    assert not found.new
    assert {known.id for known in found.expected} == set(found.recorded)
    shown_by_tables = {name for name, group in found.recorded.items() if not group.count}
    assert shown_by_tables == ({SHOWN_BY_TABLES} if level is Level.L5_0 else set())
    assert found.level is level
    # One that the pages leave open is treated as was observed, or as a divergence on record has it.
    diverging = found.standings[Standing.LEFT_OPEN] - found.as_observed
    assert 0 <= diverging < found.as_observed // 10
    assert found.standings.total() == found.asked
    others = (Standing.STRICTER, Standing.LAXER, Standing.CRASHED)
    assert 0 <= found.explained - sum(found.standings[standing] for standing in others) <= diverging


def gathers_over_two(desc: OperatorDesc) -> str | None:
    """Rejects every valid GATHER with an axis of at least three elements."""
    if isinstance(desc, GatherDesc) and decide(desc, LEVEL).outcome is Outcome.ACCEPT:
        return "reject" if desc.input_tensor.sizes[desc.axis] >= 3 and desc.index_dimensions <= desc.axis + 1 else None
    return None


def test_a_library_that_is_stricter(few_boundaries: None) -> None:
    """The descriptor shown is the smallest of its kind."""
    found = audited(FakeLibrary(but=gathers_over_two), SEVERAL, ("GATHER",))
    assert not found.ok
    ((what, group),) = found.new.items()
    assert (what.operator, what.specification, what.rules) == ("GATHER", Outcome.ACCEPT, ())
    assert (what.answer, what.is_observation) == ("reject", False)
    assert group.count > 1
    assert group.smallest == GatherDesc(
        TensorDesc.of(DataType.FLOAT32, (3,)),
        TensorDesc.of(DataType.UINT32, (1,)),
        TensorDesc.of(DataType.FLOAT32, (1,)),
        0,
        0,
    )


@pytest.mark.parametrize(
    ("rule", "answer", "standing"),
    [("TILE.repeats-count", "accept", Standing.LAXER), ("TENSOR.sizes", "crash", Standing.CRASHED)],
)
def test_a_library_that_is_laxer_or_dies(rule: str, answer: str, standing: Standing, few_boundaries: None) -> None:
    def but(desc: OperatorDesc) -> str | None:
        return answer if desc.operator == "TILE" and decide(desc, LEVEL).rules == (rule,) else None

    found = audited(FakeLibrary(but=but))
    ((what, group),) = found.new.items()
    assert (what.operator, what.specification, what.rules) == ("TILE", Outcome.REJECT, (rule,))
    assert what.answer == answer
    assert found.rows[rule].standings[standing] == group.count > 0


def test_a_new_crash_is_not_made_smaller_into_a_known_one(few_boundaries: None) -> None:
    """With a smaller Axis the library would die as well, but of what is on record."""

    def but(desc: OperatorDesc) -> str | None:
        if not isinstance(desc, GatherDesc) or decide(desc, LEVEL).outcome is not Outcome.ACCEPT:
            return None
        return "crash" if desc.axis > 1 and desc.index_dimensions > 1 else None

    found = audited(FakeLibrary(but=but), SEVERAL, ("GATHER",))
    ((what, group),) = found.new.items()
    assert (what.operator, what.answer) == ("GATHER", "crash")
    assert isinstance(group.smallest, GatherDesc)
    assert (group.smallest.axis, group.smallest.index_dimensions) == (2, 2)


def test_a_library_that_answers_open_questions_otherwise_than_before(few_boundaries: None) -> None:
    def but(desc: OperatorDesc) -> str | None:
        return "accept" if decide(desc, LEVEL).rules == ("TENSOR.output-overlap",) else None

    found = audited(FakeLibrary(but=but))
    assert not found.ok
    assert {(what.specification, what.answer, what.is_observation) for what in found.new} == {
        (Outcome.REJECT, "accept", True)
    }
    assert "TILE" in {what.operator for what in found.new}
    assert found.as_observed < found.standings[Standing.LEFT_OPEN]
    row = found.rows["TENSOR.output-overlap"]
    assert row.left_open == {"accept": row.standings[Standing.LEFT_OPEN]}


@pytest.mark.few(5)
@pytest.mark.parametrize("name", [known for known, d in divergences().items() if LEVEL.label in d.libraries])
def test_a_divergence_that_has_gone(name: str, few_boundaries: None) -> None:
    found = audited(FakeLibrary(without=(name,)), cases=0)
    assert [known.id for known in found.gone] == [name]
    assert not found.ok


@pytest.mark.parametrize(
    ("level", "name"), [(Level.L6_2, "DIV-strided-size-in-32-bits"), (Level.L6_1, "DIV-tile-float64")], ids=str
)
def test_a_divergence_of_other_levels(level: Level, name: str, few_boundaries: None) -> None:
    """The library of 6_2 computes sizes with 64 bits: that one does not is known elsewhere. Nothing is of 6_1."""
    library = FakeLibrary(level)
    assert audited(library, cases=0).ok
    library.shows.append(divergences()[name])
    found = audited(library, cases=0)
    assert [known.id for known in found.unexpected] == [name]
    assert (found.new, found.gone, found.ok) == ({}, [], False)


def test_what_cannot_be_asked_is_counted(few_boundaries: None) -> None:
    def but(desc: OperatorDesc) -> str | None:
        return "not claimed" if desc.operator == "GATHER_ND" else None

    found = audited(FakeLibrary(but=but))
    assert found.ok
    assert found.standings[Standing.NOT_CLAIMED] == found.reasons["cannot be said"] > 0


def test_a_recorded_difference_hides_no_other(few_boundaries: None) -> None:
    """The library rejects small promises of alignment; what else is wrong with a descriptor is asked without them."""
    library = FakeLibrary(but=lambda desc: "accept" if decide(desc, LEVEL).rules == ("TENSOR.flags",) else None)
    result = Audit(library, library.capabilities(), LEVEL)
    result.look_at(tiny(flags=2, guaranteed_base_offset_alignment=8))
    assert library.asked == [tiny(flags=2)]
    assert len(result.new) == 1
    # Where nothing is wrong, or the alignment is, it is asked as it is.
    for desc in (tiny(guaranteed_base_offset_alignment=8), tiny(guaranteed_base_offset_alignment=2)):
        result.look_at(desc)
        assert library.asked[-1] == desc


def test_a_descriptor_that_breaks_two_rules_is_counted_once(few_boundaries: None) -> None:
    library = FakeLibrary()
    result = Audit(library, library.capabilities(), LEVEL)
    result.look_at(replace(tiny(flags=2), repeats=(0,)))
    assert (result.asked, result.standings) == (1, {Standing.AGREES: 1})
    assert set(result.rows) == {"TENSOR.flags", "TILE.repeats"}


# --- what is asked ------------------------------------------------------------------------------------------------


def test_everything_on_record_is_asked_and_nothing_twice(few_boundaries: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "hold_tables", lambda ask, level, names: iter(()))
    library = FakeLibrary()
    audited(library, cases=0)
    assert len(library.asked) == len(set(library.asked))
    asked = {repr(desc) for desc in library.asked}  # in which NaN is NaN
    assert {repr(known.desc) for known in divergences().values()} <= asked
    for observation in observations().values():
        assert {repr(witness.desc) for witness in observation.witnesses} <= asked


def test_boundaries_are_those_of_its_level_and_of_the_last_before_each_change() -> None:
    """GATHER_ND came with 2_1."""
    descs = set(audit_module.boundary_descriptors(Level.L2_1, ("GATHER_ND", "TILE")))
    asked = [level for level in Level if {case.desc for case in boundary_cases("GATHER_ND", level)} <= descs]
    assert asked == [Level.L2_0, Level.L2_1]
    assert {desc.operator for desc in descs} == {"GATHER_ND", "TILE"}


def test_random_descriptors_are_of_three_kinds_and_the_same_each_time() -> None:
    descs = list(audit_module.random_descriptors(LEVEL, 1500, 3, operators()))
    assert len(descs) == 1500
    assert descs == list(audit_module.random_descriptors(LEVEL, 1500, 3, operators()))
    assert descs != list(audit_module.random_descriptors(LEVEL, 1500, 4, operators()))
    decisions = [decide(desc, LEVEL) for desc in descs]
    assert all(decision.outcome is Outcome.ACCEPT for decision in decisions[::3])
    assert all(len(decision.rules) == 1 for decision in decisions[1::3])
    assert {decision.outcome for decision in decisions[2::3]} == set(Outcome)
    for kind in range(3):
        there = {name for name, spec in operators().items() if spec.introduced_in <= LEVEL}
        asked = {desc.operator for desc in descs[kind::3]}
        assert asked == there if kind != 1 else asked <= there  # of more rules than there are descriptors here


def test_of_some_operators_are_boundaries_and_random_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "recorded_descriptors", lambda: iter(()))
    monkeypatch.setattr(audit_module, "hold_tables", lambda ask, level, names: iter(()))
    library, names = FakeLibrary(Level.L5_0), {"FILL_VALUE_CONSTANT", "TILE"}
    audit(library, 60, 0, names=names)
    assert {desc.operator for desc in library.asked[:-60]} == {desc.operator for desc in library.asked[-60:]} == names


def test_nothing_at_random_is_of_operators_that_came_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The boundary cases are asked all the same: the library is to reject them."""
    monkeypatch.setattr(audit_module, "recorded_descriptors", lambda: iter(()))
    monkeypatch.setattr(audit_module, "hold_tables", lambda ask, level, names: iter(()))
    newer, there = "MEAN_VARIANCE_NORMALIZATION2", "TILE"
    assert list(audit_module.random_descriptors(Level.L5_0, 30, 0, (newer,))) == []
    descs = list(audit_module.random_descriptors(Level.L5_0, 30, 0, (newer, there)))
    assert [desc.operator for desc in descs] == [there] * 30
    heard: list[AuditPart] = []
    library = FakeLibrary(Level.L5_0)
    found = audit(library, 30, 0, lambda part, done: heard.append(part), (newer,))
    assert {desc.operator for desc in library.asked} == {newer}
    assert set(heard) == {AuditPart.BOUNDARIES}
    assert found.standings == {Standing.AGREES: found.asked}


def test_who_listens_hears_every_part(few_boundaries: None) -> None:
    heard: list[tuple[AuditPart, int]] = []
    found = audit(FakeLibrary(), 30, 0, lambda part, done: heard.append((part, done)))
    assert list(dict.fromkeys(part for part, _ in heard)) == [
        AuditPart.RECORDED,
        AuditPart.BOUNDARIES,
        AuditPart.RANDOM,
        AuditPart.TABLES,
    ]
    assert heard[-1] == (AuditPart.TABLES, 2)
    assert len(heard) >= found.asked
    assert [table.operator for table in found.tables] == ["TILE", "JOIN"]


def test_a_library_whose_tables_are_others(few_boundaries: None) -> None:
    """TILE is taken without 8-bit integers; nothing else tells, as no descriptor of two types is valid."""

    def but(desc: OperatorDesc) -> str | None:
        small = desc.operator == "TILE" and any(slot.tensor.data_type is DataType.INT8 for slot in slots(desc))
        return "reject" if small else None

    found = audited(FakeLibrary(but=but), cases=0)
    assert not found.ok
    (tile_tables, join_tables) = found.tables
    assert [(d.question.tensor, d.question.aspect, d.question.value) for d in tile_tables.differences if d.allowed] == [
        (name, Aspect.DATA_TYPE, "INT8") for name in ("InputTensor", "OutputTensor")
    ]
    assert tile_tables.agreed == tile_tables.tried - len(tile_tables.differences)
    assert list(found.explained_by.values()).count(None) == 2
    assert {d.question.tensor for d in join_tables.differences} == {"OutputTensor"}, "which the library dies without"


# --- the command --------------------------------------------------------------------------------------------------


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch, library: FakeLibrary) -> Result:
    asked_for: list[str] = []

    def made(device: str) -> FakeLibrary:
        asked_for.append(device)
        return library

    monkeypatch.setattr("dml_conformance.backends.directml.DirectmlBackend", made)
    result = CliRunner().invoke(main, ["spec", "audit", *arguments], env={"COLUMNS": None})
    assert library.closed
    assert asked_for == [arguments[arguments.index("--level") + 1] if "--level" in arguments else ""]
    return result


def test_the_command_tells_what_is_on_record(few_boundaries: None, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("--cases", "300", "--level", "6_2", monkeypatch=monkeypatch, library=FakeLibrary())
    assert result.exit_code == Exit.CONFORMANT
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "made up, level 6_2, null device (full)"
    assert any(line.startswith("valid descriptors ") for line in lines)
    assert any(line.startswith("DIV-alignment-below-16 ACCEPT reject page ") for line in lines)
    assert not any(line.startswith(("NEW", "GONE", "DIV-strided-size-in-32-bits")) for line in lines)
    assert lines[-1] == "agreement outside the divergences on record: 100 %"


def test_the_command_lists_what_is_new_and_what_has_gone(few_boundaries: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For people and for programs."""
    library = FakeLibrary(but=gathers_over_two, without=("DIV-tile-float64",))
    library.shows.append(divergences()["DIV-strided-size-in-32-bits"])
    options = ("--cases", str(SEVERAL), "--operator", "gather")
    result = run(*options, monkeypatch=monkeypatch, library=library)
    assert result.exit_code == Exit.NOT_CONFORMANT
    assert "NEW: GATHER: the specification says ACCEPT, the library's answer is reject; " in result.stdout
    assert "NEW: DIV-strided-size-in-32-bits is on record for 5_0, 5_2, and shows at 6_2 as well" in result.stdout
    assert "GONE: DIV-tile-float64 is on record for 6_2, and does not show any more" in result.stdout
    share = result.stdout.splitlines()[-1].rpartition(": ")[2]
    assert 0 < int(share.removesuffix(" %")) < 100
    written = json.loads(run(*options, "--format", "json", monkeypatch=monkeypatch, library=library).stdout)
    assert (written["format"], written["ok"], written["gone"]) == (1, False, ["DIV-tile-float64"])
    assert written["unexpected"] == ["DIV-strided-size-in-32-bits"]
    assert (written["library"]["name"], written["library"]["level"]) == ("directml", "6_2")
    assert sum(written["standings"].values()) == written["asked"]
    (new,) = written["new"]
    assert (new["operator"], new["specification"], new["answer"]) == ("GATHER", "ACCEPT", "reject")
    assert new["smallest"]["desc"]["InputTensor"]["Sizes"] == [3]
    recorded = {entry["id"]: entry for entry in written["recorded"]}
    assert recorded["DIV-alignment-below-16"]["descriptors"] > 0
    rows = {row["rule"]: row for row in written["rows"]}
    assert rows["TENSOR.output-overlap"]["left_open"]["reject"] > 0
    assert rows[None]["standings"]["agrees"] > 0


def test_the_command_without_a_library_and_with_one_that_breaks_down(
    few_boundaries: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(OVERRIDE, raising=False)
    result = CliRunner().invoke(main, ["spec", "audit"])
    assert result.exit_code == Exit.BAD_INPUT
    assert "run 'dml-conformance directml install'" in result.stderr
    result = run(monkeypatch=monkeypatch, library=FakeLibrary(but=lambda desc: "gone"))
    assert result.exit_code == Exit.BROKEN
    assert "stopped after 0 descriptors: the process for the DirectML library ended" in result.stderr


def test_a_library_by_its_path(few_boundaries: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(OVERRIDE, "another")
    library, options = FakeLibrary(), ("--cases", "0", "--operator", "gather_nd")
    result = run("--library", str(tmp_path), *options, monkeypatch=monkeypatch, library=library)
    assert library.asked[-1].operator == "GATHER_ND"
    assert result.exit_code == Exit.CONFORMANT
    both = CliRunner().invoke(main, ["spec", "audit", "--library", str(tmp_path), "--level", "6_2"])
    assert both.exit_code == Exit.BAD_INPUT
    assert "--library and --level exclude each other" in both.stderr
    assert CliRunner().invoke(main, ["spec", "audit", "--library", "nowhere"]).exit_code == Exit.BAD_INPUT


@pytest.mark.parametrize("level", [Level.L5_0, Level.L6_2], ids=str)
def test_tables_of_named_operators_and_of_what_only_tables_show(level: Level, few_boundaries: None) -> None:
    found = audit(FakeLibrary(level), 0, 0, names=("TILE",))
    others = divergences()[SHOWN_BY_TABLES].operators if level is Level.L5_0 else ()
    assert [table.operator for table in found.tables] == ["TILE", *others]
    assert found.ok


# --- the real library ---------------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.directml
@pytest.mark.parametrize("level", [Level.L5_0, Level.L5_2, Level.L6_2], ids=str)
def test_the_real_library_is_as_on_record(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short audit; `tox run -e audit` has the long one, with the boundary cases of all levels."""
    library_or_skip(level)

    def of_own_level(level: Level, _: Iterable[str]) -> Iterator[OperatorDesc]:
        for operator in ("GATHER", "TILE", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1"):
            for case in boundary_cases(operator, level):
                yield case.desc

    monkeypatch.setattr(audit_module, "boundary_descriptors", of_own_level)
    backend = DirectmlBackend(level.label)
    try:
        found = audit(backend, 3000, 0)
    finally:
        backend.close()
    assert found.ok, found.as_json()
    assert found.standings[Standing.AGREES] > 4000
