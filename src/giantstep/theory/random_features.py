"""The prediction for the learner `random-features`: which theory covers which settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np

from giantstep.answer import Prediction, Status
from giantstep.errors import NoTheory
from giantstep.language.activations.activation import activation
from giantstep.language.inputs import (
    Gaussian,
    Sphere,
    Spiked,
    check_input_law_aligned,
    checked_input_law,
)
from giantstep.language.losses import CLASSIFIERS, Loss, loss_from_text
from giantstep.language.problem import Problem
from giantstep.language.sizes import Size
from giantstep.language.targets import Target
from giantstep.numerics.float64 import float64
from giantstep.settings.problem_rules import check_loss_setting, has_binary_labels
from giantstep.settings.random_features import RandomFeatures
from giantstep.settings.ratios import setting_over_dim
from giantstep.theory.convex.convex_loss import Features, convex_risk, free_mean_errors
from giantstep.theory.convex.labels import (
    OUTER_ORDER,
    RealLabels,
    StudentLabels,
    student_labels,
    student_real_labels,
)
from giantstep.theory.ridge.biased_features import NODES, biased_features
from giantstep.theory.ridge.degree_energies import ridge_feature_energies, ridge_target_energies
from giantstep.theory.ridge.limit_note import far_from_limit
from giantstep.theory.ridge.polynomial_regime import polynomial_regime
from giantstep.theory.ridge.spectra import random_feature_spectrum
from giantstep.theory.ridge.spectral_case import (
    METRICS,
    SpectralCase,
    equivalent_status_at,
    metrics_at_ridge,
    peak_note,
    wants_ridge,
)

SQUARE = ("Mei, Montanari 2019, arXiv:1908.05355", "Defilippis et al. 2024, arXiv:2405.15699")
CONVEX = ("Gerace et al. 2020, arXiv:2002.09339", "Loureiro et al. 2021, arXiv:2102.08127")
POLYNOMIAL = (
    "Mei et al. 2021, arXiv:2101.10588",
    "Hu et al. 2024, arXiv:2403.08160",
)


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
    if settings.biases != "none" and settings.loss == "square" and not wants_ridge(optimise):
        return _predict_biased(problem, settings)
    case = _case(problem, settings)
    settings, metrics, notes = metrics_at_ridge(case, settings, problem.noise, optimise)
    if isinstance(case, SpectralCase):
        metrics = {name: metrics[name] for name in METRICS if name in metrics}
        notes += peak_note(case.samples, case.width, settings.ridge)
        notes += far_from_limit(problem, settings, metrics["test_error"], _case)
    elif math.isnan(metrics["test_error"]):
        notes.append("the fixed point did not converge")
    errors = {}
    if isinstance(case, ConvexCase) and settings.dim is not None and case.mean:
        errors = case.free_mean_errors(settings.ridge, settings.samples.at(settings.dim))
    return Prediction.of(settings, metrics, case.status, case.references, notes, errors=errors)


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
    return _case(problem, settings).gradient(settings.ridge, problem.noise)


def _case(problem: Problem, settings: RandomFeatures) -> SpectralCase | ConvexCase:
    if settings.biases != "none":
        raise NoTheory(
            f"biases = {settings.biases!r}: biases are predicted for the square loss at a given "
            "ridge; use those, or --biases none"
        )
    return (_square_case if settings.loss == "square" else _convex_case)(problem, settings)


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
    checked_input_law(law, (Gaussian, Sphere, Spiked), "random features are predicted", NoTheory)
    check_input_law_aligned(law, "random features are predicted", NoTheory)
    spike = law.spike.strength if law.spike is not None else None
    dim, cause = settings.dim, f"activation = {sigma.name!r}"
    if dim is not None and spike is None:
        samples, width = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
        spectrum = random_feature_spectrum(
            sigma, problem.target, dim, inputs=law.name, start=settings.start
        )
        status, note = equivalent_status_at(problem, dim)
        return SpectralCase(float(samples), float(width), spectrum, cause, status, SQUARE, note)
    sizes = settings.samples, settings.width
    if dim is not None:
        sizes = Size(sizes[0].at(dim) / dim, 1.0), Size(sizes[1].at(dim) / dim, 1.0)
    regime = polynomial_regime(
        *sizes,
        ridge_feature_energies(sigma),
        ridge_target_energies(problem.target),
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


def _fixed_spike(spike: Size | None, target: Target, samples: Size, width: Size) -> float:
    if spike is None:
        return 0.0
    if spike.power != 0 or samples.power != 1 or width.power < 1 or target.rank > 1:
        raise NoTheory(
            f"inputs = spiked:{spike}: random features are predicted for a spike of fixed size, "
            "a target of h1 alone, and samples and width proportional to d"
        )
    return spike.coefficient


_convex_slopes = jax.jit(
    jax.grad(lambda *given: convex_risk(*given).test_error, argnums=(0, 1, 2)), static_argnums=5
)


@dataclass(frozen=True, eq=False)
class ConvexCase:
    """A convex loss: sizes in units of d, features, labels, and how many directions they have."""

    status: ClassVar[Status] = "replica"
    references: ClassVar[tuple[str, ...]] = CONVEX
    note: ClassVar[str] = "the limit of large d, samples and width proportional to d"
    ridges: ClassVar[tuple[float, float]] = (1e-6, 1e4)

    samples: float
    width: float
    features: Features
    labels: StudentLabels | RealLabels
    loss: Loss
    directions: int
    mean: float

    def _fit(self, ridge: float) -> tuple[Any, ...]:
        return self.samples, self.width, ridge, self.features, self.labels, self.loss

    def metrics(self, ridge: float, noise: float) -> dict[str, Any]:
        """Errors, norm and overlaps; NaN where the fixed point was not reached."""
        with float64():
            risk = jax.device_get(convex_risk(*self._fit(ridge)))
        m = np.asarray(risk.overlaps.m)[: self.directions]
        found: dict[str, Any] = {
            "test_error": float(risk.test_error),
            "train_loss": float(risk.train_loss),
            "norm": float(risk.norm),
            "overlap_q": float(risk.overlaps.q),
            "overlap_m": float(m[0]) if self.directions == 1 else m,
            "overlap_v": float(risk.overlaps.v),
            "intercept": float(risk.overlaps.b),
        }
        if not risk.converged:
            return {name: np.full_like(value, np.nan) for name, value in found.items()}
        return found

    def free_mean_errors(self, ridge: float, samples: float) -> dict[str, float]:
        """What the mean of the fields, which differs between runs, adds to the errors."""
        with float64():
            risk = convex_risk(*self._fit(ridge))
            tether = ridge / self.mean**2
            found = free_mean_errors(samples, tether, risk.overlaps, self.labels, self.loss)
            spread, gained = map(float, jax.device_get(found))
        return {"intercept": spread, "test_error": abs(gained)}

    def gradient(self, ridge: float, noise: float) -> dict[str, float]:
        """d test_error / d (samples, width, ridge), in the units of the sizes."""
        with float64():
            slopes = jax.device_get(_convex_slopes(*self._fit(ridge)))
        return dict(zip(("samples", "width", "ridge"), map(float, slopes), strict=True))


def _convex_case(problem: Problem, settings: RandomFeatures) -> ConvexCase:
    if settings.loss in CLASSIFIERS:
        check_loss_setting(problem, settings.loss)
    target, what = problem.target, f"loss = {settings.loss!r} is predicted"
    checked_input_law(problem.inputs, (Gaussian, Sphere), what, NoTheory)
    binary = has_binary_labels(problem)
    if binary and target.rank + target.noises - 1 > max(OUTER_ORDER):
        raise NoTheory(
            f"target = {target.text!r} has {target.rank + target.noises} variables: "
            f"loss = {settings.loss!r} is predicted for at most {max(OUTER_ORDER) + 1}"
        )
    alpha, psi = setting_over_dim(settings, "samples"), setting_over_dim(settings, "width")
    sigma = activation(settings.activation)
    mean, linear, quadratic = sigma.hermite(2)
    weak = quadratic**2 / 2 if settings.start == "gaussian" else 0.0
    features = Features(
        float(linear**2), sigma.mu_star_squared, math.inf if mean != 0 else float(weak)
    )
    labels = student_labels(target) if binary else student_real_labels(problem, settings.loss)
    loss = loss_from_text(settings.loss)
    return ConvexCase(alpha, psi, features, labels, loss, target.rank, float(mean))
