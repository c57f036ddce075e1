"""A browser for the tests: the system's Chromium, driven by Playwright, with every request and message watched."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

# Nothing of the browser's own may look for the network; without a sandbox it runs in containers too.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Milliseconds until a browser or a page is given up; a busy machine may need minutes, and no test asserts on speed.
LONGEST = 300_000
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass
class Watched:
    """What a page did that it should not do."""

    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def missing(what: str) -> NoReturn:
    """Something that these tests need is not there: where REQUIRE_BROWSER is set, as in CI, that is a failure."""
    if os.environ.get("REQUIRE_BROWSER"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        missing("no Chromium: install the system's package 'chromium', or name its program in CHROMIUM")
    if importlib.util.find_spec("playwright") is None:
        missing("playwright is not installed: pip install playwright")
    from playwright import sync_api as playwright

    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS), timeout=LONGEST)
        yield opened
        opened.close()


@pytest.fixture
def show(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file, with an address fragment and options of a browser context, as a page.

    Each page has an attribute `watched`. At the end no page may have said anything on the console, thrown an error,
    or asked for anything but its own file.
    """
    opened: list[tuple[Any, Watched, str]] = []

    def opener(path: Path, fragment: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.set_default_timeout(LONGEST)
        watched = Watched()
        page.on("console", lambda message: watched.messages.append(message.text))
        page.on("pageerror", lambda error: watched.messages.append(str(error)))
        page.on("dialog", lambda dialog: watched.messages.append(f"dialog: {dialog.message}") or dialog.dismiss())
        page.on("request", lambda request: watched.requests.append(request.url))
        opened.append((context, watched, path.as_uri()))
        page.goto(path.as_uri() + fragment)
        if options.get("java_script_enabled", True) and page.locator("#cases").count():
            page.wait_for_selector(".found:has-text('case')")
        return page

    yield opener
    for context, watched, address in opened:
        context.close()
        assert watched.messages == []
        assert {url.partition("#")[0] for url in watched.requests} == {address}


# A place that scrolls is reached by the Tab key, so that it can be scrolled without a mouse (WCAG 2.1.1). The engine
# wants such a place to be a control, which it is not.
SCROLLS = "element_tabbable_role_valid"


@pytest.fixture
def assert_accessible() -> Callable[..., None]:
    """Lets IBM's engine, which is not installed with the other tests, look for faults of accessibility in a page.

    The program is `ace.js` of accessibility-checker-engine (npm). The page is opened with `bypass_csp`; `scrolling` is
    a pattern of the elements that scroll, and `least` how much there is to be checked.
    """
    engine = Path(os.environ.get("ACCESSIBILITY_ENGINE") or "nowhere")
    if not engine.is_file():
        missing("no accessibility engine: ACCESSIBILITY_ENGINE names ace.js of accessibility-checker-engine (npm)")

    def check(page: Any, scrolling: str, least: int) -> None:
        page.add_script_tag(content=f"{engine.read_text(encoding='utf-8')}\nwindow.ace = ace;")
        checked, faults = page.evaluate(
            """async () => {
              console.log = console.info = () => {};
              const { results } = await new ace.Checker().check(document, ["IBM_Accessibility"]);
              const faults = results.filter(({ value }) => value[0] === "VIOLATION" && value[1] === "FAIL");
              return [results.length, faults.map(({ ruleId, message, snippet }) => [ruleId, message, snippet])];
            }"""
        )
        assert checked > least
        assert [fault for fault in faults if fault[0] != SCROLLS] == []
        assert [snippet for _, _, snippet in faults if not re.search(scrolling, snippet)] == []

    return check
