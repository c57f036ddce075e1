"""Whether what a package says of networks from end to end follows from what the backend left in their outputs.

The reference executes each chain anew. What nothing on record can show is believed: that the backend left them there.
"""

from __future__ import annotations

from collections.abc import Collection
from math import isclose

from dml_conformance.conformance.campaign.chains import OutputsMisfit, chained_network, why_not_executed
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.exchange.networks.stored import stored_chain
from dml_conformance.conformance.packages.verify.findings import Findings, expected
from dml_conformance.conformance.packages.verify.replayed import ReplayedJudge
from dml_conformance.reports.model.records import ChainedNetwork, Ending, Record, Verdict
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.spec.case import MODEL_ORIGIN

CHECK = "chains"
SLACK = 1e-5  # of figures, of which six digits are on record


def check_chains(
    engine: Engine, judge: ReplayedJudge, ending: Ending, failures: Collection[Record], findings: Findings
) -> None:
    """Check the chains of a campaign.

    Args:
        engine: of the campaign.
        judge: replays answers.
        ending: of the campaign.
        failures: records of layers that were wrong in chains.
        findings: takes what is wrong.
    """
    names, found = list(engine.network_names), [chain.network for chain in ending.chains]
    if found != names[: len(found)] or (ending.complete and found != names):
        findings.add(CHECK, RESULTS, "ending.chains", expected(names, found))
        return
    judge.take("accept", Verdict.PASS, "")  # whatever of it is asked, it is the claims that matter
    for chain in ending.chains:
        if problem := _problem(engine, judge, chain, failures):
            findings.add(CHECK, RESULTS, f"ending.chains: {chain.network}", problem)
    named = {chain.failed for chain in ending.chains}
    for record in failures:
        if record.case not in named:
            findings.add(CHECK, RESULTS, f"case {record.case[:16]}", "failed in no chain of the ending")
    if found:
        findings.end(CHECK, f"{len(found):,} computed again")


def _problem(engine: Engine, judge: ReplayedJudge, chain: ChainedNetwork, failures: Collection[Record]) -> str:
    """What is wrong with what is said of a chain; "" where nothing is."""
    if chain.failed:
        origins = {f"{MODEL_ORIGIN}{chain.network}: {step.node}" for step in stored_chain(chain.network).steps}
        is_there = any(each.case == chain.failed and each.case_json.get("origin") in origins for each in failures)
        is_stopped = not chain.is_whole and chain.error is None
        return "" if is_there and is_stopped else "expected the record of the layer that failed, and no figures"
    why = why_not_executed(judge, chain.network, engine.newest)
    if why or not chain.is_whole:
        return "" if chain == ChainedNetwork(chain.network, why) else expected(why or "its outputs", chain.reason)
    try:
        wanted = chained_network(chain.network, chain.outputs, judge.tolerance)
    except OutputsMisfit as error:
        return str(error)
    if (wanted.reason, wanted.segment_end) != (chain.reason, chain.segment_end):
        return expected((wanted.reason, wanted.segment_end), (chain.reason, chain.segment_end))
    for name in ("error", "allowed", "segment"):
        one, other = getattr(wanted, name), getattr(chain, name)
        if one != other and (one is None or other is None or not isclose(one, other, rel_tol=SLACK)):
            return f"{name}: {expected(one, other)}"
    return ""
