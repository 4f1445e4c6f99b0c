"""The prediction for the learner `random-features`: which theory covers which settings."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from giantstep.errors import NoTheory
from giantstep.networks.activations import Activation, activation
from giantstep.numerics.float64 import float64
from giantstep.problem import Problem
from giantstep.results import Prediction, Status
from giantstep.settings.problem_rules import check_binary_labels, input_law
from giantstep.settings.random_features import RandomFeatures
from giantstep.targets import Target
from giantstep.targets.hermite import energies, moments
from giantstep.theory.convex_loss import Features, convex_risk
from giantstep.theory.deterministic_equivalent import Spectrum
from giantstep.theory.label_geometry import OUTER_ORDER, Labels, _labels_of
from giantstep.theory.optimal_ridge import optimal_ridge
from giantstep.theory.polynomial_regime import DegreeEnergies, polynomial_regime
from giantstep.theory.ridge_prediction import (
    _best_ridge,
    _check_optimise,
    _check_well_posed,
    _described,
    _peak_note,
    _ridge_gradient,
    _ridge_metrics,
)
from giantstep.theory.spectra import random_feature_spectrum

SQUARE = ("Mei, Montanari 2019, arXiv:1908.05355", "Defilippis et al. 2024, arXiv:2405.15699")
CONVEX = ("Gerace et al. 2020, arXiv:2002.09339", "Loureiro et al. 2021, arXiv:2102.08127")
POLYNOMIAL = (
    "Mei, Misiakiewicz, Montanari 2021, arXiv:2101.10588",
    "Hu et al. 2024, arXiv:2403.08160",
)
#: Degrees of the activation and of the target that the limit of large d distinguishes.
DEGREES = 10
#: Metrics of the square loss, in the order of the interface.
METRICS = ("test_error", "test_error_noisy", "train_error", "norm", "degrees_of_freedom")


class _SquareCase(NamedTuple):
    samples: float
    width: float
    spectrum: Spectrum
    status: Status
    references: tuple[str, ...]
    notes: list[str]


def predict(
    problem: Problem, settings: RandomFeatures, *, optimise: Sequence[str] = ()
) -> Prediction:
    """Test and training error of random features, in the limit of large d or at finite ``dim``.

    Without ``dim`` samples and width are powers of d and the limit is taken; with it the square
    loss is solved for the exact spectrum in d dimensions. ``norm`` is the squared norm of the
    readout per sample, ``degrees_of_freedom`` the trace of the hat matrix per sample. With
    ``optimise=("ridge",)`` the ridge is replaced by the one of least test error.

    Assumes: Gaussian inputs or inputs on the sphere, neurons without biases.
    Status: theorem for the square loss; replica for the logistic and the hinge loss.
    References: Mei, Montanari 2019, arXiv:1908.05355; Gerace et al. 2020, arXiv:2002.09339;
        Defilippis, Loureiro, Misiakiewicz 2024, arXiv:2405.15699.

    >>> law = predict(Problem.of("h1 + He2(h1)/sqrt(2)", noise=0.1), RandomFeatures(ridge=0.1))
    >>> round(law.metrics["test_error"], 6), law.status
    (2.095686, 'theorem')
    """
    chosen = _check_optimise(optimise)
    _check_covered(settings)
    if settings.loss != "square":
        return _predict_convex(problem, settings, chosen)
    case = _square_case(problem, settings)
    ridge, notes = settings.ridge, list(case.notes)
    if chosen:
        ridge, remark = _best_ridge(case.samples, case.width, case.spectrum, problem.noise)
        settings, notes = settings.replace(ridge=ridge), [*notes, remark]
    cause = f"activation = {activation(settings.activation).name!r}"
    _check_well_posed(case.samples, case.width, ridge, case.spectrum, cause)
    found = _ridge_metrics(case.samples, case.width, ridge, case.spectrum, problem.noise)
    metrics = {name: found[name] for name in METRICS} | ({"ridge": ridge} if chosen else {})
    notes += _peak_note(case.samples, case.width, ridge)
    return Prediction(
        settings.learner, settings.to_json(), metrics, case.status, case.references, tuple(notes)
    )


def gradient(problem: Problem, settings: RandomFeatures) -> dict[str, float]:
    r"""The derivative of the predicted test error in each continuous setting.

    .. math:: \frac{dR}{d\theta} = \frac{\partial R}{\partial\theta}
        - \frac{\partial R}{\partial\nu} \Big(\frac{\partial F}{\partial\nu}\Big)^{-1}
        \frac{\partial F}{\partial\theta}, \qquad F(\nu, \theta) = 0 .

    Symbols: F the equations solved by :func:`predict`, nu their unknowns; theta is ``samples`` and
    ``width`` (per d in the limit of large d, plain numbers with ``dim``), ``ridge``, ``noise``.

    Assumes: settings that :func:`predict` covers.
    Status: theorem for the square loss; replica for the logistic and the hinge loss.
    References: Mei, Montanari 2019, arXiv:1908.05355; Gerace et al. 2020, arXiv:2002.09339.

    >>> slopes = gradient(Problem.of("h1 + He2(h1)/sqrt(2)", noise=0.1), RandomFeatures(ridge=0.1))
    >>> round(slopes["samples"], 6), round(slopes["ridge"], 6)
    (-0.208341, -2.850602)
    """
    _check_covered(settings)
    if settings.loss == "square":
        case = _square_case(problem, settings)
        return _ridge_gradient(
            case.samples, case.width, settings.ridge, case.spectrum, problem.noise
        )
    with float64():
        slopes = jax.device_get(_convex_slopes(*_convex_case(problem, settings)))
    return dict(zip(("samples", "width", "ridge"), map(float, slopes), strict=True))


def _check_covered(settings: RandomFeatures) -> None:
    if settings.biases != "none":
        raise NoTheory(
            f"biases = {settings.biases!r}: random features are predicted without biases; "
            "use simulate, or --biases none"
        )


def _square_case(problem: Problem, settings: RandomFeatures) -> _SquareCase:
    sigma, law = activation(settings.activation), input_law(problem, settings)
    dim = settings.dim
    if dim is not None and law.spike is None:
        samples, width = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
        spectrum = _finite_spectrum(sigma, problem.target, dim, law.name, settings.rows)
        # Norms of Gaussian inputs fluctuate, which the theorem on concentrated features leaves out.
        one_direction = problem.target.rank == 1 and not problem.target.is_random
        exact = law.name == "sphere" and one_direction
        status: Status = "theorem" if exact else "heuristic"
        notes = [f"the equivalent at d = {dim}" + ("" if exact else ", right to O(1/d)")]
        return _SquareCase(float(samples), float(width), spectrum, status, SQUARE, notes)
    samples_size, width_size = settings.samples, settings.width
    if dim is not None:
        samples_size, width_size = (
            type(s)(s.at(dim) / dim, 1.0) for s in (samples_size, width_size)
        )
    regime = polynomial_regime(
        samples_size,
        width_size,
        _feature_energies(sigma),
        _target_energies(problem.target),
        weak_modes=settings.rows == "gaussian",
        spike=_fixed_spike(law.spike, problem.target, samples_size, width_size),
    )
    order = "d" if regime.exponent == 1 else f"d^{regime.exponent:g}"
    return _SquareCase(
        regime.samples,
        regime.width,
        regime.spectrum,
        "theorem",
        SQUARE if regime.exponent == 1 else POLYNOMIAL,
        [f"the limit of large d, samples or width of order {order}"],
    )


def _fixed_spike(spike: Any, target: Target, samples: Any, width: Any) -> float:
    if spike is None:
        return 0.0
    if spike.power != 0 or samples.power != 1 or width.power < 1 or target.rank > 1:
        raise NoTheory(
            f"spike_strength = {spike}: random features are predicted for a spike of fixed size, "
            "a target of h1 alone, and samples and width proportional to d"
        )
    return spike.coefficient


@functools.lru_cache(maxsize=64)
def _finite_spectrum(
    sigma: Activation, target: Target, dim: int, inputs: str, rows: str
) -> Spectrum:
    return random_feature_spectrum(sigma, target, dim, inputs=inputs, rows=rows)


@functools.lru_cache(maxsize=64)
def _feature_energies(sigma: Activation) -> DegreeEnergies:
    """mu_k^2/k! for k = 0..DEGREES, and E[sigma^2]."""
    factorials = np.array([math.factorial(k) for k in range(DEGREES + 1)])
    by_degree = sigma.hermite(DEGREES) ** 2 / factorials
    # Quadrature leaves 1e-16 of a polynomial's energy in degrees that it does not have.
    by_degree[by_degree < 1e-24 * sigma.second_moment] = 0.0
    remainder = sigma.second_moment - by_degree.sum()
    total = sigma.second_moment if remainder > 1e-13 * sigma.second_moment else by_degree.sum()
    return DegreeEnergies(by_degree, float(total))


@functools.lru_cache(maxsize=64)
def _target_energies(target: Target) -> DegreeEnergies:
    """The target's energy in each degree, and its whole energy, in-label noise included."""
    return DegreeEnergies(energies(target, 8), float(moments(target).second_moment))


