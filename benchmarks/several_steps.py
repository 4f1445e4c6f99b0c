"""Does the risk after several giant steps agree with real steps? Settings drawn by a seed.

``python -m benchmarks.several_steps DIM SEEDS [FIRST [COUNT]]`` predicts and simulates settings
FIRST, FIRST + 1, ... at that dimension and prints simulation over theory, less one, with its
standard error, row by row; then the mean weighted by inverse variances, and the rms beside the
noise. Settings without a theory say why.
"""

from __future__ import annotations

import sys

import numpy as np

from giantstep.asking.verbs import compare
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
