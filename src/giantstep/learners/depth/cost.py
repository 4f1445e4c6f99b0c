"""What networks on trees cost."""

from __future__ import annotations

from giantstep.learners.cost import DRAW, EXPONENTIAL, Cost, ridge_fit
from giantstep.learners.depth.adam import DECAYS, TWO_LAYERS_WIDER
from giantstep.learners.depth.authors import RANDOM_WIDTH, SECOND_STEPS
from giantstep.learners.depth.chunked_ridge import ENTRIES
from giantstep.learners.depth.krylov_ridge import PROBES
from giantstep.learners.depth.krylov_ridge import STEPS as KRYLOV_STEPS
from giantstep.learners.depth.layerwise import TURNS
from giantstep.learners.depth.moment_steps import UNITS
from giantstep.learners.depth.second_layer import STEPS
from giantstep.learners.depth.sizes import tree_sizes
from giantstep.learners.depth.turning_step import MOST_COLUMNS
from giantstep.problem import TreeProblem
from giantstep.settings.three_layer import ThreeLayer


def cost(problem: TreeProblem, settings: ThreeLayer) -> Cost:
    """Samples in d dimensions, held, and the fits and steps of a scenario."""
    dim, _, directions = tree_sizes(problem, settings)
    n, (width, second) = settings.samples.count(dim, "samples"), settings.widths(dim)
    rows = n + settings.test_samples
    held, work = {
        "lazy": lambda: _lazy(n, dim),
        "adam": lambda: _adam(settings, n, dim, width, second),
        "authors": lambda: _authors(settings, n, dim, width, second),
    }.get(settings.scenario, lambda: _layerwise(settings, n, dim, width, second, directions))()
    return Cost(
        8 * (rows * (dim + 6.0) + held),
        rows * dim * (DRAW + dim) + work,
        f"samples = {n}, width = {width} at dim = {dim}",
        "lower --samples, --width, --dim or --test-samples",
    )


def _solve(n: int, columns: int, products: float) -> tuple[float, float]:
    """Numbers held and operations of a fit: dense, or by so costly products with the design."""
    if columns <= MOST_COLUMNS:
        return 2.0 * ENTRIES + 4.0 * min(columns, n) ** 2, ridge_fit(n, columns)
    steps = KRYLOV_STEPS * (1 + PROBES)
    return 2.0 * columns * KRYLOV_STEPS, steps * (2 * products + 2.0 * columns * KRYLOV_STEPS)


def _lazy(n: int, dim: int) -> tuple[float, float]:
    return _solve(n, dim + dim * (dim + 1) // 2, 1.0 * n * dim**2)


def _layerwise(
    settings: ThreeLayer, n: int, dim: int, width: int, second: int, directions: int
) -> tuple[float, float]:
    readout = ridge_fit(n, width) + n * width * (2.0 * directions + EXPONENTIAL / 10)
    held, turn = _solve(n, directions * dim, 1.0 * n * directions * dim)
    turn += 3.0 * n * width * directions
    work = settings.number_of_steps(dim) * 2.0 * n * dim * UNITS + 2 * readout
    work += ridge_fit(n, second) + n * second * (width + EXPONENTIAL / 10)
    fits = {"first-layer": 0, "second-layer": 1, "joint": 1 + TURNS}[settings.scenario]
    turns = 0 if settings.oracle else TURNS
    work += turns * (turn + readout) + fits * (1 + STEPS) * readout
    work += turns * turn if settings.scenario == "joint" else 0.0
    return held + n * directions * 2.0 + 5.0 * second**2, work


def _adam(settings: ThreeLayer, n: int, dim: int, width: int, second: int) -> tuple[float, float]:
    weights = {2: TWO_LAYERS_WIDER * width * dim, 3: width * (dim + second)}
    layers = [int(name[-1]) for name in settings.networks]
    passes = settings.number_of_steps(dim) * len(DECAYS) * 3.0 * n
    return 1.0 * n * dim + 10.0 * max(weights.values()), sum(passes * weights[k] for k in layers)


def _authors(
    settings: ThreeLayer, n: int, dim: int, width: int, second: int
) -> tuple[float, float]:
    first = settings.number_of_steps(dim) * 3.0 * n * width * (dim + second)
    later = SECOND_STEPS * 2.0 * n * width * second
    fits = sum(ridge_fit(n, p) for p in (width, RANDOM_WIDTH, second))
    return 3.0 * n * (width + RANDOM_WIDTH), first + later + fits
