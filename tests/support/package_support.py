"""Packages for tests: honest ones, and forged ones whose forger had the whole suite at hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dml_conformance.backends.base import Backend
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.driver import certify
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.judge.blame import SettledStream
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.packages.make import PackageFolder, manifest_of
from dml_conformance.conformance.packages.profiles import ClaimsProfile, narrowed
from dml_conformance.conformance.packages.verify import Verification, verify
from dml_conformance.conformance.packages.waivers import Waivers
from dml_conformance.reports.model.records import Campaign, Ending, Record
from dml_conformance.reports.output.folder import OutputFolder
from dml_conformance.reports.package import MANIFEST, PACKAGE_FILES, RESULTS
from dml_conformance.reports.package.forms import Stated, Waiver
from dml_conformance.reports.store.results import Store
from dml_conformance.spec.accuracy import DIRECTML, Tolerance
from dml_conformance.spec.levels import Level
from dml_conformance.spec.validator import Reading

DAY = date(2026, 11, 21)
STATED = Stated(vendor="Example Ltd", product="Example NPU", product_version="1.2")
WAIVER = Waiver(
    rules=["TILE.values"],
    reason="Tiles of odd sizes are cut",
    link="https://example.com/issues/17",
    owner="kernels@example.com",
    expires="2999-12-31",
)


def make(
    folder: Path,
    backend: Backend,
    *,
    waivers: Iterable[Waiver] = (),
    key: Any = None,
    profile: ClaimsProfile = ClaimsProfile.FULL,
    reading: Reading = Reading.DOCUMENTED,
    operators: Sequence[str] = ("TILE",),
    networks: Sequence[str] = (),
    accuracy: Tolerance = DIRECTML,
) -> Path:
    """Certify a backend for some operators at level 3_0 and leave its package in a folder."""
    claims = narrowed(backend.capabilities(), profile)
    judge = Judge(backend, "reference", reading, claims=claims, digests_outputs=True, tolerance=accuracy)
    engine = Engine(judge, operators, (Level.parse("3_0"),), BUDGETS["quick"], 0, network_names=networks)
    all_waivers = Waivers(tuple(waivers))
    with OutputFolder(folder, known=PACKAGE_FILES) as output:
        package = PackageFolder(output, profile, STATED, all_waivers, key, replace=False)
        try:
            certify(engine, SettledStream(all_waivers.apply, package))
        finally:
            package.close()
    return folder


def forge(
    package: Path,
    target: Path,
    *,
    records: Callable[[list[Record]], list[Record]] = lambda records: records,
    campaign: Callable[[Campaign], Campaign] = lambda campaign: campaign,
    ending: Callable[[Ending], Ending] = lambda ending: ending,
    waivers: Iterable[Waiver] | None = None,
) -> Path:
    """A package with other records, in which everything else was made to fit them."""
    given = list(waivers or ())
    applied = Waivers(given)
    with Store(package / RESULTS) as store, OutputFolder(target, known=PACKAGE_FILES) as output:
        forged = PackageFolder(output, ClaimsProfile.FULL, STATED, _Used(given), None, replace=False)
        forged.start(campaign(store.campaign))
        for record in records(list(store.records())):
            forged.record(applied.apply(record))
        for row in store.throughputs():
            forged.throughput(row)
        assert store.ending is not None
        forged.finish(ending(store.ending))
        forged.close()
    return target


class _Used(Waivers):
    """Waivers that say that they were of use."""

    def unused(self) -> list[str]:
        return []


def changed(package: Path, target: Path, name: str, change: Callable[[bytes], bytes], *, manifest: bool = True) -> Path:
    """A copy of a package with one file changed, and a manifest that fits unless it is not to be made anew."""
    shutil.copytree(package, target)
    content = change((target / name).read_bytes())
    (target / name).write_bytes(content)
    if manifest and name != MANIFEST:
        (target / MANIFEST).write_bytes(manifest_of(target, "0.1.0").to_json())
    return target


def verified(package: Path, **more: Any) -> Verification:
    return verify(package, today=DAY, **more)


def told(found: Verification) -> str:
    """All findings as text."""
    return "\n".join(f"{finding.check}: {finding}" for finding in found.findings)


def edit(n: int, **changes: Any) -> Callable[[list[Record]], list[Record]]:
    """Change record `n`, from 0 on."""

    def change(records: list[Record]) -> list[Record]:
        return [replace(record, **changes) if i == n else record for i, record in enumerate(records)]

    return change
