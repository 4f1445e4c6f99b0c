"""Trees: a layer-wise run beside the products and eigendecompositions in it; peak memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.row import Row, seconds
from giantstep.language.problem import TreeProblem
from giantstep.learners.three_layer.layers import STEPS
from giantstep.learners.three_layer.layerwise import TURNS, UNITS
from giantstep.learners.three_layer.simulation import simulate
from giantstep.settings.three_layer import ThreeLayer

#: Bytes that a run of 50,000 samples in 100 dimensions may hold.
MOST_BYTES = 4 * 2**30
_RUN = """
import resource
from giantstep.learners.three_layer.simulation import simulate
from giantstep.language.problem import TreeProblem
from giantstep.settings.three_layer import ThreeLayer
simulate(TreeProblem("tree-he2"), ThreeLayer(dim=100, samples=50_000), seeds=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def rows() -> Iterator[Row]:
    """Both bars of trees."""
    yield _layerwise()
    yield _memory()


def _layerwise() -> Row:
    """All scenarios but the lazy one, d = 64, n = 4096."""
    settings, problem = ThreeLayer(dim=64, samples=4096), TreeProblem("tree-he2")
    simulate(problem, settings, seeds=1)
    ours = seconds(lambda: simulate(problem, settings, seeds=1), 2)
    ratio = ours / (peer := seconds(lambda: _contained(settings), 2))
    return Row(
        "layer by layer, d=64, n=4096, to joint training",
        *(f"{ours:.2f} s", f"products and eigenvectors {peer:.2f} s"),
        *(ratio, "<= 4", ratio <= 4),
    )


def _contained(settings: ThreeLayer) -> None:
    """The matrix products and eigendecompositions of one run, counted, on random numbers."""
    dim, n, leaves = 64, 4096, 8
    width, second = settings.widths(dim)
    rng = np.random.default_rng(0)
    x, h, j, h2, rows2, units = (
        rng.standard_normal(shape)
        for shape in (
            *((n, dim), (n, width), (n, leaves * dim), (n, second)),
            *((second, width), (UNITS, dim)),
        )
    )
    theta, wide = rng.standard_normal((width, leaves)), rng.standard_normal((n, UNITS))
    z = x[:, :leaves]

    def fit(features: np.ndarray) -> None:
        np.linalg.eigh(features.T @ features)

    def forward(times: int) -> None:
        for _ in range(times):
            z @ theta.T

    for _ in range(settings.number_of_steps(dim)):
        x @ units.T
        wide.T @ x
    # Below a readout: its fit, its slopes, its residuals, the turn. A last readout, and its test.
    for _ in range(TURNS):
        fit(h)
        forward(3)
        h @ theta
        fit(j)
    fit(h)
    forward(2)
    # A random second layer: seen, fitted, tested.
    forward(3)
    for _ in range(3):
        h @ rows2.T
    fit(h2)
    # Trained second layers, each a fit and steps; turns between them.
    for _ in range(1 + TURNS):
        for _ in range(1 + STEPS):
            fit(h)
            forward(3)
    for _ in range(TURNS):
        forward(2)
        h @ theta
        fit(j)


def _memory() -> Row:
    """Peak memory of one run in a process of its own."""
    done = subprocess.run([sys.executable, "-c", _RUN], capture_output=True, text=True, check=True)
    used = int(done.stdout.split()[-1])
    return Row(
        "peak memory, d=100, n=50000",
        *(f"{used / 2**30:.2f} GiB", "limit 4 GiB", used / MOST_BYTES, "<= 1", used < MOST_BYTES),
    )
