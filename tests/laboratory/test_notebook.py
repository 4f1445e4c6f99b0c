"""What `gs.lab()` does in a notebook and in a terminal."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import giantstep as gs
from giantstep.laboratory import launch
from giantstep.laboratory.launch import Lab


@pytest.fixture
def opened(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """How a lab was opened; the one of all tests stands in for a new one."""
    asked: list[dict] = []

    def new(**how: object) -> object:
        asked.append(how)
        return types.SimpleNamespace(start=lambda: lab)

    monkeypatch.setattr(launch, "Lab", new)
    return asked


def test_in_a_notebook_the_page_is_shown(
    lab: Lab, opened: list[dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    ipython = types.ModuleType("IPython")
    display = types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: shell
    display.HTML, display.display = str, shown.append
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert gs.lab(target="h1*h2", port=8765) is lab
    assert opened == [{"port": 8765, "embeddable": True}]
    address = f"http://127.0.0.1:{lab.port}/?token={lab.keys.token}#target=h1%2Ah2"
    assert f'data-address="{address}"' in shown[0]
    assert repr(lab) == f"Lab at {lab.url}; close() ends it"


def test_python_of_the_page_about_it_opens_and_closes_a_lab(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = Path(__file__).parents[2] / "docs" / "lab.md"
    [code] = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    visited: list[str] = []
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr(launch, "open_browser", visited.append)
    names: dict[str, Any] = {}
    exec(compile(code, page.name, "exec"), names)
    assert visited[0].endswith("#target=h1%20%2B%20h1%2Ah2")
    assert not any(
        m.is_alive() for crew in names["lab"].desk.crews.values() for m in crew.pool.members
    )


def test_elsewhere_the_browser_opens(
    lab: Lab,
    opened: list[dict],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    visited: list[str] = []
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr(launch, "open_browser", visited.append)
    assert gs.lab() is lab
    assert visited == [lab.url]
    assert capsys.readouterr().out.strip() == lab.url
