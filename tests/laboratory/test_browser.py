"""A real browser uses the page as a visitor would.

Most tests share one page: each begins from whatever experiment is there, and waits for what it has
asked for itself.
"""

from __future__ import annotations

import http.server
import json
import re
import shlex
import statistics
import threading
from pathlib import Path
from typing import Any

import pytest
from laboratory.browsing import (
    browsing,
    complaints,
    dots_are_there,
    downloaded,
    expect,
    line_is_there,
    listened_to,
    setting,
    traces,
    until,
)
from typer.testing import CliRunner

from giantstep.cli.main import app
from giantstep.laboratory.launch import Lab, lab_address, lab_in_notebook

pytestmark = pytest.mark.slow
MOVES = 20
PAPER = {"light": "rgb(251, 251, 249)", "dark": "rgb(18, 24, 29)"}


def test_a_first_visit_shows_a_worked_example(chromium: Any, lab: Lab, tmp_path: Path) -> None:
    with browsing(chromium) as context:
        page = listened_to(context.new_page())
        page.goto(lab.url)
        expect(page.locator("#tour-title")).to_contain_text("1 of 4")
        for _ in range(3):
            page.click("#tour-next")
        expect(page.locator("#tour-title")).to_contain_text("4 of 4")
        page.keyboard.press("Escape")
        expect(page.locator("#tour")).to_be_hidden()
        expect(page.locator(".stair")).to_have_count(3)
        assert page.locator("#formula msub").count() == 3
        dots_are_there(page)
        assert "8 seeds" in page.inner_text("#z")
        # The cloud plays once, and the dots land with it.
        page.wait_for_selector("body[data-played=once]")
        assert page.inner_text("#step-shown") == "2"
        for name in ("theory h1", "theory h2", "simulated h1", "simulated h2"):
            assert len(traces(page, name)) == 3
        assert page.evaluate("globalThis.shifted") < 0.05
        table = downloaded(page, ".take[data-plot=plot] >> text=CSV").decode().splitlines()
        assert sum(row.startswith("simulated,overlap,") for row in table) == 6
        for scheme, width in [("light", 1600), ("dark", 1600), ("dark", 390), ("light", 390)]:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            expect(page.locator("body")).to_have_css("background-color", PAPER[scheme])
            # The plot follows the window a moment later.
            until(page, "(width) => document.documentElement.scrollWidth <= width", width)
            page.screenshot(path=tmp_path / f"{scheme}-{width}.png", full_page=True)
        assert not complaints(page)


def test_a_bad_expression_shows_its_error_and_place(page: Any) -> None:
    page.fill("#target", "h1 + snh(h2)")
    error = page.locator("#target-error")
    expect(error).to_contain_text("did you mean")
    assert page.get_attribute("#target", "aria-invalid") == "true"
    assert error.inner_text().splitlines()[1] == "     ^"
    page.fill("#target", "<img src=x onerror=alert(1)>")
    expect(error).to_contain_text("onerror")
    assert page.locator("#target-error img").count() == 0
    page.fill("#target", "sign(h1*h2)")
    page.locator(".badge.easy").first.wait_for()
    assert page.get_attribute("#target", "aria-invalid") is None


