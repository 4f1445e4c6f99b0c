"""A real browser opens the page: its mathematics, text and pictures are there to be seen."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from browser import browser, rendered, screenshot
from report_sizes import TINY

from giantstep.language.problem import Problem
from giantstep.reports import page
from giantstep.reports.page import write_report
from giantstep.reports.sections import SECTIONS


@pytest.mark.slow
def test_chromium_shows_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.image import imread

    browser()
    shown = {key: SECTIONS[key] for key in ("target", "staircases", "floors", "climbing")}
    monkeypatch.setattr(page, "SECTIONS", shown)
    report = write_report(Problem.of("h1 + h1*h2"), tmp_path / "report.html", scale=TINY)
    seen = rendered(report.path, tmp_path)
    for section in report.sections:
        assert f'id="{section.key}"' in seen
        assert section.title in seen
        for picture in section.pictures:
            assert picture.alt in seen
    assert len(re.findall(r"<svg[^>]*role=\"img\"", seen)) == 5
    assert "<msub>" in seen
    pixels = imread(screenshot(report.path, tmp_path / "page.png", height=3000))[:, :, :3]
    assert pixels.shape[:2] == (3000, 900)
    # The blue of the bars: a picture is drawn, not only described.
    blue = np.abs(pixels - np.array([0x00, 0x72, 0xB2]) / 255).max(axis=2) < 0.03
    assert blue.sum() > 2000
