"""What the page about estimators claims of its last example: trees win there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from giantstep.estimators import GiantStepRegressor

PAGE = Path(__file__).parents[2] / "docs" / "estimators.md"


@pytest.mark.slow
def test_trees_win_where_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Where trees win")[2]
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(block, str(PAGE), "exec"), {"np": np, "GiantStepRegressor": GiantStepRegressor})
    ours, trees = map(float, capsys.readouterr().out.split())
    assert trees > ours + 0.2