def test_a_slider_moves_the_line(page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys move it, as they do for somebody without a mouse; each move is one question."""
    line_is_there(page)
    before = traces(page, "theory")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.locator(".control[data-name=ridge] input[type=range]").focus()
    times = []
    for _ in range(MOVES):
        page.keyboard.press("ArrowRight")
        times.append(line_is_there(page))
    assert asked.count("theory") == MOVES
    after = traces(page, "theory")
    assert len(after) == len(before)
    assert after != before
    with capsys.disabled():
        print(f"\ntheory line after a move: median {statistics.median(times)} ms of {times}")


def test_dots_can_be_stopped(page: Any) -> None:
    before = page.input_value(setting("dim"))
    page.fill(setting("dim"), "500")
    page.keyboard.press("Tab")
    line_is_there(page)
    page.fill("#seeds", "64")
    page.click("#run")
    page.click("#stop")
    page.wait_for_selector("body[data-dots=stopped]")
    page.wait_for_selector("#stop:disabled")
    page.fill(setting("dim"), before)
    page.keyboard.press("Tab")
    line_is_there(page)


def test_the_keyboard_reaches_everything_in_order(page: Any) -> None:
    line_is_there(page)
    page.evaluate(
        """(kinds) => {
          globalThis.stops = [...document.querySelectorAll(kinds)]
            .filter((e) => e.checkVisibility() && !e.disabled && e.tabIndex >= 0);
          globalThis.nameless = globalThis.stops
            .filter((e) => !(e.labels?.length || e.ariaLabel || e.textContent.trim()));
          globalThis.stops[0].focus();
        }""",
        "a, input, select, button, summary, pre",
    )
    assert page.evaluate("globalThis.nameless.map((e) => e.outerHTML)") == []
    count = page.evaluate("globalThis.stops.length")
    assert count > 40
    for number in range(count):
        here = "(n) => document.activeElement === globalThis.stops[n]"
        stop = page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        assert page.evaluate(here, number), f"stop {number} is {stop}"
        page.keyboard.press("Tab")
    # The first stop leads to the experiment, and leaves the address alone.
    page.evaluate("globalThis.stops[0].focus()")
    address = page.evaluate("location.href")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "experiment"
    assert page.evaluate("location.href") == address


def test_what_is_taken_away_gives_the_same_numbers(
    page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Command and program are run as they were copied, and end at the dots of the page."""
    page.fill("#target", "h1")
    expect(page.locator("#command")).to_contain_text("--target h1 ")
    page.fill("#range", "1d:2d:2")
    page.fill(setting("dim"), "40")
    page.fill("#seeds", "2")
    page.keyboard.press("Tab")
    expect(page.locator("#command")).to_contain_text(re.compile("--dim 40 .*--samples 1d:2d:2 "))
    page.click("#run")
    dots_are_there(page)
    expect(page.locator("#command")).to_contain_text("--seeds 2")
    drawn = traces(page, "simulated")
    assert len(drawn) == 2

    # The command writes its picture where it is run.
    monkeypatch.chdir(tmp_path)
    page.click("#copy-command")
    expect(page.locator("#take-said")).to_contain_text("The command is in the clipboard")
    words = shlex.split(page.evaluate("navigator.clipboard.readText()"))
    told = CliRunner().invoke(app, [*words[1:], "--json"])
    assert told.exit_code == 0, told.stderr
    lines = json.loads(told.stdout)["comparison"]
    means = [line["mean"] for line in lines if line["metric"] == "test_error"]
    assert means == pytest.approx(drawn, rel=1e-9)

    page.click("#copy-python")
    expect(page.locator("#take-said")).to_contain_text("The Python is in the clipboard")
    space: dict[str, Any] = {}
    exec(page.evaluate("navigator.clipboard.readText()"), space)
    pairs = [list(pair.compared()) for pair in space["result"]]
    means = [line.mean for pair in pairs for line in pair if line.metric == "test_error"]
    assert means == pytest.approx(drawn, rel=1e-9)

    report = downloaded(page, "#quick-report").decode()
    assert "h1" in report
    assert "https://" not in report.replace("https://arxiv.org", "").replace("https://doi.org", "")


def test_spectra_neurons_and_their_pictures(page: Any) -> None:
    page.select_option("#learner", "giant-step")
    page.fill(setting("dim"), "60")
    page.keyboard.press("Tab")
    page.wait_for_selector("body[data-neurons=done]")
    assert page.inner_text("#step-shown") == "3"
    page.locator("#spectra").scroll_into_view_if_needed()
    page.wait_for_selector("body[data-spectrum=done]")
    assert "outliers predicted" in page.inner_text("#spectrum-said")
    for plot in ("plot", "spectrum-plot", "neuron-plot"):
        picture = downloaded(page, f".take[data-plot={plot}] >> text=PNG")
        assert picture.startswith(b"\x89PNG")
        assert int.from_bytes(picture[16:20], "big") == 1920
    assert "<svg" in downloaded(page, ".take[data-plot=plot] >> text=SVG").decode()
    assert not complaints(page)


def test_a_link_restores_the_page(somebody: Any, lab: Lab) -> None:
    page = somebody.new_page()
    page.goto(lab_address(lab.url, target="sin(h1)"))
    page.uncheck("#auto")
    page.wait_for_selector("#formula mi:has-text('sin')")
    page.select_option("#learner", "kernel")
    page.select_option("#axis", "ridge")
    page.locator("#plot .xtitle", has_text="ridge").first.wait_for()
    page.click("#pin")
    page.fill("#pins input", "mine")
    page.keyboard.press("Tab")
    page.check("#log-y")
    page.click("#copy-link")
    expect(page.locator("#take-said")).to_contain_text("The link is in the clipboard")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.evaluate("location.href")
    assert "token" not in link
    again = somebody.new_page()
    again.goto(link)
    again.locator("#plot .xtitle", has_text="ridge").first.wait_for()
    expect(again.locator("#target")).to_have_value("sin(h1)")
    expect(again.locator("#learner")).to_have_value("kernel")
    expect(again.locator("#pins input")).to_have_value("mine")
    expect(again.locator("#log-y")).to_be_checked()
    # The curve is drawn whole on both pages, though it was pinned while it came.
    for each in (page, again):
        until(
            each,
            "document.getElementById('plot').data?.find((t) => t.name === 'mine')?.y.length >= 40",
        )
    # An address that is given to an open page wins, also when the page writes its own just then.
    again.evaluate(
        """() => {
          location.hash = "target=He2(h1)";
          document.getElementById("seeds").dispatchEvent(new Event("change"));
        }"""
    )
    expect(again.locator("#target")).to_have_value("He2(h1)")


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_a_notebook_shows_the_page_inside_of_itself(chromium: Any, lab: Lab, name: str) -> None:
    """A page at another port of this machine, as a notebook's is, whose visitor has no cookie."""
    html = lab_in_notebook(lab_address(lab.url, target="h1*h2"), lab.port).encode()

    class Notebook(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html>" + html)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Notebook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with browsing(chromium) as context:
            page = context.new_page()
            page.goto(f"http://{name}:{server.server_port}/")
            inside = page.frame_locator("iframe")
            inside.locator(".stair").first.wait_for()
            expect(inside.locator("#target")).to_have_value("h1*h2")
            inside.locator("#plot .xtitle").first.wait_for()
        server.shutdown()
