"""A real browser uses the page as a visitor would."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report.browser import browser

from giantstep.lab.launch import Lab, with_state

pytestmark = pytest.mark.slow
#: How long something may take on a machine that is busy with other tests.
PATIENCE_MS = 60_000
MOVES = 20
#: Adds up every move of something on the page that no key or click has caused.
SHIFTS = """
globalThis.shifted = 0;
new PerformanceObserver((list) => {
  const own = list.getEntries().filter((entry) => !entry.hadRecentInput);
  for (const entry of own) globalThis.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    path = browser()
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(chromium: Any, lab: Lab) -> Iterator[Any]:
    """Opens the page, as somebody who comes for the first time or as one who knows the tour."""
    contexts = []

    def visit(address: str = "", *, first: bool = False, **how: Any) -> Any:
        how = {"viewport": {"width": 1600, "height": 1000}, **how}
        context = chromium.new_context(accept_downloads=True, **how)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(SHIFTS)
        if not first:
            context.add_init_script("localStorage.setItem('giantstep-lab-tour', 'seen')")
        page = context.new_page()
        page.complaints = []
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("console", lambda said: said.type == "error" and page.complaints.append(said.text))
        page.goto(lab.url)
        if address:
            page.goto("about:blank")
            page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()


def dots_are_there(page: Any) -> None:
    page.wait_for_selector("body[data-dots=done]")


def line(page: Any) -> list[float]:
    """The numbers of the line that is drawn."""
    return page.evaluate(
        "[...(document.getElementById('plot').data ?? [])]"
        ".find((trace) => trace.name === 'theory')?.y ?? []"
    )


def complaints(page: Any) -> list[str]:
    """What the browser complains of; Playwright's own style for screenshots is not the page's."""
    return [text for text in page.complaints if "Applying inline style" not in text]


def test_a_first_visit_shows_a_worked_example(visit: Any, tmp_path: Path) -> None:
    page = visit(first=True)
    assert "1 of 3" in page.inner_text("#tour-title")
    page.click("#tour-next")
    page.click("#tour-next")
    assert "3 of 3" in page.inner_text("#tour-title")
    page.keyboard.press("Escape")
    assert page.is_hidden("#tour")
    page.wait_for_selector(".stair")
    assert page.locator(".stair").count() == 3
    assert page.locator("#formula msub").count() == 3
    dots_are_there(page)
    assert "8 seeds" in page.inner_text("#z")
    assert len(line(page)) >= 40
    assert page.evaluate("globalThis.shifted") < 0.05
    with page.expect_download() as table:
        page.click(".take[data-plot=plot] >> text=CSV")
    rows = Path(table.value.path()).read_text().splitlines()
    assert sum(row.startswith("simulated,test_error,") for row in rows) == 9
    with page.expect_download() as picture:
        page.click(".take[data-plot=plot] >> text=SVG")
    assert "<svg" in Path(picture.value.path()).read_text()
    assert "giantstep compare random-features" in page.inner_text("#command")
    page.screenshot(path=tmp_path / "light.png", full_page=True)
    assert not complaints(page)


def test_a_bad_expression_shows_its_error_and_place(visit: Any) -> None:
    page = visit()
    page.wait_for_selector(".stair")
    page.fill("#target", "h1 + snh(h2)")
    page.wait_for_selector("#target[aria-invalid]")
    text = page.inner_text("#target-error")
    assert "did you mean" in text
    assert text.splitlines()[1] == "     ^"
    script = "<img src=x onerror=alert(1)>"
    page.fill("#target", script)
    page.locator("#target-error", has_text="onerror").wait_for()
    assert page.locator("#target-error img").count() == 0
    page.fill("#target", "sign(h1*h2)")
    page.locator(".badge.easy").first.wait_for()
    assert page.get_attribute("#target", "aria-invalid") is None


def test_a_slider_moves_the_line(visit: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys move it, as they do for somebody without a mouse."""
    page = visit()
    dots_are_there(page)
    page.uncheck("#auto")
    before = line(page)
    slider = page.locator(".control[data-name=ridge] input[type=range]")
    slider.focus()
    times = []
    for _ in range(MOVES):
        page.evaluate("delete document.body.dataset.lineMs")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("body[data-line-ms]")
        times.append(int(page.get_attribute("body", "data-line-ms")))
    after = line(page)
    assert len(after) == len(before)
    assert after != before
    with capsys.disabled():
        print(f"\ntheory line after a move: median {statistics.median(times)} ms of {times}")


def test_dots_can_be_stopped(visit: Any, lab: Lab) -> None:
    page = visit()
    dots_are_there(page)
    page.uncheck("#auto")
    page.fill(".control[data-name=dim] input[type=text]", "500")
    page.keyboard.press("Tab")
    page.wait_for_selector("body[data-line-ms]")
    page.fill("#seeds", "64")
    page.click("#run")
    page.wait_for_selector("#stop:enabled")
    page.click("#stop")
    page.wait_for_selector("body[data-dots=stopped]")
    page.wait_for_selector("#stop:disabled")


def test_a_permalink_restores_the_page(visit: Any) -> None:
    page = visit()
    dots_are_there(page)
    page.uncheck("#auto")
    page.fill("#target", "sin(h1)")
    page.wait_for_selector("#formula mi:has-text('sin')")
    page.select_option("#learner", "kernel")
    page.select_option("#axis", "ridge")
    page.locator(".js-plotly-plot .xtitle", has_text="ridge").first.wait_for()
    page.click("#pin")
    page.fill("#pins input", "mine")
    page.keyboard.press("Tab")
    link = page.evaluate("location.href")
    assert "token" not in link
    again = visit(link)
    again.locator(".js-plotly-plot .xtitle", has_text="ridge").first.wait_for()
    assert again.input_value("#target") == "sin(h1)"
    assert again.input_value("#learner") == "kernel"
    assert again.input_value("#pins input") == "mine"


def test_an_address_given_to_an_open_page_wins(visit: Any, lab: Lab) -> None:
    """Also when the page writes its own address before it hears of the new one."""
    page = visit()
    page.wait_for_selector(".stair")
    page.evaluate(
        """() => {
          location.hash = "target=He2(h1)";
          document.getElementById("seeds").dispatchEvent(new Event("change"));
        }"""
    )
    expect = pytest.importorskip("playwright.sync_api").expect
    expect(page.locator("#target")).to_have_value("He2(h1)", timeout=PATIENCE_MS)


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (390, "light"), (1600, "dark")])
def test_the_page_fits_and_has_two_colours(
    visit: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    page = visit(viewport={"width": width, "height": 900}, color_scheme=scheme)
    dots_are_there(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 251, 249)"
    assert light == (scheme == "light")
    page.screenshot(path=tmp_path / "page.png", full_page=True)


def test_spectra_and_neurons(visit: Any) -> None:
    page = visit()
    page.locator("#spectra").scroll_into_view_if_needed()
    page.locator("#neurons").scroll_into_view_if_needed()
    page.wait_for_selector("body[data-spectrum=done]")
    page.wait_for_selector("body[data-neurons=done]")
    assert "outliers predicted" in page.inner_text("#spectrum-said")
    assert page.inner_text("#step-shown") == "4"
    page.click("#play")
    assert page.inner_text("#play") == "Pause"
    page.click("#play")
    assert page.inner_text("#play") == "Play"
    assert not complaints(page)


def test_every_control_has_a_name(visit: Any) -> None:
    page = visit()
    dots_are_there(page)
    nameless = page.evaluate(
        """[...document.querySelectorAll("input, select, button")]
        .filter((e) => !(e.labels?.length || e.ariaLabel || e.textContent.trim()))
        .map((e) => e.outerHTML)"""
    )
    assert nameless == []


def test_the_first_target_can_be_given(visit: Any, lab: Lab) -> None:
    page = visit(with_state(lab.url, target="He2(h1)"))
    page.wait_for_selector("#formula msub")
    assert page.input_value("#target") == "He2(h1)"
