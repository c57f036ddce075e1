"""A seed that is a secret until its campaign has ended: a commitment to it comes first, and no backend can read it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backend_files import write_backend
from click.testing import Result
from commands import certificate, invoke
from msgspec.structs import replace

from dml_conformance.backends.processes.walls import FILES
from dml_conformance.conformance.campaign.seeds import Seed
from dml_conformance.conformance.packages.verify.campaign import check_campaign
from dml_conformance.conformance.packages.verify.findings import Findings
from dml_conformance.reports.model.records import SEED_COMMITMENT, SEED_NONCE, Campaign, walls_of
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.reports.store.results import Store

SCOPE = ("--operator", "TILE", "--level", "1_0", "--budget", "quick", "--seed", "secret")
PROMISE = "Commitment to the seed, which the certificate opens: "
# Stops the run once, in the sweep or before; a file says that it has done so.
STOPPING = """\
    calls = 0

    def execute(self, *given):
        Mine.calls += 1
        if Mine.calls == 300 and not (HERE / "stopped").exists():
            (HERE / "stopped").touch()
            raise KeyboardInterrupt
        super().execute(*given)
"""
# Writes down what it can read of all processes, and of all files beside it, when it is executed first.
SPYING = """\
    def execute(self, *given):
        seen = HERE / f"seen-{os.getpid()}"
        if not seen.exists():
            found = b""
            of_processes = (path for name in ("cmdline", "environ") for path in Path("/proc").glob(f"[0-9]*/{name}"))
            for path in (*of_processes, *HERE.rglob("*")):
                try:
                    found += path.read_bytes()
                except OSError:
                    pass
            seen.write_bytes(found)
        super().execute(*given)
"""


def promised(result: Result) -> str:
    """The commitment in the first line of what a command printed."""
    first = result.stdout.splitlines()[0]
    assert first.startswith(PROMISE)
    return first.removeprefix(PROMISE)


def campaign_in(folder: Path) -> Campaign:
    with Store(folder / RESULTS) as store:
        return store.campaign


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """What certifying printed, and the package."""
    out = tmp_path_factory.mktemp("secret") / "out"
    result = invoke("certify", "--backend", "reference", *SCOPE, "--package", "--out", out)
    assert result.exit_code == 0, result.output
    return result, out


def test_the_certificate_opens_the_commitment(package: tuple[Result, Path]) -> None:
    result, out = package
    found = certificate(out)
    seed, nonce = found["run"]["seed"], found["environment"][SEED_NONCE]
    assert re.fullmatch("[0-9a-f]{64}", nonce)
    assert seed != 0
    assert promised(result) == found["environment"][SEED_COMMITMENT]
    assert promised(result) == hashlib.sha256(f"{seed} {nonce}".encode()).hexdigest()
    assert str(seed) not in result.stdout
    verified = invoke("verify", out)
    assert verified.exit_code == 0, verified.output
    assert f"commitmenttotheseed'{promised(result)}'" in "".join(verified.stdout.split())


def test_no_two_are_the_same_and_one_that_is_known_has_none() -> None:
    one, other = Seed.secret(), Seed.secret()
    assert one.value != other.value
    assert one.nonce != other.nonce
    assert one.commitment != other.commitment
    assert Seed(7).environment == {}


@pytest.mark.parametrize(
    "changed",
    [
        lambda campaign: replace(campaign, seed=campaign.seed ^ 1),
        lambda campaign: replace(campaign, environment=campaign.environment | {SEED_NONCE: "0" * 64}),
        lambda campaign: replace(campaign, environment=campaign.environment | {SEED_COMMITMENT: "0" * 64}),
        lambda campaign: replace(campaign, environment=without(campaign.environment, SEED_NONCE)),
        lambda campaign: replace(campaign, environment=without(campaign.environment, SEED_COMMITMENT)),
    ],
)
def test_an_opening_that_does_not_fit_is_found(
    package: tuple[Result, Path], changed: Callable[[Campaign], Campaign]
) -> None:
    campaign, sound, findings = campaign_in(package[1]), Findings(), Findings()
    check_campaign(campaign, None, sound)
    assert not [found for found in sound.shown if "environment" in found.where]
    assert check_campaign(changed(campaign), None, findings) is None
    told = [str(found) for found in findings.shown if found.where == "campaign.environment"]
    assert len(told) == 1
    assert "expected 'a seed commitment that seed and seed nonce open'" in told[0]


def without(environment: dict[str, Any], name: str) -> dict[str, Any]:
    return {each: text for each, text in environment.items() if each != name}


def test_a_run_that_is_resumed_keeps_its_seed(tmp_path: Path) -> None:
    name, out = write_backend(tmp_path, STOPPING), tmp_path / "out"
    command = ("certify", "--in-process", "--backend", name, *SCOPE, "--no-throughput", "--out", out)
    first = invoke(*command)
    assert first.exit_code != 0
    assert not out.exists()
    again, finished = invoke(*command, "--resume"), invoke(*command, "--resume")
    assert (again.exit_code, finished.exit_code) == (0, 0), again.output
    assert promised(first) == promised(again) == promised(finished) == Seed.of(campaign_in(out)).commitment
    other = invoke(*command[:-4], "7", *command[-3:], "--resume")
    assert other.exit_code == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_backend_cannot_read_it(tmp_path: Path, workers: int) -> None:
    name, out = write_backend(tmp_path, SPYING), tmp_path / "out"
    result = invoke("certify", "--backend", name, *SCOPE, "--no-throughput", "-n", workers, "--out", out)
    assert result.exit_code == 0, result.output
    campaign = campaign_in(out)
    if FILES not in walls_of(campaign.environment):
        pytest.skip("no wall hides the results")
    seen = b"".join(path.read_bytes() for path in tmp_path.glob("seen-*"))
    assert b"--seed\0secret" in seen or b"dml_conformance" in seen  # it did read something
    assert str(campaign.seed).encode() not in seen
    assert campaign.environment[SEED_NONCE].encode() not in seen


@pytest.mark.parametrize("seed", ["hidden", "-1", str(2**64), "1.5"])
def test_what_is_no_seed_is_refused(tmp_path: Path, seed: str) -> None:
    result = invoke("certify", "--backend", "reference", "--seed", seed, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert f"expected a number from 0 to 2^64-1, or secret; found '{seed}'" in " ".join(result.output.split())
