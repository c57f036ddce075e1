"""What every test here runs under: Hypothesis profiles that make the suite reproducible, and pytest's own fixture for
running pytest.

`CI=1` selects the profile `ci`: the same examples in every run. Elsewhere `dev` keeps no database either, so that a run
depends on nothing but the code and `--hypothesis-seed`, but prints how to reproduce what it finds.

Every mechanism is tried without options. `--all` takes what is marked `slow` too, and has the tests that work through a
large number of things take all of them in place of a part that stands for the whole.
"""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import HealthCheck, settings

from dml_conformance.backends import poison

pytest_plugins = "pytester"

settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, suppress_health_check=(HealthCheck.too_slow,)
)
settings.register_profile("dev", parent=settings.get_profile("ci"), print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all", action="store_true", help="also what is slow, every mutation, every planted bug everywhere"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--all"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("slow")])
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.fixture
def takes_all(request: pytest.FixtureRequest) -> bool:
    """Whether a test takes all that there is, and not a part that stands for it."""
    return bool(request.config.getoption("--all"))


@pytest.fixture(autouse=True)
def known_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards and poison are the same in every run of a test, so that what wrong backends make of them is too."""
    stream = Cipher(algorithms.AES(bytes(32)), modes.CTR(bytes(16))).encryptor()
    monkeypatch.setattr(poison, "_STREAM", stream)
