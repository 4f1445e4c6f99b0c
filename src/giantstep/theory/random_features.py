"""The prediction for the learner `random-features`: which theory covers which settings."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from giantstep.answer import Prediction, Status
from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.inputs import Gaussian, Sphere, Spiked, check_aligned, check_covered
from giantstep.language.problem import Problem
from giantstep.language.sizes import Size
from giantstep.language.targets import Target
from giantstep.numerics.float64 import float64
from giantstep.settings.problem_rules import check_binary_labels, has_binary_labels
from giantstep.settings.random_features import CLOSED_FORMS, RandomFeatures
from giantstep.theory.convex.convex_loss import Features, convex_risk
from giantstep.theory.convex.labels import (
    OUTER_ORDER,
    Labels,
    RealLabels,
    labels_of,
    real_labels,
)
from giantstep.theory.ridge.biased_features import NODES, biased_features
from giantstep.theory.ridge.degree_energies import feature_energies, target_energies
from giantstep.theory.ridge.deterministic_equivalent import Spectrum
from giantstep.theory.ridge.limit_note import limit_note
from giantstep.theory.ridge.optimal_ridge import BestRidge, optimal_ridge
from giantstep.theory.ridge.polynomial_regime import polynomial_regime
from giantstep.theory.ridge.spectra import random_feature_spectrum
from giantstep.theory.ridge.spectral_case import SpectralCase, peak_note, ridge_remark, wants_ridge

SQUARE = ("Mei, Montanari 2019, arXiv:1908.05355", "Defilippis et al. 2024, arXiv:2405.15699")
CONVEX = ("Gerace et al. 2020, arXiv:2002.09339", "Loureiro et al. 2021, arXiv:2102.08127")
POLYNOMIAL = (
    "Mei et al. 2021, arXiv:2101.10588",
    "Hu et al. 2024, arXiv:2403.08160",
)
#: Metrics of the square loss, in the order of the interface.
METRICS = ("test_error", "test_error_noisy", "train_error", "norm", "degrees_of_freedom")


def predict(
    problem: Problem, settings: RandomFeatures, *, optimise: Sequence[str] = ()
) -> Prediction:
    """Test and training error of random features, in the limit of large d or at finite ``dim``.

    Metrics: ``test_error``; ``norm``, the squared norm of the readout per sample; for the square
    loss ``test_error_noisy``, ``train_error`` and ``degrees_of_freedom``, the trace of the hat
    matrix per sample; for other losses ``train_loss``, ``overlap_q``, ``overlap_m`` (r,),
    ``overlap_v`` and ``intercept``. With ``optimise=("ridge",)`` the ridge is replaced by the one
    of least test error, and returned as ``ridge``. Without ``dim`` samples and width are powers of
    d and the limit is taken; with it the square loss is solved for the exact spectrum in d
    dimensions.

    Neurons with biases: the square loss, Gaussian inputs, sizes proportional to d.

    Assumes: Gaussian inputs or inputs on the sphere.
    Status: theorem for the square loss in the limit, and on the sphere for one direction; heuristic
        for the square loss with biases, and at a finite ``dim`` otherwise; replica for other
        losses.
    References: Mei, Montanari 2019, arXiv:1908.05355; Gerace et al. 2020, arXiv:2002.09339;
        Defilippis et al. 2024, arXiv:2405.15699.

    >>> law = predict(Problem.of("h1 + He2(h1)/sqrt(2)", noise=0.1), RandomFeatures(ridge=0.1))
    >>> round(law.metrics["test_error"], 6), law.status
    (2.095686, 'theorem')
    """
    chosen = wants_ridge(optimise)
    if settings.biases != "none" and settings.loss == "square" and not chosen:
        return _predict_biased(problem, settings)
    _check_covered(settings)
    if settings.loss != "square":
        return _predict_convex(problem, settings, chosen)
    case = _square_case(problem, settings)
    notes = [case.note]
    if chosen:
        best = case.best_ridge(problem.noise)
        settings, notes = settings.replace(ridge=best.ridge), [*notes, ridge_remark(best)]
    found = case.metrics(settings.ridge, problem.noise)
    metrics = {name: found[name] for name in METRICS}
    if chosen:
        metrics["ridge"] = best.optimum
    notes += peak_note(case.samples, case.width, settings.ridge)
    if settings.dim is None and problem.inputs.spike is None:
        notes += _limit_note(problem, settings, metrics["test_error"])
    return Prediction.of(settings, metrics, case.status, case.references, notes)


def gradient(problem: Problem, settings: RandomFeatures) -> dict[str, float]:
    r"""The derivative of the predicted test error in each continuous setting.

    .. math:: \frac{dR}{d\theta} = \frac{\partial R}{\partial\theta}
        - \frac{\partial R}{\partial\nu} \Big(\frac{\partial F}{\partial\nu}\Big)^{-1}
        \frac{\partial F}{\partial\theta}, \qquad F(\nu, \theta) = 0 .

    Symbols: F the equations solved by :func:`predict`, nu their unknowns; theta is ``samples`` and
    ``width`` (per d in the limit of large d, plain numbers with ``dim``), ``ridge``, ``noise``.

    Assumes: settings that :func:`predict` covers.
    Status: theorem for the square loss; replica for other losses.
    References: Mei, Montanari 2019, arXiv:1908.05355; Gerace et al. 2020, arXiv:2002.09339.

    >>> slopes = gradient(Problem.of("h1 + He2(h1)/sqrt(2)", noise=0.1), RandomFeatures(ridge=0.1))
    >>> round(slopes["samples"], 6), round(slopes["ridge"], 6)
    (-0.208341, -2.850602)
    """
    _check_covered(settings)
    if settings.loss == "square":
        return _square_case(problem, settings).gradient(settings.ridge, problem.noise)
    with float64():
        slopes = jax.device_get(_convex_slopes(*_convex_case(problem, settings)))
    return dict(zip(("samples", "width", "ridge"), map(float, slopes), strict=True))


def _check_covered(settings: RandomFeatures) -> None:
    if settings.biases != "none":
        raise NoTheory(
            f"biases = {settings.biases!r}: biases are predicted for the square loss at a given "
            "ridge; use those, or --biases none"
        )


def _predict_biased(problem: Problem, settings: RandomFeatures) -> Prediction:
    """Neurons with biases, in blocks; fewer blocks tell the error."""
    metrics, coarse = (biased_features(problem, settings, nodes) for nodes in (NODES, NODES // 2))
    where = "the limit of large d" if settings.dim is None else f"d = {settings.dim}, to O(1/d)"
    return Prediction.of(
        settings,
        metrics,
        "heuristic",
        SQUARE[:1],
        (f"biases in {NODES} blocks; {where}",),
        errors={name: abs(metrics[name] - coarse[name]) for name in metrics},
    )


def _square_case(problem: Problem, settings: RandomFeatures) -> SpectralCase:
    sigma, law = activation(settings.activation), problem.inputs
    check_covered(law, (Gaussian, Sphere, Spiked), "random features are predicted", NoTheory)
    check_aligned(law, "random features are predicted", NoTheory)
    spike = law.spike.strength if law.spike is not None else None
    dim, cause = settings.dim, f"activation = {sigma.name!r}"
    if dim is not None and spike is None:
        samples, width = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
        spectrum = _finite_spectrum(sigma, problem.target, dim, law.name, settings.start)
        # Norms of Gaussian inputs fluctuate, which the theorem on concentrated features leaves out.
        one_direction = problem.target.rank == 1 and not problem.target.is_random
        exact = law.has_fixed_norm and one_direction
        status: Status = "theorem" if exact else "heuristic"
        note = f"the equivalent at d = {dim}" + ("" if exact else ", right to O(1/d)")
        return SpectralCase(float(samples), float(width), spectrum, cause, status, SQUARE, note)
    sizes = settings.samples, settings.width
    if dim is not None:
        sizes = Size(sizes[0].at(dim) / dim, 1.0), Size(sizes[1].at(dim) / dim, 1.0)
    regime = polynomial_regime(
        *sizes,
        feature_energies(sigma),
        target_energies(problem.target),
        weak_modes=settings.start == "gaussian",
        spike=_fixed_spike(spike, problem.target, *sizes),
    )
    proportional = regime.exponent == 1
    order = "d" if proportional else f"d^{regime.exponent:g}"
    return SpectralCase(
        regime.samples,
        regime.width,
        regime.spectrum,
        cause,
        "theorem",
        SQUARE if proportional else POLYNOMIAL,
        f"the limit of large d, samples or width of order {order}",
    )


def _limit_note(problem: Problem, settings: RandomFeatures, limit: float) -> list[str]:
    def at_size(dim: int) -> float:
        case = _square_case(problem, settings.replace(dim=dim))
        return case.metrics(settings.ridge, problem.noise)["test_error"]

    energy = target_energies(problem.target).total + problem.noise
    return limit_note(limit, energy, (settings.samples, settings.width), at_size)


def _fixed_spike(spike: Size | None, target: Target, samples: Size, width: Size) -> float:
    if spike is None:
        return 0.0
    if spike.power != 0 or samples.power != 1 or width.power < 1 or target.rank > 1:
        raise NoTheory(
            f"inputs = spiked:{spike}: random features are predicted for a spike of fixed size, "
            "a target of h1 alone, and samples and width proportional to d"
        )
    return spike.coefficient


@functools.lru_cache(maxsize=64)
def _finite_spectrum(
    sigma: Activation, target: Target, dim: int, inputs: str, start: str
) -> Spectrum:
    return random_feature_spectrum(sigma, target, dim, inputs=inputs, start=start)


def _convex_case(problem: Problem, settings: RandomFeatures) -> tuple[Any, ...]:
    """The arguments of the convex system: sizes, ridge, features, labels, loss."""
    expressed = settings.loss not in CLOSED_FORMS
    if not expressed:
        check_binary_labels(problem, settings.loss)
    target, what = problem.target, f"loss = {settings.loss!r} is predicted"
    check_covered(problem.inputs, (Gaussian, Sphere), what, NoTheory)
    binary = has_binary_labels(problem)
    if binary and target.rank + target.noises - 1 > max(OUTER_ORDER):
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
    weak = quadratic**2 / 2 if settings.start == "gaussian" else 0.0
    features = Features(
        float(linear**2), sigma.mu_star_squared, math.inf if mean != 0 else float(weak)
    )
    labels = labels_of(target) if binary else real_labels(problem, settings.loss)
    return alpha, psi, settings.ridge, features, labels, settings.loss


@functools.partial(jax.jit, static_argnums=5)
def _convex_slopes(
    alpha: Any, psi: Any, ridge: Any, features: Features, labels: Labels | RealLabels, loss: str
) -> Any:
    def test_error(*numbers: Any) -> Any:
        return convex_risk(*numbers, features, labels, loss).test_error

    return jax.grad(test_error, argnums=(0, 1, 2))(alpha, psi, ridge)


def _predict_convex(problem: Problem, settings: RandomFeatures, optimise: bool) -> Prediction:
    case = _convex_case(problem, settings)
    notes = ["the limit of large d, samples and width proportional to d"]
    if optimise:
        best = _best_convex_ridge(case)
        settings, notes = settings.replace(ridge=best.ridge), [*notes, ridge_remark(best)]
        case = (*case[:2], best.ridge, *case[3:])
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
        metrics["ridge"] = best.optimum
    return Prediction.of(settings, metrics, "replica", CONVEX, notes)


def _best_convex_ridge(case: tuple[Any, ...]) -> BestRidge:
    def risk(ridge: float) -> float:
        with float64():
            found = convex_risk(*case[:2], ridge, *case[3:])
            return float(found.test_error) if found.converged else math.nan

    def slope(ridge: float) -> float:
        with float64():
            return float(_convex_slopes(*case[:2], ridge, *case[3:])[2])

    return optimal_ridge(risk, slope, 1e-6, 1e4)
