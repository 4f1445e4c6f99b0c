"""axe reads the page as it is at day, at night, on a desk and on a phone."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
from laboratory.browsing import browsing, dots_are_there

from giantstep.laboratory.launch import Lab

pytestmark = pytest.mark.slow
AXE = files("axe_playwright_python").joinpath("axe.min.js")
FOUND = "axe.run(document, {resultTypes: ['violations']}).then((all) => all.violations)"


def violations(page: Any) -> list[str]:
    """What keeps people out, by rule, how bad it is, and where it is first."""
    return [
        f"{found['id']} ({found['impact']}): {found['nodes'][0]['html']}"
        for found in page.evaluate(FOUND)
    ]


def test_axe_finds_nothing(chromium: Any, lab: Lab) -> None:
    # The page forbids scripts from elsewhere; this one is let in.
    with browsing(chromium, bypass_csp=True, reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(lab.url)
        dots_are_there(page)
        page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
        assert violations(page) == []  # with the tour open
        page.click("#tour-skip")
        for width, scheme in [(1600, "dark"), (390, "dark"), (390, "light"), (1600, "light")]:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            assert violations(page) == [], f"{scheme} at {width}"
        # It would have been found: a field without its name, a pale text.
        page.evaluate(
            """() => {
              document.querySelector("label[for=seeds]").remove();
              document.querySelector("#learner-summary").style.color = "#ccc";
            }"""
        )
        assert [found.split(":")[0] for found in violations(page)] == [
            "color-contrast (serious)",
            "label (critical)",
        ]
