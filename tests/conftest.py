"""What every test here runs under: Hypothesis profiles that make the suite reproducible, and pytest's own fixture for
running pytest.

`CI=1` selects the profile `ci`: the same examples in every run. Elsewhere `dev` keeps no database either, so that a run
depends on nothing but the code and `--hypothesis-seed`, but prints how to reproduce what it finds.

Every mechanism is tried without options. `--all` takes what is marked `slow` too, and more parameters of what is marked
`few`. `--exhaustive` is for releases: every parameter and mutation, every bug planted at every level.

`--part TEXT`, as CI has it, is `--all` but for what is tabular: of a test with sixteen parameters or more it takes a
twentieth, and of what is marked `few` no fewer than without options. The text decides which (`support/part.py`):
another commit, another part. A test that has a name of its own is always run, with one parameter at least.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import HealthCheck, settings
from part import SHARE, part

from dml_conformance.backends import poison
from dml_conformance.backends.processes.backend import IsolatedBackend

pytest_plugins = "pytester"

settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, suppress_health_check=(HealthCheck.too_slow,)
)
settings.register_profile("dev", parent=settings.get_profile("ci"), print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="also what is slow, and more parameters")
    parser.addoption(
        "--part", metavar="TEXT", help="as --all, but of what is tabular a twentieth that this text decides"
    )
    parser.addoption("--exhaustive", action="store_true", help="every parameter, mutation, and bug at every level")


def pytest_report_header(config: pytest.Config) -> str | None:
    text = config.getoption("--part")
    return text and f"of what is tabular: the twentieth that --part {text} decides; --all has the whole"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is `slow` without `--all`, and of a test that is marked `few(n, m)` all but n of its parameters.

    With `--all` they are m; all of them where there is no m. With `--part` they are a twentieth of it, but n at least.
    """
    if config.getoption("--exhaustive"):
        return
    text = config.getoption("--part")
    is_all = config.getoption("--all") or text is not None
    left_out = {item for item in items if item.get_closest_marker("slow") and not is_all}
    siblings: defaultdict[tuple[pytest.Item | pytest.Collector | None, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        siblings[item.parent, getattr(item, "originalname", item.name)].append(item)
    for group in siblings.values():
        marker = group[0].get_closest_marker("few")
        kept = (*marker.args, len(group))[is_all] if marker else len(group)
        if text is not None and (marker or kept >= SHARE):
            kept = max(-(-kept // SHARE), marker.args[0] if marker else 1)
            names = part((parameters_of(item) for item in group), text, kept)
            left_out.update(item for item in group if parameters_of(item) not in names)
        elif marker:
            spread = {round(n * (len(group) - 1) / max(kept - 1, 1)) for n in range(kept)}
            left_out.update(item for n, item in enumerate(group) if n not in spread)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def parameters_of(item: pytest.Item) -> str:
    """The name of a test without that of its function, so that one text decides on the same parameters everywhere."""
    return item.name.removeprefix(getattr(item, "originalname", ""))


@pytest.fixture
def is_exhaustive(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--exhaustive"))


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands keep for their user lies in a folder of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def isolated() -> Iterator[Callable[..., IsolatedBackend]]:
    """Makes isolated backends, which are closed in the end."""
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(closing(IsolatedBackend(*arguments)))


@pytest.fixture(autouse=True)
def known_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards and poison are the same in every run of a test, so that what wrong backends make of them is too."""
    stream = Cipher(algorithms.AES(bytes(32)), modes.CTR(bytes(16))).encryptor()
    monkeypatch.setattr(poison, "_STREAM", stream)