def _convex_case(problem: Problem, settings: RandomFeatures) -> tuple[Any, ...]:
    """The arguments of the convex system: sizes, ridge, features, labels, loss."""
    check_binary_labels(problem, settings.loss)
    target, law = problem.target, input_law(problem, settings)
    if law.spike is not None:
        raise NoTheory(f"spike_strength = {law.spike} is predicted for loss = 'square' alone")
    if target.rank + target.noises - 1 > max(OUTER_ORDER):
        raise NoTheory(
            f"target = {target.text!r} has {target.rank + target.noises} variables: "
            f"loss = {settings.loss!r} is predicted for at most {max(OUTER_ORDER) + 1}"
        )
    dim = settings.dim
    if dim is None:
        alpha, psi = settings.samples.ratio("samples"), settings.width.ratio("width")
    else:
        alpha = settings.samples.count(dim, "samples") / dim
        psi = settings.width.count(dim, "width") / dim
    sigma = activation(settings.activation)
    mean, linear, quadratic = sigma.hermite(2)
    weak = quadratic**2 / 2 if settings.rows == "gaussian" else 0.0
    features = Features(
        float(linear**2), sigma.mu_star_squared, math.inf if mean != 0 else float(weak)
    )
    return alpha, psi, settings.ridge, features, _labels_of(target), settings.loss


