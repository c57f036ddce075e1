"""What a campaign says of networks: verdicts, wrong layers by name, times beside the copy's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from report_data import STARTED, campaign, ending, plain, printed, throughputs

from dml_conformance.reports.model.errors import Errors
from dml_conformance.reports.model.networks import NetworkVerdict
from dml_conformance.reports.model.records import (
    ChainedNetwork,
    Network,
    NetworkLayer,
    Phase,
    Record,
    UnmappedNode,
    Verdict,
)
from dml_conformance.reports.model.stream import Consumer
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.page.html import report_html
from dml_conformance.reports.page.report import CampaignReport
from dml_conformance.reports.store.results import Store, StoreError, StoreWriter
from dml_conformance.reports.views.certificate import Certificate
from dml_conformance.reports.views.markdown import markdown

CASES = [plain(number=number).case for number in range(4)]
NODES = [("conv1",), ("layer1.0.relu", "layer1.1.relu", "layer1.2.relu"), ("fc",)]
NAME = "resnet50-fp32-b1"


def layer(number: int, verdict: Verdict = Verdict.PASS, used: float = 0.25) -> Record:
    reason = "" if verdict is Verdict.PASS else "1 element of 8 differs"
    errors = Errors(0.5, ((-4, 8),), used=used)
    return plain(verdict, number, phase=Phase.NETWORKS, reason=reason, errors=errors)


def network(*unmapped: UnmappedNode) -> Network:
    layers = [NetworkLayer(case, plain().operator, nodes) for case, nodes in zip(CASES, NODES, strict=False)]
    return Network(NAME, tuple(layers), unmapped)


def feed(
    consumer: Consumer,
    *records: Record,
    timed: int = 3,
    of: Network | None = None,
    chains: Sequence[ChainedNetwork] = (),
) -> None:
    """A run with a network, of which some layers were timed: 1, 2 and 3 ms, the copy half of it."""
    consumer.start(campaign(networks=(of or network(),)))
    for record in records:
        consumer.record(record)
    (row, *_) = throughputs()
    for number in range(timed):
        seconds = (number + 1) / 1000
        speed = 2 * row.useful_bytes / seconds
        consumer.throughput(replace(row, layer=CASES[number], seconds=(seconds,), copy_bytes_per_second=speed))
    consumer.finish(replace(ending(), chains=tuple(chains)))


def summary_of(
    *records: Record, timed: int = 3, of: Network | None = None, chains: Sequence[ChainedNetwork] = ()
) -> Summary:
    summary = Summary()
    feed(summary, *records, timed=timed, of=of, chains=chains)
    return summary


EVERY = (layer(0), layer(1, used=0.75), layer(2, used=0.5))


def test_a_network_is_right_where_every_layer_passed() -> None:
    (found,) = summary_of(*EVERY).networks()
    assert found.verdict is NetworkVerdict.RIGHT
    assert found.executions == 5
    assert [each.node for each in found.least_accurate(2)] == ["layer1.0.relu and 2 more", "fc"]


def test_the_time_of_a_network_is_the_sum_of_its_layers_as_often_as_they_are_executed() -> None:
    (found,) = summary_of(*EVERY).networks()
    assert found.seconds == pytest.approx((1 + 3 * 2 + 3) / 1000)
    assert found.least_seconds == pytest.approx(found.seconds / 2)
    assert [each.node for each in found.slowest(2)] == ["layer1.0.relu and 2 more", "fc"]


def test_the_time_of_a_network_is_not_told_where_a_layer_was_not_timed() -> None:
    (found,) = summary_of(*EVERY, timed=2).networks()
    assert found.seconds is None


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT])
def test_a_network_is_wrong_where_a_layer_is_whatever_else_is_missing(verdict: Verdict) -> None:
    (found,) = summary_of(layer(0), layer(1, verdict)).networks()
    assert found.verdict is NetworkVerdict.WRONG
    assert [each.node for each in found.wrong] == ["layer1.0.relu and 2 more"]


def test_a_network_is_incomplete_without_a_judged_layer_or_with_a_node_that_is_none() -> None:
    declined = plain(Verdict.NOT_SUPPORTED, 2, phase=Phase.NETWORKS)
    unmapped = UnmappedNode("nms", "NonMaxSuppression", "no operator of DirectML is like it")
    for summary in (
        summary_of(layer(0), layer(1)),
        summary_of(layer(0), layer(1), declined),
        summary_of(*EVERY, of=network(unmapped)),
    ):
        assert summary.networks()[0].verdict is NetworkVerdict.INCOMPLETE


def test_a_waived_layer_is_a_wrong_one_all_the_same() -> None:
    waived = replace(layer(1, Verdict.WAIVED), waived="fail")
    (found,) = summary_of(layer(0), waived, layer(2)).networks()
    assert found.verdict is NetworkVerdict.WRONG


def test_records_of_other_phases_are_no_layers() -> None:
    summary = summary_of(*(replace(record, phase=Phase.SWEEP) for record in EVERY))
    assert summary.networks()[0].not_judged == summary.networks()[0].layers


def test_measurements_of_layers_are_not_among_those_of_operators() -> None:
    assert summary_of(*EVERY).throughputs == []


def test_the_results_file_gives_back_networks_and_their_measurements(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    feed(StoreWriter(path), *EVERY)
    with Store(path) as store:
        assert store.summary().networks() == summary_of(*EVERY).networks()


def test_the_certificate_has_every_layer_of_a_network() -> None:
    certificate = Certificate.of(summary_of(layer(0), layer(1, Verdict.FAIL), layer(2)))
    assert Certificate.from_json(certificate.to_json()) == certificate
    (entry,) = certificate.networks
    assert entry.verdict is NetworkVerdict.WRONG
    assert [tuple(each.nodes) for each in entry.layers] == NODES
    assert entry.layers[1].reason == "1 element of 8 differs"
    assert entry.layers[1].seconds == 0.002
    assert entry.seconds == 0.01


def test_the_console_names_the_wrong_layer() -> None:
    text = printed(summary_of(layer(0), layer(1, Verdict.FAIL), layer(2)))
    assert f"{NAME}: layer1.0.relu and 2 more, {plain().operator}: 1 element of 8 differs" in text
    assert "10 ms" in text


def test_the_page_and_the_markdown_name_the_wrong_layer() -> None:
    summary = summary_of(layer(0), layer(1, Verdict.FAIL), layer(2))
    page = report_html(CampaignReport([summary]))
    assert f"{NAME}: 1 wrong layer<" in page
    assert "layer1.0.relu and 2 more" in page
    assert "layer1.0.relu and 2 more" in markdown(summary)


BOUNDED = ChainedNetwork(
    NAME, outputs={"fc": b"1234"}, error=4.7e-7, allowed=2.1e-4, segment=3.4e-5, segment_end="norm"
)
UNBOUNDED = replace(BOUNDED, allowed=None)
WIDE = replace(BOUNDED, allowed=1.5)
FAILED = ChainedNetwork(NAME, "fc, GEMM: 1 element of 8 differs", failed=CASES[3])
DECLINED = ChainedNetwork(NAME, "fc, GEMM: operator GEMM is not claimed")


@pytest.mark.parametrize(
    ("chain", "verdict"),
    [
        (BOUNDED, NetworkVerdict.RIGHT),
        (UNBOUNDED, NetworkVerdict.RIGHT),
        (FAILED, NetworkVerdict.WRONG),
        (DECLINED, NetworkVerdict.INCOMPLETE),
    ],
)
def test_a_network_is_what_its_layers_are_in_the_chain_too(chain: ChainedNetwork, verdict: NetworkVerdict) -> None:
    (found,) = summary_of(*EVERY, chains=[chain]).networks()
    assert found.verdict is verdict


@pytest.mark.parametrize(
    ("chain", "told"),
    [
        (BOUNDED, ["4.7e-07", "0.00021", "3.4e-05"]),
        (UNBOUNDED, ["4.7e-07", "says nothing", "3.4e-05"]),
        (WIDE, ["4.7e-07", "says nothing", "3.4e-05"]),
        (replace(BOUNDED, error=None), ["no number", "0.00021", "3.4e-05"]),
        (FAILED, ["fc, GEMM: 1 element of 8 differs"]),
        (DECLINED, ["fc, GEMM: operator GEMM is not claimed"]),
    ],
)
def test_what_a_network_comes_to_from_end_to_end_is_shown_everywhere(chain: ChainedNetwork, told: list[str]) -> None:
    summary = summary_of(*EVERY, chains=[chain])
    page, text, terminal = report_html(CampaignReport([summary])), markdown(summary), printed(summary)
    for each in told:
        assert each in page
        assert each in text
        assert each in terminal


def test_a_chain_is_kept_and_certified(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    feed(StoreWriter(path), *EVERY, chains=[BOUNDED])
    with Store(path) as store:
        summary = store.summary()
    assert summary.networks()[0].chain == BOUNDED
    certificate = Certificate.of(summary)
    assert Certificate.from_json(certificate.to_json()) == certificate
    chain = certificate.networks[0].chain
    assert chain is not None
    assert (chain.error, chain.allowed, chain.segment, chain.segment_end) == (4.7e-7, 2.1e-4, 3.4e-5, "norm")
    assert chain.failed is None


@pytest.mark.parametrize(
    "chain", [replace(BOUNDED, error=-1.0), replace(FAILED, failed="f" * 63), replace(BOUNDED, segment_end="n" * 1001)]
)
def test_a_chain_that_none_can_be_is_a_damaged_file(tmp_path: Path, chain: ChainedNetwork) -> None:
    path = tmp_path / "results.sqlite"
    feed(StoreWriter(path), *EVERY, chains=[chain])
    with pytest.raises(StoreError):
        Store(path)


def test_a_network_none_of_whose_layers_was_judged_is_shown() -> None:
    assert NAME in report_html(CampaignReport([summary_of()]))


def test_a_run_without_networks_says_nothing_of_them() -> None:
    summary = Summary()
    summary.start(campaign(started=STARTED))
    summary.record(plain())
    summary.finish(ending())
    assert "etworks" not in printed(summary)
    assert 'id="networks"' not in report_html(CampaignReport([summary]))
