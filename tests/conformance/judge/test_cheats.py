"""Backends that compute nothing, or next to nothing, are found wherever backends are judged: by a campaign, in batches,
by the commands, by the gate, and where a package is run again.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import cheating_backends
import numpy as np
import pytest
from cheating_backends import (
    Cheat,
    SearchesMemory,
    elements,
)
from commands import invoke
from five_operators import FIVE, TileDesc
from gate_runs import run_gate
from judged_tasks import records_left
from msgspec.structs import replace
from package_support import make, told, verified
from sweep_support import sweep

from dml_conformance.backends.base import Execution
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.judge.batch import BatchJudge
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.packages.verify.rerun import Rerun
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="some cheats look for memory in /proc")

CHEATS = {
    name: kind
    for name, kind in vars(cheating_backends).items()
    if isinstance(kind, type) and issubclass(kind, Cheat) and kind not in (Cheat, SearchesMemory)
}
assert len(CHEATS) == 27, "every cheat is taken"
EPOCHS = [(name, level) for name in FIVE for level in operators()[name].epochs]

Isolated = Callable[[str], IsolatedBackend]

each_cheat = pytest.mark.parametrize("cheat", CHEATS)


def name_of(cheat: str) -> str:
    return f"{cheating_backends.__file__}:{cheat}"


def first_failure(records: Iterable[Record]) -> Record | None:
    return next((record for record in records if record.verdict in NOT_CONFORMANT), None)


def campaign(backend: Any, operator: str, level: Level = HIGHEST) -> Iterator[Record]:
    return records_left(Engine(Judge(backend, "cheat"), (operator,), (level,), BUDGETS["quick"], 0))


def twice(count: int) -> list[Case]:
    """Cases of some operators at all levels, and the same once more with other data."""

    def with_other_data(case: Case) -> Case:
        made = {key: each for key, each in (case.data or {}).items() if each.pattern != "explicit"}
        other = {key: replace(recipe, seed=recipe.seed + 1) for key, recipe in made.items()}
        return case if case.data is None else replace(case, data={**case.data, **other})

    return [*(cases := sweep(count)), *map(with_other_data, cases)]


# --- where backends are judged ----------------------------------------------------------------------------------------


@pytest.mark.few(10)
@pytest.mark.parametrize(("operator", "level"), [*EPOCHS, *((name, HIGHEST) for name in operators())])
def test_undoing_the_poison_is_found_everywhere(operator: str, level: Level) -> None:
    assert first_failure(campaign(cheating_backends.UndoesThePoison(), operator, level)) is not None


@pytest.mark.parametrize("operator", FIVE)
@pytest.mark.parametrize("cheat", [name for name, kind in CHEATS.items() if not issubclass(kind, SearchesMemory)])
def test_a_campaign_finds_it(cheat: str, operator: str) -> None:
    assert first_failure(campaign(CHEATS[cheat](), operator)) is not None


@pytest.mark.few(5)
@each_cheat
def test_it_is_found_in_its_own_process_by_a_campaign_and_by_a_sweep_in_batches(cheat: str, isolated: Isolated) -> None:
    backend = isolated(name_of(cheat))
    assert first_failure(campaign(backend, "TILE")) is not None
    judge = BatchJudge(Judge(backend, "cheat"))
    assert judge.in_batches
    failure = first_failure(judge.records(twice(6 if issubclass(CHEATS[cheat], SearchesMemory) else 60), Phase.SWEEP))
    assert failure is not None
    assert failure.difference_count
    assert backend.tally.lost == 0


# Of the mechanisms, one each.
few_cheats = pytest.mark.parametrize(
    "cheat",
    ["LeavesTheOutput", "UndoesThePoison", "ComputesOneElement", "RemembersTheChange", "CopiesAnElement", "Memoises"],
)


@pytest.mark.parametrize(
    ("cheat", "code", "told"),
    [
        pytest.param("UndoesThePoison", 1, "not conformant", id="cheats"),
        # Though nothing is wrong with what it decides.
        ("Declines", 1, "DESCRIPTOR.claims"),
        ("DeclinesMost", 1, "DESCRIPTOR.claims"),
    ],
)
def test_it_is_not_certified_and_what_was_declined_is_said(cheat: str, code: int, told: str, tmp_path: Path) -> None:
    scope = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--out", str(tmp_path / "out"))
    result = invoke("certify", "--backend", name_of(cheat), *scope)
    assert result.exit_code == code, result.output
    assert re.search(told, " ".join(result.output.split()))


@pytest.mark.few(1, 3)
@few_cheats
def test_the_gate_stops_it(cheat: str, pytester: pytest.Pytester) -> None:
    options = ("--dml-backend", name_of(cheat), "--dml-operator", "TILE", "--dml-level", "3_0", "--dml-examples", "2")
    assert run_gate(pytester, *options).ret is pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of somebody who computes, handed in for one who does not."""
    return make(tmp_path_factory.mktemp("honest") / "package", ReferenceBackend())


