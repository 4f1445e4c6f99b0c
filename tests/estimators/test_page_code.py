"""The code on the page about estimators runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "estimators.md"


@pytest.mark.slow
def test_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert (tmp_path / "diabetes-links.png").stat().st_size > 1000
    # The honest example: trees win by far where codes are left as numbers.
    ours, trees = map(float, capsys.readouterr().out.split()[-2:])
    assert trees > ours + 0.2
