"""The network before its first step: readout, biases, and first rows, real or in law."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.learners.giant_step.bartlett import bartlett
from giantstep.learners.giant_step.draws import Draws, Role
from giantstep.learners.giant_step.network import Neurons
from giantstep.learners.giant_step.plan import Plan
from giantstep.settings.neuron_readouts import neuron_readouts


def neurons(plan: Plan, draws: Draws) -> Neurons:
    """Readouts a_j and biases b_j of each run, (runs, p).

    Biases are N(0, 1), or uniform on [-1, 1]. Twin rows of a symmetric start share their bias.
    """
    pairs = [_neurons_of_run(plan, rng) for rng in draws.streams(Role.NEURONS)]
    return Neurons(*(np.stack(column) for column in zip(*pairs, strict=True)))


def _neurons_of_run(plan: Plan, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    settings = plan.settings
    distinct = plan.width // 2 if plan.symmetric else plan.width
    law = {
        "none": lambda: np.zeros(distinct),
        "normal": lambda: rng.standard_normal(distinct),
        "uniform": lambda: rng.uniform(-1, 1, distinct),
    }
    biases = law[settings.biases]()
    readouts = neuron_readouts(settings.readout, plan.width)
    if readouts is not None:
        return np.array(readouts), np.tile(biases, 2 if plan.symmetric else 1)
    support = settings.readout_support()
    if support is None:
        return rng.standard_normal(distinct), biases
    values, weights = np.asarray(support[0]), np.asarray(support[1])
    return rng.choice(values, distinct, p=weights / weights.sum()), biases


def rows(plan: Plan, draws: Draws, dtype: str) -> Float[np.ndarray, "runs p d"]:
    """First rows in d dimensions: on the unit sphere, or N(0, I/d)."""
    distinct = plan.width // 2 if plan.symmetric else plan.width
    drawn = draws.normal((distinct, plan.dim), Role.ROWS, dtype=dtype)
    return _as_started(drawn, plan)


def coordinates(plan: Plan, draws: Draws) -> Float[np.ndarray, "runs p s"]:
    """First rows in law: their coordinates on the special directions, then the rest.

    The rest is the triangular factor of p - possibly fewer - Gaussian rows in the d - s other
    dimensions, filled up with zeros to min(p, d - s) columns.
    """
    distinct = plan.width // 2 if plan.symmetric else plan.width
    known = draws.normal((distinct, plan.special), Role.ROWS)
    others = bartlett(draws, distinct, plan.dim - plan.special, Role.BARTLETT, 0)
    columns = min(plan.width, plan.dim - plan.special)
    padded = np.zeros((len(draws.seeds), distinct, columns))
    padded[..., : others.shape[-1]] = others
    return _as_started(np.concatenate([known, padded], axis=-1), plan)


def _as_started(drawn: np.ndarray, plan: Plan) -> np.ndarray:
    if plan.settings.start == "sphere":
        drawn = drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)
    else:
        drawn = drawn / np.asarray(plan.dim**0.5, dtype=drawn.dtype)
    return np.concatenate([drawn, drawn], axis=-2) if plan.symmetric else drawn
