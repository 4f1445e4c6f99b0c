"""The prediction for the learner `kernel`: isotropic inputs, or one spiked direction."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from giantstep.errors import NoTheory, SettingsError
from giantstep.networks.kernels import SERIES_LENGTH, Kernel, kernel
from giantstep.numerics.float64 import float64
from giantstep.numerics.quadrature import gauss_hermite, split_gaussian
from giantstep.problem import Problem
from giantstep.results import Prediction, Status
from giantstep.settings.kernel import KernelRidge
from giantstep.settings.problem_rules import input_law
from giantstep.settings.sizes import Size
from giantstep.targets import Target
from giantstep.targets.hermite import energies, moments
from giantstep.theory.deterministic_equivalent import Spectrum
from giantstep.theory.optimal_ridge import optimal_ridge
from giantstep.theory.polynomial_regime import DegreeEnergies, polynomial_regime
from giantstep.theory.ridge_prediction import (
    _best_ridge,
    _check_optimise,
    _check_well_posed,
    _described,
    _ridge_gradient,
    _ridge_metrics,
)
from giantstep.theory.spectra import kernel_spectrum
from giantstep.theory.spiked_kernel import spiked_kernel_risk

ISOTROPIC = (
    "Mei, Misiakiewicz, Montanari 2021, arXiv:2101.10588",
    "Simon et al. 2021, arXiv:2110.03922",
)
SPIKED = ("Ba et al. 2023, arXiv:2309.03843",)
METRICS = ("test_error", "test_error_noisy", "train_error", "norm", "degrees_of_freedom")
#: Degrees of the target that are distinguished.
DEGREES = 8
#: Gauss-Hermite nodes along the spike.
SPIKE_NODES = 48
#: An infinite series has E[F(|x|^2/d)] = inf when the spike's share of the norm reaches 1/2.
LARGEST_SHARE = 0.5


class _Case(NamedTuple):
    """Sizes, and either a spectrum or what the equivalent conditional on the spike needs."""

    samples: float
    spectrum: Spectrum | None
    spiked: _Spiked | None
    status: Status
    references: tuple[str, ...]
    note: str


class _Spiked(NamedTuple):
    dim: float
    strength: float
    series: np.ndarray
    target: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray


def predict(problem: Problem, settings: KernelRidge, *, optimise: Sequence[str] = ()) -> Prediction:
    """Test and training error of kernel ridge regression, in the limit of large d or at ``dim``.

    ``norm`` is the squared norm of the fit in the kernel's space per sample,
    ``degrees_of_freedom`` the trace of the hat matrix per sample. With ``optimise=("ridge",)``
    the ridge is replaced by the one of least test error.

    Assumes: isotropic inputs; or one spiked direction, a target of it alone, and a kernel that is
    a power series of the inner product.
    Status: theorem for isotropic inputs; heuristic with a spike.
    References: Mei, Misiakiewicz, Montanari 2021, arXiv:2101.10588; Ba et al. 2023,
        arXiv:2309.03843.

    >>> law = predict(Problem.of("h1", noise=0.01), KernelRidge(samples="1d", ridge=0.01))
    >>> round(law.metrics["test_error"], 6), law.status
    (0.394814, 'theorem')
    """
    case, ridge, notes = _case(problem, settings), settings.ridge, []
    chosen = _check_optimise(optimise)
    if chosen:
        ridge, remark = _optimised(case, problem.noise)
        settings, notes = settings.replace(ridge=ridge), [remark]
    found = _metrics(case, ridge, problem.noise, f"kernel = {settings.kernel!r}")
    metrics = {name: found[name] for name in METRICS} | ({"ridge": ridge} if chosen else {})
    if math.isnan(metrics["test_error"]):
        notes.append("the fixed point did not converge")
    return Prediction(
        settings.learner,
        settings.to_json(),
        metrics,
        case.status,
        case.references,
        (case.note, *notes),
    )


def gradient(problem: Problem, settings: KernelRidge) -> dict[str, float]:
    r"""The derivative of the predicted test error in each continuous setting.

    .. math:: \frac{dR}{d\theta} = \frac{\partial R}{\partial\theta}
        - \frac{\partial R}{\partial\nu} \Big(\frac{\partial F}{\partial\nu}\Big)^{-1}
        \frac{\partial F}{\partial\theta}, \qquad F(\nu, \theta) = 0 .

    Symbols: F the equations solved by :func:`predict`, nu their unknowns; theta is ``samples``
    (per d in the limit of large d, a plain number with ``dim``), ``ridge``, ``noise`` and, with a
    spike at finite ``dim``, ``spike_strength``.

    Assumes: settings that :func:`predict` covers.
    Status: theorem for isotropic inputs; heuristic with a spike.
    References: Mei, Misiakiewicz, Montanari 2021, arXiv:2101.10588; Ba et al. 2023,
        arXiv:2309.03843.

    >>> slopes = gradient(Problem.of("h1", noise=0.01), KernelRidge(samples="1d", ridge=0.01))
    >>> round(slopes["samples"], 4)
    -0.3856
    """
    case, noise = _case(problem, settings), problem.noise
    if case.spectrum is not None:
        slopes = _ridge_gradient(case.samples, math.inf, settings.ridge, case.spectrum, noise)
        return {name: slopes[name] for name in ("samples", "ridge", "noise")}
    with float64():
        found = jax.device_get(_spiked_slopes(case.samples, settings.ridge, noise, *_spike(case)))
    names = ("samples", "ridge", "noise", "spike_strength")
    return dict(zip(names, map(float, found), strict=True))


def _case(problem: Problem, settings: KernelRidge) -> _Case:
    shape, law = kernel(settings.kernel), input_law(problem, settings)
    if law.spike is None:
        return _isotropic_case(problem.target, settings, shape, law.name)
    _check_spike_covered(problem.target, shape, law.spike, settings.dim)
    if settings.dim is None:
        return _spike_limit_case(problem.target, settings, shape, law.spike)
    return _spiked_case(problem.target, settings, shape, law.spike, settings.dim)


def _isotropic_case(target: Target, settings: KernelRidge, shape: Kernel, inputs: str) -> _Case:
    dim = settings.dim
    if dim is None:
        _check_powers(shape, target, math.floor(settings.samples.power))
        regime = polynomial_regime(
            settings.samples,
            None,
            _kernel_energies(shape),
            _target_energies(target),
            weak_modes=True,
        )
        note = f"the limit of large d, samples of order d^{regime.exponent:g}"
        return _Case(regime.samples, regime.spectrum, None, "theorem", ISOTROPIC, note)
    samples = settings.samples.at(dim)
    _check_powers(shape, target, math.floor(math.log(max(samples, 1)) / math.log(dim) + 1e-9))
    spectrum = _finite_spectrum(shape, target, dim, inputs)
    # Norms of Gaussian inputs fluctuate, which the theorem for concentrated features leaves out.
    exact = inputs == "sphere" and target.rank == 1 and not target.is_random
    note = f"the equivalent at d = {dim}" + ("" if exact else ", right to O(1/d)")
    status: Status = "theorem" if exact else "heuristic"
    return _Case(samples, spectrum, None, status, ISOTROPIC, note)


def _spike_limit_case(target: Target, settings: KernelRidge, shape: Kernel, spike: Size) -> _Case:
    """Degree k of h1 has eigenvalue F^(k)(0) (spike/d)^k: above 1/n it is learned, below not."""
    samples, energy = settings.samples.ratio("samples"), _target_energies(target)
    gamma, critical = spike.power, None
    learned = 0.0
    for k, share in enumerate(energy.by_degree):
        if k == 0 or gamma > 1 - 1 / k + 1e-12:
            learned += share
        elif abs(gamma - (1 - 1 / k)) <= 1e-12:
            critical = k
    eigenvalues, partial = [shape.power(1), 0.0, 0.0], 0.0
    if critical is not None:
        growth = 1 + spike.coefficient if critical == 1 else spike.coefficient**critical
        eigenvalues[1] = math.factorial(critical) * shape.power(critical) * growth
        partial = float(energy.by_degree[critical])
    spectrum = Spectrum(
        np.array(eigenvalues),
        np.array([1.0, 0.0, 0.0]),
        np.array([0.0, partial, 0.0]),
        shape.total_above(1),
        max(energy.total - float(learned) - partial, 0.0),
    )
    note = "the limit of large d at a fixed ridge; a ridge that grows slowly reaches |P_>k g|^2"
    return _Case(samples, spectrum, None, "heuristic", SPIKED, note)


def _spiked_case(
    target: Target, settings: KernelRidge, shape: Kernel, spike: Size, dim: int
) -> _Case:
    kinks = target.kinks[0]
    nodes, weights = (
        split_gaussian(kinks, panel_order=12, panel_length=4.5)
        if kinks
        else gauss_hermite(SPIKE_NODES)
    )
    series = np.zeros(SERIES_LENGTH)
    series[: len(shape.series)] = shape.series
    values = np.broadcast_to(target.numpy(nodes[:, None]), nodes.shape)
    spiked = _Spiked(float(dim), spike.at(dim), series, values, nodes, weights)
    note = f"the equivalent conditional on h1, at d = {dim}"
    return _Case(settings.samples.at(dim), None, spiked, "heuristic", SPIKED, note)


def _check_spike_covered(target: Target, shape: Kernel, spike: Size, dim: int | None) -> None:
    if target.rank > 1 or target.is_random:
        raise NoTheory(
            f"target = {target.text!r}: with a spike the prediction covers functions of h1 alone"
        )
    if shape.order is not None:
        raise NoTheory(
            f"kernel = {shape.name!r} uses the norms of the inputs: with a spike the prediction "
            "covers exp and polynomials"
        )
    if dim is None and spike.power >= 1:
        raise NoTheory(f"spike_strength = {spike} is not below d: the limit needs a power below 1")
    share = 0.0 if dim is None else (1 + spike.at(dim)) / dim
    if share >= LARGEST_SHARE and not shape.is_polynomial:
        raise NoTheory(
            f"spike_strength = {spike} is {share:.2f} d at d = {dim}: kernel = {shape.name!r} has "
            "no finite trace above d/2; use a polynomial such as 1+t+t^2/2+t^3/6"
        )
    exponent = spike.power if dim is None else math.log(max(spike.at(dim), 1)) / math.log(dim)
    reach = DEGREES if exponent >= 1 else math.ceil(1 / (1 - exponent) - 1e-9) - 1
    _check_powers(shape, target, min(reach, DEGREES), first=0)


def _check_powers(shape: Kernel, target: Target, reach: int, first: int = 1) -> None:
    """Refuse a kernel without a power that the target has and the samples would resolve."""
    energy = _target_energies(target)
    for k in range(first, min(reach, DEGREES) + 1):
        share = float(energy.by_degree[k]) / energy.total if energy.total else 0.0
        if share > 1e-9 and shape.power(k) == 0:
            raise SettingsError(
                f"kernel = {shape.name!r} has no power {k}, so it never learns the degree-{k} part "
                f"of the target ({100 * share:.0f} % of its energy): use exp, or add t^{k}"
            )


@functools.lru_cache(maxsize=64)
def _finite_spectrum(shape: Kernel, target: Target, dim: int, inputs: str) -> Spectrum:
    return kernel_spectrum(shape, target, dim, inputs=inputs)


@functools.lru_cache(maxsize=64)
def _kernel_energies(shape: Kernel) -> DegreeEnergies:
    by_degree = np.array([shape.power(k) for k in range(DEGREES + 3)])
    return DegreeEnergies(by_degree, float(shape.profile(1.0)))


@functools.lru_cache(maxsize=64)
def _target_energies(target: Target) -> DegreeEnergies:
    return DegreeEnergies(energies(target, DEGREES), float(moments(target).second_moment))


def _metrics(case: _Case, ridge: float, noise: float, cause: str) -> dict[str, float]:
    if case.spectrum is not None:
        _check_well_posed(case.samples, math.inf, ridge, case.spectrum, cause)
        return _ridge_metrics(case.samples, math.inf, ridge, case.spectrum, noise)
    with float64():
        risk = jax.device_get(_spiked_risk(case.samples, ridge, noise, *_spike(case)))
    found = {name: float(getattr(risk, name)) for name in METRICS if hasattr(risk, name)}
    found["test_error_noisy"] = found["test_error"] + noise
    return found if risk.converged else dict.fromkeys(found, math.nan)


def _spike(case: _Case) -> tuple[float, _Spiked]:
    assert case.spiked is not None
    return case.spiked.strength, case.spiked


def _spiked_risk(samples: Any, ridge: Any, noise: Any, strength: Any, spiked: Any) -> Any:
    dim, _, *rest = spiked
    return spiked_kernel_risk(samples, dim, strength, ridge, noise, *rest)


_spiked_slopes = jax.jit(
    jax.grad(lambda *numbers: _spiked_risk(*numbers).test_error, argnums=(0, 1, 2, 3))
)


def _optimised(case: _Case, noise: float) -> tuple[float, str]:
    if case.spectrum is not None:
        return _best_ridge(case.samples, math.inf, case.spectrum, noise)

    def risk(ridge: float) -> float:
        with float64():
            return float(_spiked_risk(case.samples, ridge, noise, *_spike(case)).test_error)

    def slope(ridge: float) -> float:
        with float64():
            return float(_spiked_slopes(case.samples, ridge, noise, *_spike(case))[1])

    return _described(optimal_ridge(risk, slope))