@few_cheats
def test_running_a_forged_package_again_finds_it(honest: Path, cheat: str) -> None:
    found = verified(honest, rerun=Rerun(Fraction(1, 2), name_of(cheat), 7, Limits()))
    assert not found.verifies, told(found)
    assert "executed again: expected 'pass accept', found 'fail accept'" in told(found)


# --- what an output holds before it is written ------------------------------------------------------------------------


class Notes(ReferenceBackend):
    """Computes, and notes by what each byte of an output was changed: the bytes of exclusive or, and those of a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.exclusive: defaultdict[int, list[bytes]] = defaultdict(list)
        self.summands: defaultdict[int, list[bytes]] = defaultdict(list)

    def execute(self, desc: Any, level: Any, inputs: Any, outputs: Any) -> None:
        self.execute_batch([Execution(desc, level, inputs, outputs)])

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        for execution in executions:
            found = elements(execution)
            before = found.copy()
            ReferenceBackend.execute(self, *execution)
            self.exclusive[found.size].append((before ^ found).tobytes())
            self.summands[found.size].append((before - found).tobytes())


SIZES = range(500, 540)


def tiles_of_random_bytes() -> list[Case]:
    """Each of another size, and of more than is in its input."""
    cases = []
    for n in SIZES:
        source, target = (TensorDesc.of(DataType.UINT8, (count,)) for count in (n, 2 * n))
        data = {"input_tensor": Recipe("random-bits", n)}
        cases.append(Case.of(TileDesc(source, target, (2,)), HIGHEST, data, rule="TILE.values"))
    return cases


def noted(*, alone: bool) -> Notes:
    notes = Notes()
    records = BatchJudge(Judge(notes, ""), one_by_one=alone).records(tiles_of_random_bytes(), Phase.SWEEP)
    assert first_failure(records) is None
    assert set(map(len, notes.exclusive.values())) <= {2, 3}
    return notes


@pytest.fixture(scope="module", params=[True, False], ids=["alone", "in-batches"])
def two_runs(request: pytest.FixtureRequest) -> tuple[Notes, Notes]:
    return noted(alone=request.param), noted(alone=request.param)


@pytest.mark.parametrize("how", ["exclusive", "summands"])
def test_bytes_of_poison_are_changed_by_anything(two_runs: tuple[Notes, Notes], how: str) -> None:
    """80,000 bytes or more of each run: no change is a common one, in no execution."""
    for notes in two_runs:
        for execution in range(2):
            changes = b"".join(each[execution] for each in getattr(notes, how).values())
            counts = Counter(changes)
            assert counts.most_common(1)[0][1] < len(changes) / 64
            assert len(counts) >= 250


@pytest.mark.parametrize("how", ["exclusive", "summands"])
def test_no_change_of_poison_comes_twice(two_runs: tuple[Notes, Notes], how: str) -> None:
    """Neither within an output nor in another execution, another case, or another run of the same cases: what is seen
    of one helps with no other. By chance eight bytes do so once in a billion runs."""
    pieces = Counter(
        change[start : start + 8]
        for notes in two_runs
        for changes in getattr(notes, how).values()
        for change in changes
        for start in range(0, len(change), 8)
        if len(change[start : start + 8]) == 8
    )
    assert pieces.most_common(1)[0][1] == 1


def test_an_input_may_not_tell_either(two_runs: tuple[Notes, Notes]) -> None:
    """A tile holds everything twice: what two equal elements are changed by says nothing of each other."""
    notes, _ = two_runs
    for n, changes in zip(SIZES, notes.exclusive.values(), strict=True):
        for change in changes:
            halves = np.frombuffer(change, np.uint8).reshape(2, n)
            assert np.count_nonzero(halves[0] == halves[1]) < n / 16


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "in-batches"])
def test_the_answer_does_not_lie_in_shared_memory(isolated: Isolated, alone: bool) -> None:
    """Neither anywhere in what is bound, nor around it, nor in what earlier cases left there."""
    once, twice = (
        first_failure(
            BatchJudge(Judge(isolated(name_of(name)), ""), one_by_one=alone).records(
                tiles_of_random_bytes(), Phase.SWEEP
            )
        )
        for name in ("LooksForTheAnswer", "ExecutesTwice")
    )
    assert once is None
    assert twice is not None
    assert "LookupError: it is there" in twice.reason
