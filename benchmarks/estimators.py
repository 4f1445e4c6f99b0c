"""The regressor's time in seconds of the processor, and directions found where there are none."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.row import Row, under_limit
from giantstep.datasets import make_multi_index
from giantstep.estimators import GiantStepRegressor, IndexDirections

#: Data sets of pure noise, and the largest share of them in which a direction may be found.
NOISE_SETS, LEVEL = 200, 0.07


def rows() -> Iterator[Row]:
    """A warm fit at n = 1000, d = 50, then the level of the count of directions."""
    X, y, _ = make_multi_index("sin(h1) + abs(h2)", dim=50, samples=1000, noise=0.1)
    GiantStepRegressor().fit(X[:100], y[:100])
    begin = time.process_time()
    GiantStepRegressor().fit(X, y)
    spent = time.process_time() - begin
    yield under_limit("GiantStepRegressor, n = 1000, d = 50, CPU", spent, 3.0)
    found = 0
    for seed in range(NOISE_SETS):
        generator = np.random.default_rng(seed)
        X, y = generator.standard_normal((200, 20)), generator.standard_normal(200)
        found += IndexDirections().fit(X, y).n_directions_ > 0
    share = found / NOISE_SETS
    yield Row(
        f"IndexDirections on {NOISE_SETS} tables of noise, n = 200, d = 20",
        f"{100 * share:.1f} % with a direction",
        f"at most {100 * LEVEL:g} %",
        share / LEVEL,
        "<= 1",
        share <= LEVEL,
    )
