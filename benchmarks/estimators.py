"""The regressor's time in seconds of the processor, streamed fits, and directions in noise."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.row import Row, under_limit
from giantstep.datasets import make_multi_index
from giantstep.estimators import GiantStepRegressor, IndexDirections

#: Rows and columns of fits in memory, and the seconds that one thread may take for them.
FITS = {(1000, 50): 3.0, (2000, 50): 5.0, (20_000, 100): 60.0}
#: Rows and columns of streamed fits, and the largest power of n d in their cost.
STREAMED, POWER = ((5000, 50), (10_000, 100), (20_000, 200), (40_000, 400)), 1.1
#: Data sets of pure noise, and the largest share of them in which a direction may be found.
NOISE_SETS, LEVEL = 200, 0.07


def rows() -> Iterator[Row]:
    """Warm fits, then the level of the count of directions."""
    for (samples, dim), limit in FITS.items():
        X, y, _ = make_multi_index("sin(h1) + abs(h2)", dim=dim, samples=samples, noise=0.1)
        GiantStepRegressor().fit(X[:100], y[:100])
        begin = time.process_time()
        with threadpool_limits(1, user_api="blas"):
            GiantStepRegressor().fit(X, y)
        spent = time.process_time() - begin
        yield under_limit(f"GiantStepRegressor, n = {samples}, d = {dim}, CPU", spent, limit)
    yield _streamed()
    found = 0
    for seed in range(NOISE_SETS):
        generator = np.random.default_rng(seed)
        X, y = generator.standard_normal((200, 20)), generator.standard_normal(200)
        # The count rests on folds; the permutation test beside it is not needed here.
        found += IndexDirections(n_permutations=0).fit(X, y).n_directions_ > 0
    share = found / NOISE_SETS
    yield Row(
        f"IndexDirections on {NOISE_SETS} tables of noise, n = 200, d = 20",
        f"{100 * share:.1f} % with a direction",
        f"at most {100 * LEVEL:g} %",
        share / LEVEL,
        "<= 1",
        share <= LEVEL,
    )


def _streamed() -> Row:
    """How the processor's time of a streamed fit grows with n d."""
    spent = []
    for samples, dim in STREAMED:
        generator = np.random.default_rng(0)
        X = generator.standard_normal((samples, dim), dtype=np.float32)
        y = np.abs(X @ generator.standard_normal(dim)) / np.sqrt(dim)
        y += 0.1 * generator.standard_normal(samples)
        model = GiantStepRegressor(streaming=True, max_directions=1, width=200)
        begin = time.process_time()
        model.fit(X, y)
        spent.append(time.process_time() - begin)
    sizes = [samples * dim for samples, dim in STREAMED]
    power = float(np.polyfit(np.log(sizes), np.log(spent), 1)[0])
    return Row(
        "streamed fit, n d = 2.5e5 to 1.6e7",
        f"{spent[-1]:.1f} s CPU at the largest, power {power:.2f} of n d",
        f"power {POWER:g}",
        power / POWER,
        "<= 1",
        power <= POWER,
    )
