"""What a campaign finds is the same from release to release, unless a release says why not.

Searches are left out, which depend on the versions of Hypothesis and Python. Cases are known by their digests.
"""

from __future__ import annotations

from collections import Counter

import pytest
from five_operators import FIVE
from judged_tasks import records_of, tasks_left

from dml_conformance.backends.loading import load_backend
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.workers.tasks import CaseBlock
from dml_conformance.reports.model.digests import Digests
from dml_conformance.reports.model.records import Verdict
from dml_conformance.spec.levels import Level


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["reference", "torch:cpu"])
def test_a_standard_campaign_finds_what_it_found(name: str) -> None:
    """Of five operators at all levels, with seed 0."""
    engine = Engine(Judge(load_backend(name), name), FIVE, tuple(Level), BUDGETS["standard"], 0)
    digests, verdicts = Digests(), Counter[Verdict]()
    for unit in tasks_left(engine):
        if isinstance(unit, CaseBlock):
            for record in records_of(engine, unit):
                digests.record(record)
                verdicts[record.verdict] += 1
    assert verdicts == {Verdict.PASS: 27_446, Verdict.OBSERVED: 670}
    assert digests.results == "422543bb78e9dec3f3708611382a2f8b1b8edd176f1c40a035d8eed092834ec9"
