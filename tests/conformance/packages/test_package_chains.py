"""What a package says of networks from end to end follows from the outputs on record, and is computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from package_support import forge, make, told, verified
from stored_networks import store

from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.reports.model.records import ChainedNetwork, Ending, Phase, Record, Verdict
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.reports.store.results import Store

NAME = "tiny-fp32-b1"
OPERATORS = ("ELEMENT_WISE_ADD", "ACTIVATION_RELU")


class _WrongAfterZeros(ReferenceBackend):
    """Is wrong where a sum of a layer's sizes has zeros among what it reads."""

    def execute(self, desc, level, inputs, outputs):  # type: ignore[no-untyped-def]
        super().execute(desc, level, inputs, outputs)
        is_layer = desc.operator == "ELEMENT_WISE_ADD" and desc.output_tensor.sizes == (1, 2, 3, 4)
        if is_layer and (inputs["a_tensor"].view[:96].view("<u4") == 0).sum() > 4:
            outputs["output_tensor"].view[4] ^= 0x80


@pytest.fixture(scope="module", autouse=True)
def _networks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        store(tmp_path_factory.mktemp("networks"), patch, NAME)
        yield


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("right") / "package"
    return make(folder, ReferenceBackend(), operators=OPERATORS, networks=[NAME])


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrong") / "package"
    return make(folder, _WrongAfterZeros(), operators=OPERATORS, networks=[NAME])


def _otherwise(**changes: object) -> Callable[[Ending], Ending]:
    return lambda ending: replace(ending, chains=tuple(replace(chain, **changes) for chain in ending.chains))


def test_an_honest_package_verifies_be_the_chain_right_or_wrong(package: Path, failed: Path) -> None:
    found, other = verified(package), verified(failed)
    assert (found.verifies, found.outcome) == (True, "conformant"), told(found)
    assert "1 computed again" in {check.name: check.detail for check in found.checks}["chains"]
    assert (other.verifies, other.outcome) == (True, "not conformant"), told(other)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"allowed": 1e-9}, "allowed: expected"),
        ({"error": 1e-3}, "error: expected 0.0, found 0.001"),
        ({"segment": 0.5}, "segment: expected null, found 0.5"),
        ({"outputs": {}}, "expected 'its outputs', found ''"),
        ({"outputs": {"block.bias.out": b"\x00" * 96}}, "elements lie outside of what they may be"),
        ({"outputs": {"other": b"\x00" * 96}}, "expected the outputs block.bias.out, found other"),
        ({"outputs": {}, "reason": "not claimed"}, "expected 'its outputs', found 'not claimed'"),
        ({"failed": "0" * 64}, "expected the record of the layer that failed, and no figures"),
    ],
)
def test_a_chain_that_does_not_follow_is_found(
    package: Path, tmp_path: Path, changes: dict[str, object], expected: str
) -> None:
    found = verified(forge(package, tmp_path / "forged", ending=_otherwise(**changes)))
    assert not found.verifies
    assert expected in told(found)


def test_a_chain_that_is_left_out_is_found(package: Path, tmp_path: Path) -> None:
    forged = forge(package, tmp_path / "forged", ending=lambda ending: replace(ending, chains=()))
    assert 'ending.chains: expected ["tiny-fp32-b1"], found []' in told(verified(forged))


def test_a_failure_cannot_be_left_out_or_made_a_pass(package: Path, failed: Path, tmp_path: Path) -> None:
    with Store(package / RESULTS) as store_:
        assert store_.ending is not None
        right = store_.ending.chains
    hidden = forge(failed, tmp_path / "hidden", ending=lambda ending: replace(ending, chains=right))
    assert "failed in no chain of the ending" in told(verified(hidden))

    def passed(records: list[Record]) -> list[Record]:
        changes = {"verdict": Verdict.PASS, "reason": "", "differences": (), "difference_count": 0, "reproduce": ""}
        return [replace(each, **changes) if each.phase is Phase.CHAINS else each for each in records]

    found = verified(forge(failed, tmp_path / "passed", records=passed, ending=lambda e: replace(e, chains=right)))
    assert "verdict: expected 'one of fail, crash, timeout in chains', found 'pass'" in told(found)


def test_a_chain_that_was_not_executed_has_a_reason_that_follows(package: Path, tmp_path: Path) -> None:
    made_up = ChainedNetwork(NAME, "block.bias, ELEMENT_WISE_ADD: operator ELEMENT_WISE_ADD is not claimed")
    forged = forge(package, tmp_path / "forged", ending=lambda ending: replace(ending, chains=(made_up,)))
    assert "ending.chains: tiny-fp32-b1: expected 'its outputs'" in told(verified(forged))
