"""Networks executed as chains: each layer on what those before left, and what the outputs come to from end to end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from backend_files import write_backend
from commands import certificate, invoke, records_of
from stored_networks import store

from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.chains import OutputsMisfit, chained_network, execute_chains
from dml_conformance.conformance.campaign.driver import certify
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.exchange.networks.stored import network_names
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.records import ChainedNetwork, Ending, Phase, Record, Throughput, Verdict
from dml_conformance.reports.model.stream import Consumer
from dml_conformance.reports.store.resuming import PartialRun
from dml_conformance.spec.accuracy import DIRECTML
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import outputs


class _Unlike(ReferenceBackend):
    """Makes the last bits of each result otherwise, as much as is right of most."""

    def execute(self, desc, level, inputs, outputs_):  # type: ignore[no-untyped-def]
        super().execute(desc, level, inputs, outputs_)
        if desc.operator in ("CONVOLUTION", "GEMM"):
            numbers = outputs_["output_tensor"].view[: outputs(desc)[0].tensor.total_tensor_size_in_bytes].view("<u4")
            numbers ^= 1


class _WrongAfterZeros(ReferenceBackend):
    """Is wrong where an input of a sum has zeros, as what comes of a ReLU has."""

    def execute(self, desc, level, inputs, outputs_):  # type: ignore[no-untyped-def]
        super().execute(desc, level, inputs, outputs_)
        if desc.operator == "ELEMENT_WISE_ADD" and not inputs["a_tensor"].view[:96].view("<f4").all():
            outputs_["output_tensor"].view[4] ^= 0x80


def _executed(backend: ReferenceBackend, name: str, level: Level = HIGHEST) -> list[Record | ChainedNetwork]:
    return list(execute_chains(Judge(backend, "mine"), [name], level))


@pytest.mark.parametrize("name", network_names())
def test_the_reference_is_its_own_chain_from_end_to_end(name: str) -> None:
    (found,) = _executed(ReferenceBackend(), name)
    assert isinstance(found, ChainedNetwork)
    assert (found.network, found.reason, found.failed, found.error) == (name, "", "", 0.0)
    assert found.is_whole


def test_what_is_carried_through_says_something_of_some_networks_and_of_others_from_one_normalization_to_the_next() -> (
    None
):
    (short,), (deep,) = (_executed(ReferenceBackend(), f"{name}-fp32-b1") for name in ("yolox-s-head", "bert-base"))
    assert isinstance(short, ChainedNetwork)
    assert isinstance(deep, ChainedNetwork)
    assert short.is_bounded
    assert 0 < (short.allowed or 1) < 1e-3
    assert not deep.is_bounded
    assert 0 < (deep.segment or 1) < 1e-2
    assert deep.segment_end == "layer.0.attention.softmax"


def test_an_error_is_beside_the_deviation_of_the_outputs_and_within_what_is_allowed() -> None:
    (found,) = _executed(_Unlike(), "yolox-s-head-fp32-b1")
    assert isinstance(found, ChainedNetwork)
    assert found.is_whole
    assert 0 < (found.error or 0) < (found.allowed or 0)


def test_outputs_that_no_right_backend_leaves_are_told() -> None:
    (found,) = _executed(ReferenceBackend(), "yolox-s-head-fp32-b1")
    assert isinstance(found, ChainedNetwork)
    ((name, memory),) = found.outputs.items()
    wrong = bytearray(memory)
    wrong[3] ^= 0x80
    with pytest.raises(OutputsMisfit, match="1 of 672 elements lie outside"):
        chained_network(found.network, {name: bytes(wrong)}, DIRECTML)
    with pytest.raises(OutputsMisfit, match="expected 2688 bytes, found 4"):
        chained_network(found.network, {name: memory[:4]}, DIRECTML)


def test_a_layer_that_is_wrong_on_what_the_ones_before_left_is_told_with_what_it_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, monkeypatch, "tiny-fp32-b1")
    record, found = _executed(_WrongAfterZeros(), "tiny-fp32-b1")
    assert isinstance(record, Record)
    assert (record.verdict, record.phase, record.operator) == (Verdict.FAIL, Phase.CHAINS, "ELEMENT_WISE_ADD")
    assert record.case_json["origin"] == "model/tiny-fp32-b1: block.bias"
    assert record.case_json["data"]["ATensor"]["pattern"] == "explicit-bits"
    assert isinstance(found, ChainedNetwork)
    assert found.reason == "block.bias, ELEMENT_WISE_ADD: OutputTensor: 1 of 24 elements differ"
    assert (found.failed, found.is_whole, found.error) == (record.case, False, None)


class _Kept(Consumer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Record | EncodedRecord] = []
        self.units: list[str] = []
        self.endings: list[Ending] = []

    def record(self, record: Record | EncodedRecord) -> None:
        self.told.append(record)

    def mark(self, unit: str) -> None:
        self.units.append(unit)

    def finish(self, ending: Ending) -> None:
        self.endings.append(ending)


@dataclass(frozen=True)
class _Begun(PartialRun):
    """All of a run but its end."""

    kept: _Kept = field(kw_only=True)

    def records(self) -> Iterator[Record]:
        return (record.whole() for record in self.kept.told)

    def throughputs(self) -> tuple[Throughput, ...]:
        return ()

    @property
    def units(self) -> frozenset[str]:
        return frozenset(self.kept.units)


def test_of_a_run_that_goes_on_at_its_end_the_chains_are_there_and_a_failure_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, monkeypatch, "tiny-fp32-b1")
    budget = replace(BUDGETS["quick"], search=1, sweep=0)

    def run(begun: PartialRun | None = None) -> _Kept:
        kept, judge = _Kept(), Judge(_WrongAfterZeros(), "mine")
        operators = ("ELEMENT_WISE_ADD", "ACTIVATION_RELU")
        certify(Engine(judge, operators, [Level.L1_0], budget, 0, network_names=["tiny-fp32-b1"]), kept, begun)
        return kept

    first = run()
    again = run(_Begun(tmp_path, tmp_path, kept=first))
    (failed,) = [record for record in first.told if record.traits.phase is Phase.CHAINS]
    assert [chain.failed for chain in first.endings[0].chains] == [failed.traits.case]
    assert again.endings[0].chains == first.endings[0].chains
    assert [record.traits.case for record in again.told] == [record.traits.case for record in first.told]


def test_a_level_that_lacks_a_layer_has_no_chain() -> None:
    (found,) = _executed(ReferenceBackend(), "mobilenetv3-large-fp32-b1", Level.L6_0)
    assert isinstance(found, ChainedNetwork)
    assert found.reason == "hardswish_0: breaks ACTIVATION_HARD_SWISH.introduced-in at 6_0"
    assert not found.failed


def test_a_network_with_a_node_that_is_no_layer_is_no_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path, monkeypatch, "partly-fp32-b1")
    assert _executed(ReferenceBackend(), "partly-fp32-b1") == [
        ChainedNetwork("partly-fp32-b1", "not every node is a layer")
    ]


def test_a_chain_that_fails_makes_the_run_fail_and_its_case_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "networks").mkdir()
    store(folder, monkeypatch, "tiny-fp32-b1")
    wrong = """
        def execute(self, desc, level, inputs, outputs):
            super().execute(desc, level, inputs, outputs)
            is_layer = desc.operator == "ELEMENT_WISE_ADD" and desc.output_tensor.sizes == (1, 2, 3, 4)
            if is_layer and (inputs["a_tensor"].view[:96].view("<u4") == 0).sum() > 4:
                outputs["output_tensor"].view[4] ^= 0x80
    """
    name = write_backend(tmp_path, wrong)
    scope = ("--models", "tiny-fp32-b1", "--budget", "quick", "--cases", "0", "--level", "3_0")
    result = invoke("certify", "--backend", name, *scope, "--no-throughput", "--out", tmp_path / "out")
    assert result.exit_code == 1, result.output
    assert "tiny-fp32-b1, as a chain: block.bias, ELEMENT_WISE_ADD: OutputTensor: 1 of 24 elements differ" in " ".join(
        result.output.split()
    )
    (network,) = certificate(tmp_path / "out")["networks"]
    (record,) = [each for each in records_of(tmp_path / "out") if each.phase is Phase.CHAINS]
    assert network["verdict"] == "wrong"
    assert network["chain"]["failed"] == record.case
    assert all(layer["verdict"] == "pass" for layer in network["layers"])
    again = invoke("replay", f"{tmp_path / 'out' / 'results.sqlite'}#{record.case[:12]}", "--backend", name)
    assert again.exit_code == 1, again.output
    page = (tmp_path / "out" / "report.html").read_text()
    assert "wrong at block.bias, ELEMENT_WISE_ADD" in page
