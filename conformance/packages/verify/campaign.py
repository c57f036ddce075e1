"""Whether a campaign out of a package can be one of this suite; nothing else reads it before this has."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from dml_conformance.backends.base import Capabilities
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.plan import executed_levels, newest_claimed, planned
from dml_conformance.conformance.campaign.seeds import MOST_SEED, Seed
from dml_conformance.conformance.exchange.networks.stored import network_at, network_names
from dml_conformance.conformance.packages.verify.findings import Findings, expected
from dml_conformance.reports.model.records import (
    SEED_COMMITMENT,
    SEED_NONCE,
    Campaign,
    Ending,
    describe_rules,
    lacking,
)
from dml_conformance.reports.model.release import suite_version
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators
from dml_conformance.spec.validator import Reading

CHECK = "campaign"


def check_campaign(campaign: Campaign, ending: Ending | None, findings: Findings) -> Capabilities | None:
    """Hold a campaign against what this suite can have run.

    Returns:
        What the backend was held to; None where the records cannot be looked at.
    """
    before = findings.total

    def wrong(where: str, wanted: Any, found: Any) -> None:
        findings.add(CHECK, RESULTS, f"campaign.{where}", expected(wanted, found))

    if campaign.suite_version != suite_version():
        findings.add(
            CHECK,
            RESULTS,
            "campaign.suite_version",
            f"made by dml-conformance {campaign.suite_version!a}; only the same release makes the same cases, and this "
            f"is {suite_version()}",
        )
        return None
    if not campaign.operators or set(campaign.operators) - set(operators()):
        wrong("operators", f"some of {', '.join(operators())}", campaign.operators)
    labels = [level.label for level in Level]
    if not campaign.levels or [label for label in labels if label in campaign.levels] != list(campaign.levels):
        wrong("levels", f"some of {', '.join(labels)}, ascending", campaign.levels)
    if len(set(campaign.operators)) != len(campaign.operators):
        wrong("operators", "each operator once", campaign.operators)
    if campaign.budget not in BUDGETS:
        wrong("budget", f"one of {', '.join(BUDGETS)}", campaign.budget)
    if not 0 <= campaign.seed <= MOST_SEED:
        wrong("seed", "a number from 0 to 2^64-1", campaign.seed)
    if not {SEED_COMMITMENT, SEED_NONCE}.isdisjoint(campaign.environment):
        found = {name: campaign.environment.get(name) for name in (SEED_COMMITMENT, SEED_NONCE)}
        if found != Seed.of(campaign).environment:
            wrong("environment", f"a {SEED_COMMITMENT} that seed and {SEED_NONCE} open", found)
    if campaign.spec not in tuple(Reading):
        wrong("spec", f"one of {', '.join(Reading)}", campaign.spec)
    for where, text in (("started", campaign.started), ("finished", "" if ending is None else ending.finished)):
        if not _is_time(text):
            wrong(where, "a time such as 2026-11-21T08:00:00Z", text)
    claims = _claims(campaign.backend)
    if claims is None or claims.as_json() != campaign.backend:
        wrong("backend", "what a backend claims, with its name, device, versions, levels, operators, ...", "")
    if findings.total == before and describe_rules(campaign.operators) != campaign.rules:
        wrong("rules", "the rules of this release", "others")
    if findings.total == before and claims is not None:
        plans = planned(campaign.operators, _levels(campaign), claims.levels, every_level=campaign.every_level)
        if (executed := executed_levels(plans)) != campaign.executed:
            wrong("executed", executed, campaign.executed)
        names = [network.name for network in campaign.networks]
        if unknown := set(names) - set(network_names()):
            wrong("networks", f"some of {', '.join(network_names())}", sorted(unknown))
        else:
            level = newest_claimed(_levels(campaign), claims.levels)
            if campaign.networks != tuple(network_at(name, level).network for name in names):
                wrong("networks", "the layers of this release", "others")
    return claims if findings.total == before else None


def check_walls(campaign: Campaign, required: Collection[str], findings: Findings) -> None:
    """Whether the walls that are required stood, as the campaign has it."""
    if problem := lacking(campaign.environment, required):
        findings.add(CHECK, RESULTS, "campaign.environment.walls", problem)


def _levels(campaign: Campaign) -> list[Level]:
    return [Level.parse(label) for label in campaign.levels]


def _claims(backend: dict[str, Any]) -> Capabilities | None:
    """The inverse of `Capabilities.as_json`; None where it is not of that form."""
    try:
        return Capabilities(**backend)  # which looks at every field
    except (TypeError, ValueError):
        return None


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
