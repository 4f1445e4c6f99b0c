"""Online SGD in law and the equations of motion, beside compiled and plain loops of the same.

All in CPU seconds.
"""

from __future__ import annotations

import ctypes
import math
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.row import Row, cpu_seconds, under_limit
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.learners.online_sgd.plan import SgdDraws, plan_online_sgd
from giantstep.learners.online_sgd.simulation import simulate
from giantstep.numerics.ode import ode_trajectory
from giantstep.settings.online_sgd import OnlineSgd
from giantstep.theory.giant_step.neuron_kinds import NeuronKinds
from giantstep.theory.giant_step.reused_population import reused_batch_path
from giantstep.theory.online_sgd.committee import ErrorFunctions, Layer, velocity

PROBLEM = Problem("tanh(h1)")
#: 1e7 samples: so many runs of so many samples each.
RUNS, SAMPLES = 100, 100_000
DIM = 1000

#: One neuron on the sphere, correlation loss, tanh: the recursion written out.
C_LOOP = r"""
#include <math.h>
void loop(long runs, long n, double gain, double *m, double *normals, double *chi) {
  for (long k = 0; k < runs; k++) {
    double a = m[k];
    for (long i = 0; i < n; i++) {
      double hs = normals[3 * (k * n + i)], z = normals[3 * (k * n + i) + 1];
      double s = sqrt(1 - a * a), h = a * hs + s * z, t = tanh(h);
      double move = tanh(hs) * (1 - t * t), b = move * hs, c = move * z, along = move * h;
      double out = move * chi[k * n + i];
      double top = a + gain * (b - along * a), rest = s + gain * (c - along * s);
      a = top / sqrt(top * top + rest * rest + gain * gain * out * out);
    }
    m[k] = a;
  }
}
"""


def rows() -> Iterator[Row]:
    """In law against C and Python, at two dimensions; the committee; the population."""
    yield from _online()
    yield from _committee()
    kinds = NeuronKinds.one_of_each([1.0])
    options: dict[str, Any] = {"steps": 5, "step_size": 0.8, "samples_ratio": 2.0, "accuracy": 1e-3}
    sign, tanh = Problem("sign(h1)"), activation("tanh")
    reused_batch_path(sign, tanh, kinds, **options)
    took = cpu_seconds(lambda: reused_batch_path(sign, tanh, kinds, **options))
    yield under_limit("five steps on one batch, to 1e-3", took, 1.0)


def _settings(dim: int) -> OnlineSgd:
    return OnlineSgd(
        dim=dim,
        times=f"{SAMPLES / dim:.17g}",
        activation="tanh",
        loss="correlation",
        step_size=0.5,
        start_overlap="0.1",
        test_samples=1,
    )


def _online() -> Iterator[Row]:
    def run(dim: int) -> None:
        simulate(PROBLEM, _settings(dim), seeds=RUNS)

    sizes = (DIM, 10**9)
    for dim in sizes:
        run(dim)
    # In turns, so that what else the machine does falls on both.
    turns = [[cpu_seconds(lambda dim=dim: run(dim), 1) for dim in sizes] for _ in range(4)]
    small, large = np.min(turns, axis=0)
    with tempfile.TemporaryDirectory() as folder:
        compiled = _compiled(Path(folder))
        peer = cpu_seconds(lambda: _in_c(compiled), 2)
    work = "1e7 samples of online SGD in law"
    yield Row(
        *(work, f"{small:.2f} s", f"loop in C {peer:.2f} s", small / peer, "<= 2"),
        small <= 2 * peer,
    )
    steps = 20_000
    python = cpu_seconds(lambda: _in_python(steps), 1) * RUNS * SAMPLES / steps
    yield Row(
        *(work, f"{small:.2f} s", f"numpy loop {python:.0f} s (scaled)", python / small, ">= 100"),
        python >= 100 * small,
    )
    ratio = max(large / small, small / large)
    yield Row(
        *("the same at d = 1e9", f"{large:.2f} s", f"d = 1e3: {small:.2f} s", ratio, "<= 1.2"),
        ratio <= 1.2,
    )


def _compiled(folder: Path) -> Callable[..., Any]:
    source, library = folder / "loop.c", folder / "loop.so"
    source.write_text(C_LOOP)
    command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library, "-lm"]
    subprocess.run([str(part) for part in command], check=True)
    return ctypes.CDLL(str(library)).loop


def _in_c(compiled: Callable[..., Any]) -> None:
    """The same numbers drawn by the same generators, run by run, then the loop."""
    draws = SgdDraws(plan_online_sgd(PROBLEM, _settings(DIM)), list(range(RUNS)))
    overlaps = np.full(RUNS, 0.1)
    doubles = ctypes.POINTER(ctypes.c_double)
    for chunk in np.array_split(np.arange(SAMPLES), 20):
        count = len(chunk)
        normals, lengths = draws.normals(count), draws.factors(count)
        arrays = [array.ctypes.data_as(doubles) for array in (overlaps, normals, lengths)]
        compiled(ctypes.c_long(RUNS), ctypes.c_long(count), ctypes.c_double(0.5 / DIM), *arrays)


