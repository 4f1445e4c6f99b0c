"""The loop over seeds: a seed's run depends on its number alone."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import giantstep.learners
from giantstep.learners.seeds import over_seeds
from giantstep.numerics.seeds import generator


def run(rng: np.random.Generator) -> dict[str, object]:
    return {"number": float(rng.standard_normal()), "pair": rng.standard_normal(2)}


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_a_seed_does_not_depend_on_how_many_run(threads: int | None) -> None:
    many = over_seeds(run, ("learner", {"n": 1}), seeds=5, seed=2, threads=threads)
    one = over_seeds(run, ("learner", {"n": 1}), seeds=1, seed=4)
    assert many["number"].shape == (5,)
    assert many["pair"].shape == (5, 2)
    assert many["number"][2] == one["number"][0]
    assert many["pair"][2].tolist() == one["pair"][0].tolist()
    assert one["number"][0] == generator("learner", {"n": 1}, 4).standard_normal()


@pytest.mark.parametrize("threads", [None, 2])
def test_progress(threads: int | None) -> None:
    heard: list[float] = []
    over_seeds(run, (), seeds=4, seed=0, progress=heard.append, threads=threads)
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