@functools.partial(jax.jit, static_argnums=5)
def _convex_slopes(
    alpha: Any, psi: Any, ridge: Any, features: Features, labels: Labels, loss: str
) -> Any:
    def test_error(*numbers: Any) -> Any:
        return convex_risk(*numbers, features, labels, loss).test_error

    return jax.grad(test_error, argnums=(0, 1, 2))(alpha, psi, ridge)


def _predict_convex(problem: Problem, settings: RandomFeatures, optimise: bool) -> Prediction:
    case = _convex_case(problem, settings)
    notes = ["the limit of large d, samples and width proportional to d"]
    if optimise:
        ridge, remark = _best_convex_ridge(case)
        settings, case, notes = (
            settings.replace(ridge=ridge),
            (*case[:2], ridge, *case[3:]),
            [*notes, remark],
        )
    with float64():
        risk = jax.device_get(convex_risk(*case))
    overlaps = risk.overlaps
    directions = problem.target.rank
    m = np.asarray(overlaps.m)[:directions]
    metrics: dict[str, Any] = {
        "test_error": float(risk.test_error),
        "train_loss": float(risk.train_loss),
        "norm": float(risk.norm),
        "overlap_q": float(overlaps.q),
        "overlap_m": float(m[0]) if directions == 1 else m,
        "overlap_v": float(overlaps.v),
        "intercept": float(overlaps.b),
    }
    if not risk.converged:
        metrics = {name: np.full_like(value, np.nan) for name, value in metrics.items()}
        notes.append(f"the fixed point did not converge (residual {float(risk.residual):.1g})")
    if optimise:
        metrics["ridge"] = settings.ridge
    return Prediction(
        settings.learner, settings.to_json(), metrics, "replica", CONVEX, tuple(notes)
    )


def _best_convex_ridge(case: tuple[Any, ...]) -> tuple[float, str]:
    def risk(ridge: float) -> float:
        with float64():
            found = convex_risk(*case[:2], ridge, *case[3:])
            return float(found.test_error) if found.converged else math.nan

    def slope(ridge: float) -> float:
        with float64():
            return float(_convex_slopes(*case[:2], ridge, *case[3:])[2])

    return _described(optimal_ridge(risk, slope, 1e-6, 1e4))