def _in_python(steps: int) -> float:
    """A Python loop with numpy, as published code has it."""
    rng, overlap, gain = np.random.default_rng(0), np.array([0.1]), 0.5 / DIM
    for _ in range(steps):
        latent, rest = rng.standard_normal(1), rng.standard_normal()
        spread = np.sqrt(1 - overlap @ overlap)
        field = overlap @ latent + spread * rest
        move = np.tanh(latent[0]) * (1 - np.tanh(field) ** 2)
        outside = move**2 * rng.chisquare(DIM - 2)
        top = overlap + gain * (move * latent - move * field * overlap)
        side = spread + gain * (move * rest - move * field * spread)
        overlap = top / np.sqrt(top @ top + side**2 + gain**2 * outside)
    return float(overlap[0])


def _committee() -> Iterator[Row]:
    """p = r = 4 to time 100: ours, and the same closed forms one by one under solve_ivp."""
    size, until = 4, 100.0
    readout, teacher = np.full(size, float(size)), np.ones(size)
    overlaps = 0.05 * np.eye(size) + 0.02
    start = Layer(overlaps, overlaps @ overlaps.T + 0.5 * np.eye(size)).flat()
    four = ErrorFunctions(readout, teacher, 0.0)

    def ours() -> Any:
        return ode_trajectory(
            lambda x: velocity(four, Layer.unflat(x, size), 0.05, "free").flat(),
            start,
            [until],
            tolerance=1e-6,
        )

    ours()
    took = cpu_seconds(ours)
    yield under_limit("erf committee p = r = 4 to time 100", took, 0.5)
    from scipy.integrate import solve_ivp

    calls = 0

    def plain(_: float, x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        return _plain_velocity(x, size, 0.05)

    # A tenth of the time is enough to know the price of a call; ours says how many it takes.
    begin = cpu_seconds(lambda: solve_ivp(plain, (0.0, until / 10), start, rtol=1e-6, atol=1e-7), 1)
    each = begin / calls
    total = each * _calls(four, start, size, until)
    yield Row(
        *("the same", f"{took:.3f} s", f"plain loops {total:.1f} s (scaled)", total / took),
        *(">= 10", total >= 10 * took),
    )


def _calls(four: ErrorFunctions, start: np.ndarray, size: int, until: float) -> int:
    count = 0

    def counted(x: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1
        return velocity(four, Layer.unflat(x, size), 0.05, "free").flat()

    ode_trajectory(counted, start, [until], tolerance=1e-6)
    return count


def _plain_velocity(x: np.ndarray, size: int, step: float) -> np.ndarray:
    """The equations of Saad and Solla in plain loops: what a user would write."""
    layer = Layer.unflat(x, size)
    c = np.block([[layer.gram, layer.overlaps], [layer.overlaps.T, np.eye(size)]])
    signed = [-1.0] * size + [1.0] * size
    fields = range(2 * size)

    def third(i: int, j: int, k: int) -> float:
        top = c[j, k] * (1 + c[i, i]) - c[i, j] * c[i, k]
        root = math.sqrt((1 + c[i, i]) * (1 + c[k, k]) - c[i, k] ** 2)
        return 2 / math.pi * top / ((1 + c[i, i]) * root)

    def fourth(i: int, j: int, k: int, m: int) -> float:
        wide_i, wide_j = 1 + c[i, i], 1 + c[j, j]
        l4 = wide_i * wide_j - c[i, j] ** 2
        l0 = l4 * c[k, m] - c[j, k] * c[j, m] * wide_i - c[i, k] * c[i, m] * wide_j
        l0 += c[i, j] * (c[i, k] * c[j, m] + c[i, m] * c[j, k])

        def side(n: int) -> float:
            found = l4 * (1 + c[n, n]) - c[j, n] ** 2 * wide_i - c[i, n] ** 2 * wide_j
            return found + 2 * c[i, j] * c[i, n] * c[j, n]

        ratio = max(-1.0, min(1.0, l0 / math.sqrt(side(k) * side(m))))
        return 4 / math.pi**2 * math.asin(ratio) / math.sqrt(l4)

    overlaps, gram = np.zeros((size, size)), np.zeros((size, size))
    for i in range(size):
        for n in range(size):
            overlaps[i, n] = step * size * sum(signed[k] * third(i, size + n, k) for k in fields)
        for j in range(size):
            pulled = sum(signed[k] * (third(i, j, k) + third(j, i, k)) for k in fields)
            both = sum(signed[k] * signed[m] * fourth(i, j, k, m) for k in fields for m in fields)
            gram[i, j] = step * size * pulled + (step * size) ** 2 * both
    return Layer(overlaps, gram).flat()
