"""Message passing: state evolution along a curve, eight runs, one iteration beside its products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.giant_step import side_by_side
from benchmarks.row import Row, seconds, under_a_gibibyte, under_limit
from giantstep.channels.channel import channel_of_problem
from giantstep.channels.preprocessing import Labels
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.symmetry import Committee
from giantstep.learners.amp.data import draw_amp_data
from giantstep.learners.amp.iteration import Messages, iterate_messages
from giantstep.learners.amp.simulation import simulate
from giantstep.settings.amp import Amp
from giantstep.theory.amp.committees.averages import committee_evolution_points
from giantstep.theory.amp.committees.fixed_point import OverlapBranch
from giantstep.theory.amp.committees.specialisation import specialisation
from giantstep.theory.amp.state_evolution import state_evolution

PARITY = Problem.of("sign(h1*h2)")
DIM, SAMPLES = 10_000, 40_000


def rows() -> Iterator[Row]:
    """Every bar of message passing."""
    alphas = np.linspace(0.1, 8, 60)
    state_evolution(PARITY, 1.0)
    took = seconds(lambda: [state_evolution(PARITY, alpha) for alpha in alphas], 2)
    yield under_limit("state evolution of sign(h1*h2), 60 alphas", took, 3.0)
    sign, settings = Problem.of("sign(h1)"), Amp(dim=1000, samples="4d")
    simulate(sign, settings, seeds=1)
    took = seconds(lambda: simulate(sign, settings, seeds=8), 2)
    yield under_limit("8 runs of amp for sign(h1), d=1000, n=4000", took, 5.0)
    yield from _committees()
    yield from (_iteration(target) for target in ("sign(h1)", "sign(h1*h2)"))


def _committees() -> Iterator[Row]:
    """The threshold of ten units, and one point of the specialised branch of five."""
    ten, five = (Committee(Target(f"tanh(h1)/sqrt({r})"), r, 0.0, 0.1) for r in (10, 5))
    took = seconds(lambda: specialisation.__wrapped__(ten), 1)
    yield under_limit("specialisation threshold of ten tanh units", took, 8.0)
    specialisation(five)
    took = seconds(lambda: OverlapBranch(five, committee_evolution_points(5)).point(0.6), 1)
    yield under_limit("one branch point of five tanh units", took, 10.0)
    units = " + ".join(f"tanh(h{unit})" for unit in range(1, 6))
    words = ("--target", f"({units})/sqrt(5)", "--noise", "0.1", "--samples", "27d")
    yield under_a_gibibyte("memory of a branch point of five units", "predict", "amp", *words)


def _iteration(target: str) -> Row:
    """X W and X^T G with r columns in float32, then the whole iteration, in turns."""
    problem = Problem.of(target)
    channel = channel_of_problem(problem)
    rng = np.random.default_rng(0)
    x, _, y = draw_amp_data(problem, DIM, SAMPLES, channel.noise, rng, "float32")
    labels, rank = Labels(channel, y), channel.rank
    start = 1e-3 * rng.normal(size=(DIM, rank))
    state = Messages(start, np.eye(rank), np.zeros((SAMPLES, rank)))
    weights = np.ascontiguousarray(start.T, dtype=np.float32)
    fields = [x @ column for column in weights]
    took = side_by_side(
        {
            "products": lambda: ([x @ w for w in weights], [x.T @ f for f in fields]),
            "iteration": lambda: iterate_messages(x, labels, state, 0.0, False),
        },
        rounds=5,
    )
    ratio = took["iteration"] / took["products"]
    return Row(
        f"one iteration for {target}, d=10,000, n=40,000, float32",
        f"{took['iteration']:.2f} s",
        f"two products {took['products']:.2f} s",
        ratio,
        "<= 1.5",
        ratio <= 1.5,
    )
