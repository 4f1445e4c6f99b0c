"""The experiment on the page as a command and as Python."""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Mapping
from typing import Any

from giantstep.asking.table import Learner
from giantstep.settings.options import flag

#: What a problem is without saying so.
_USUAL = {"noise": ("0", "0.0", 0, 0.0), "inputs": ("gaussian",)}


def lab_as_command(
    row: Learner, settings: Mapping[str, Any], problem: Mapping[str, Any], seeds: int
) -> str:
    """The command that lays the same dots over the same line.

    >>> from giantstep.asking.table import learner_to_ask
    >>> kernel = learner_to_ask("kernel")
    >>> lab_as_command(kernel, {"dim": 100, "samples": "1d"}, {"target": "h1*h2"}, 4)
    "giantstep compare kernel --target 'h1*h2' --dim 100 --samples 1d --seeds 4"
    """
    words = ["giantstep", "compare", row.name]
    for name, value in {**_lab_unusual_problem(problem), **settings}.items():
        if value is True:
            words.append(flag(name))
        elif value is not None and value is not False:
            words += [flag(name), str(value)]
    return shlex.join([*words, "--seeds", str(seeds)])


def lab_in_python(
    row: Learner, settings: Mapping[str, Any], problem: Mapping[str, Any], seeds: int
) -> str:
    """The same in Python.

    >>> from giantstep.asking.table import learner_to_ask
    >>> kernel = learner_to_ask("kernel")
    >>> print(lab_in_python(kernel, {"dim": "100", "samples": "1d"}, {"target": "h1*h2"}, 4))
    import giantstep as gs
    <BLANKLINE>
    settings = gs.Kernel(dim=100, samples='1d')
    result = gs.compare(settings, 'h1*h2', seeds=4)
    result.plot()
    """
    chosen = ", ".join(
        f"{name}={_lab_literal(value)}" for name, value in settings.items() if value is not None
    )
    given = _lab_unusual_problem(problem)
    words = ["settings", *([repr(given.pop("target"))] if "target" in given else [])]
    words += [f"{name}={_lab_literal(value)}" for name, value in given.items()]
    return "\n".join(
        [
            "import giantstep as gs",
            "",
            f"settings = gs.{row.load('settings').__name__}({chosen})",
            f"result = gs.compare({', '.join(words)}, seeds={seeds})",
            "result.plot()",
        ]
    )


def _lab_literal(value: Any) -> str:
    """A value in Python: a number as a number, sizes in d and ranges as texts."""
    if isinstance(value, str):
        for number in (int, float):
            with contextlib.suppress(ValueError, OverflowError):
                if math.isfinite(read := number(value)):
                    return repr(read)
    return repr(value)


def _lab_unusual_problem(problem: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in problem.items() if value not in _USUAL.get(name, ())}
