"""The loop over seeds: a seed's run depends on its number alone."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import giantstep.learners
from giantstep.language.problem import NoTarget
from giantstep.learners.seeds import once_per_seed
from giantstep.numerics.seeds import generator
from giantstep.settings.power_law import PowerLaw


def run(problem: NoTarget, settings: PowerLaw, rng: np.random.Generator) -> dict[str, object]:
    return {"number": float(rng.standard_normal()), "pair": rng.standard_normal(2)}


def simulate(threads: int, **how: Any) -> Mapping[str, np.ndarray]:
    looped = once_per_seed(run, threads=lambda problem, settings: threads)
    return looped(NoTarget(), PowerLaw(), **how).metrics


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_a_seed_does_not_depend_on_how_many_run(threads: int) -> None:
    many = simulate(threads, seeds=5, seed=2)
    one = simulate(0, seeds=1, seed=4)
    assert many["number"].shape == (5,)
    assert many["pair"].shape == (5, 2)
    assert many["number"][2] == one["number"][0]
    assert many["pair"][2].tolist() == one["pair"][0].tolist()
    described = ("power-law", {"noise": 0.0}, PowerLaw().to_json())
    assert one["number"][0] == generator(*described, 4).standard_normal()


@pytest.mark.parametrize("threads", [0, 2])
def test_progress(threads: int) -> None:
    heard: list[float] = []
    simulate(threads, seeds=4, progress=heard.append)
    assert heard == [0.25, 0.5, 0.75, 1.0]


def test_one_owner() -> None:
    """Only the loop itself, and learners that compute seeds together, turn seeds into draws."""
    root = Path(giantstep.learners.__file__).parent
    takers = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "giantstep.numerics.seeds":
                takers.add(path.relative_to(root).parts[0])
    assert takers == {"seeds.py", "giant_step", "online_sgd"}
