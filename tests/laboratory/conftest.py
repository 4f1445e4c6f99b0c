"""One lab for all tests of this folder, and one page for those of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from laboratory.browsing import PATIENCE_MS, browsing, line_is_there, listened_to
from laboratory.visits import visitor
from reports.browser import browser

from giantstep.laboratory.launch import Lab
from giantstep.laboratory.limits import LabLimits


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """A lab that waits as long as the tests do: a busy machine is no reason to end an answer."""
    patient = LabLimits(seconds=dict.fromkeys(LabLimits().seconds, PATIENCE_MS // 1000))
    opened = Lab(simulators=1, theorists=1, embeddable=True, limits=patient).start()
    yield opened
    opened.close()


@pytest.fixture
def client(lab: Lab) -> Iterator[httpx.Client]:
    with visitor(lab) as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    path = browser()
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    playwright.expect.set_options(timeout=PATIENCE_MS)
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def somebody(chromium: Any) -> Iterator[Any]:
    with browsing(chromium, reduced_motion="reduce") as context:
        context.add_init_script("localStorage.setItem('giantstep-lab-tour', 'seen')")
        yield context


@pytest.fixture(scope="module")
def page(somebody: Any, lab: Lab) -> Any:
    """The page that most tests share, with a line of many points; dots run when asked for."""
    opened = listened_to(somebody.new_page())
    opened.goto(lab.url)
    opened.uncheck("#auto")
    opened.locator(".stair").first.wait_for()
    opened.select_option("#learner", "random-features")
    line_is_there(opened)
    return opened
