"""What message passing and spectral methods cost: they keep their data."""

from __future__ import annotations

from giantstep.channels import channel_for
from giantstep.channels.channel import Quadrature, evaluations
from giantstep.channels.committees.core import Committees
from giantstep.errors import SettingsError
from giantstep.learners.cost import DRAW, EIGEN, ENTRY, EXPONENTIAL, Cost
from giantstep.learners.message_passing.spectral import DENSE
from giantstep.problem import Problem
from giantstep.settings.amp import Amp
from giantstep.settings.spectral import Spectral

#: Iterations, and products of an iterative eigensolver, that a run takes as a rule.
_ITERATIONS, _PRODUCTS = 50, 100
#: Exponentials that a posterior and its derivatives take at each point of a rule.
_POINT = 30
#: The same for each unit of a committee.
_UNIT = 10_000
_REMEDY = "lower --samples or --dim"


def amp(problem: Problem, settings: Amp) -> Cost:
    """Two products with the inputs and the posterior of every label, at each iteration."""
    n, dim, sizes = _sizes(settings)
    rank = problem.target.rank
    iterations = min(settings.iterations, _ITERATIONS)
    core = channel_for(problem).likelihood.core
    if isinstance(core, Committees):
        points = _UNIT * rank
    else:
        points = _POINT * evaluations(core) if isinstance(core, Quadrature) else rank**2 * 100
    step = 2 * rank * ENTRY * n * dim + n * points * EXPONENTIAL
    width = 4 if settings.dtype == "float32" else 8
    return Cost(n * dim * float(width), n * dim * DRAW + iterations * step, sizes, _REMEDY)


def spectral(problem: Problem, settings: Spectral) -> Cost:
    """A weighted covariance and its eigenvectors, formed or applied."""
    n, dim, sizes = _sizes(settings)
    rank = problem.target.rank
    dense = n * float(dim) ** 2 + EIGEN * float(dim) ** 3
    solve = rank * (dense if dim <= DENSE else _PRODUCTS * 2 * ENTRY * n * dim)
    held = 8 * (2.0 * n * dim + (2.0 * dim**2 if dim <= DENSE else 0.0))
    return Cost(held, n * dim * DRAW + solve, sizes, _REMEDY)


def _sizes(settings: Amp | Spectral) -> tuple[int, int, str]:
    if settings.dim is None:
        raise SettingsError("dim is missing: a simulation needs --dim, the dimension of the inputs")
    n = settings.samples.count(settings.dim, "samples")
    return n, settings.dim, f"samples = {n} at dim = {settings.dim}"
