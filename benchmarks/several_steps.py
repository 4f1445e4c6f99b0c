"""The risk after several giant steps: its speed, and whether it agrees with real steps.

``python -m benchmarks.several_steps DIM SEEDS [FIRST [COUNT]]`` predicts and simulates settings
FIRST, FIRST + 1, ... at that dimension and prints simulation over theory, less one, with its
standard error, row by row; then the mean weighted by inverse variances, and the rms beside the
noise. Settings, drawn by a seed, without a theory say why.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.one_step import RELU, SINE, STEP, fresh_point
from benchmarks.row import Row, cpu_seconds, under_limit
from giantstep.asking.verbs import compare, predict
from giantstep.errors import NoTheory
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep

COUNT, SEED = 40, 28
ACTIVATIONS = ("relu", "gelu", "tanh", "erf", "sin", "softplus", "tanh(z) + 0.3*z^2")
READOUTS = ("ones", "sign", "symmetric-sign", "-1:0.3,0.5:0.3,2:0.4", "normal")
#: By the number of directions.
TARGETS = (
    ("sin({c}*h1)", "h1 + {c}*He2(h1)/2", "tanh(2*h1) - {c}*h1/2", "relu(h1)"),
    ("h1 + {c}*h1*h2", "tanh(h1 + {c}*h2)", "sin(h1) + {c}*h2/2"),
    ("h1 + {c}*h2*h3/2", "tanh(h1) + {c}*sin(h2)*cos(h3)", "h1 + {c}*h2*h1/2 + tanh(h3)/2"),
)
SEVERAL = STEP.replace(samples="2d", readout_samples="2d")


def rows() -> Iterator[Row]:
    """A point and 50 ridges, after compilation, by number of steps; then curves as people ask."""
    for steps, limit in ((1, 0.012), (2, 0.1), (3, 0.3)):
        settings = RELU if steps == 1 else SEVERAL.replace(steps=steps)
        point = fresh_point(settings)
        yield under_limit(f"{steps} steps", point, limit)
        ridges = tuple(np.geomspace(0.05, 5.0, 50).tolist())
        yield _beside_a_point(f"{steps} steps, 50 ridges", fresh_point(settings, ridges), point)
        if steps > 1:
            pairs = fresh_point(settings.replace(readout="symmetric-sign"))
            yield under_limit(f"{steps} steps, pairs", pairs, 3 * limit)
    for settings in (RELU, SEVERAL.replace(steps=2), SEVERAL.replace(steps=2, dim=200)):
        point, curve = _asked(settings), _asked(settings, np.geomspace(1e-4, 10.0, 50).tolist())
        where = f"d = {settings.dim}" if settings.dim else "the limit"
        yield _beside_a_point(f"predict, {settings.steps} steps, {where}, 50 ridges", curve, point)


def _asked(settings: GiantStep, ridges: list[float] | None = None) -> float:
    """A prediction at one ridge or many, of steps that none before had."""
    predict(settings, SINE)
    moved = settings.replace(step_size=1e-9 * len(ridges or "1") + settings.step_size.at(1))
    asked = moved.replace(ridge=ridges) if ridges else moved
    return cpu_seconds(lambda: predict(asked, SINE), 1)


def _beside_a_point(work: str, curve: float, point: float) -> Row:
    met = curve <= 5 * point
    return Row(work, f"{curve:.3f} s", f"a point {point:.3f} s", curve / point, "<= 5", met)


def questions(count: int = COUNT) -> list[tuple[Problem, GiantStep]]:
    """Steps, activations and readouts in turn, everything else at random."""
    rng = np.random.default_rng(SEED)
    found = []
    for number in range(count):
        rank = int(rng.integers(3))
        target = str(rng.choice(TARGETS[rank])).format(c=f"{rng.uniform(0.4, 1.2):.2f}")
        noise = float(rng.choice([0.0, 0.0, 0.1]))
        settings = GiantStep(
            steps=2 + number % 3,
            activation=ACTIVATIONS[number % len(ACTIVATIONS)],
            readout=READOUTS[(number + number // 5) % len(READOUTS)],
            step_size=_spread(rng, 0.3, 1.5),
            samples=f"{_spread(rng, 1, 10)}d",
            readout_samples=f"{_spread(rng, 0.3, 5)}d",
            width=f"{_spread(rng, 0.3, 5)}d",
            ridge=_spread(rng, 0.01, 10),
            test_samples=4000,
        )
        found.append((Problem.of(target, noise=noise), settings))
    return found


def _spread(rng: np.random.Generator, low: float, high: float) -> float:
    """A number drawn evenly on a logarithmic scale, with two digits."""
    return float(f"{np.exp(rng.uniform(np.log(low), np.log(high))):.2g}")


def main() -> int:
    """Print the rows and what they say together."""
    dim, seeds, *which = map(int, sys.argv[1:])
    first, count = [*which, *(0, COUNT)[len(which) :]]
    rows = []
    for number, (problem, settings) in list(enumerate(questions()))[first : first + count]:
        question = settings.replace(dim=dim, width=2 * round(settings.width.at(dim) / 2))
        try:
            found = compare(question, problem, seeds=seeds).to_xarray().isel(step=-1)
        except NoTheory as why:
            print(f"{number:2} no theory: {why}", flush=True)
            continue
        theory = float(found["test_error_theory"])
        runs = np.ravel(found["test_error"]) / theory - 1
        stated = float(found["test_error_error"]) / theory
        rows.append((runs.mean(), runs.std(ddof=1) / np.sqrt(seeds), stated))
        numbers = " ".join(f"{part:+.4f}" for part in rows[-1])
        print(f"{number:2} {numbers} {theory:.4f} {problem.target} {question}", flush=True)
    mean, sem, stated = np.array(rows).T
    weights = sem**-2
    print(
        f"{len(rows)} settings: mean {weights @ mean / weights.sum():+.4f} "
        f"({weights.sum() ** -0.5:.4f}), rms {np.sqrt(np.mean(mean**2)):.4f}, noise "
        f"{np.sqrt(np.mean(sem**2)):.4f}, within 3 errors of both: "
        f"{np.mean(abs(mean) <= 3 * np.hypot(sem, stated)):.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
