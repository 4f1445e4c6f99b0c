"""The prediction for the learner `kernel`: isotropic inputs, or one spiked direction."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from giantstep.answer import Prediction
from giantstep.errors import NoTheory
from giantstep.language.activations.kernels import KernelFunction, kernel
from giantstep.language.inputs import (
    Gaussian,
    Sphere,
    Spiked,
    check_input_law_aligned,
    checked_input_law,
)
from giantstep.language.problem import Problem
from giantstep.numerics.gegenbauer import gaussian_radii
from giantstep.settings.kernel import Kernel
from giantstep.theory.ridge.degree_energies import (
    check_powers,
    ridge_kernel_energies,
    ridge_target_energies,
)
from giantstep.theory.ridge.limit_note import far_from_limit
from giantstep.theory.ridge.polynomial_regime import polynomial_regime
from giantstep.theory.ridge.spectra import kernel_spectrum
from giantstep.theory.ridge.spectral_case import (
    METRICS,
    SpectralCase,
    equivalent_status_at,
    metrics_at_ridge,
)
from giantstep.theory.ridge.spiked_kernel_cases import (
    SpikedCase,
    check_spike_covered,
    spike_limit,
    spiked_case,
)

REFERENCES = (
    "Mei et al. 2021, arXiv:2101.10588",
    "Simon et al. 2021, arXiv:2110.03922",
)


def predict(problem: Problem, settings: Kernel, *, optimise: Sequence[str] = ()) -> Prediction:
    """Test and training error of kernel ridge regression, in the limit of large d or at ``dim``.

    Metrics: ``test_error``, ``test_error_noisy``, ``train_error``; ``norm``, the squared norm of
    the fit in the kernel's space per sample; ``degrees_of_freedom``, the trace of the hat matrix
    per sample. With ``optimise=("ridge",)`` the ridge is replaced by the one of least test error,
    and returned as ``ridge``.

    Assumes: isotropic inputs; or one spiked direction, a target of it alone, and a kernel that is
    a power series of the inner product.
    Status: theorem for isotropic inputs in the limit, and on the sphere for one direction;
        heuristic for Gaussian inputs or several directions at a finite ``dim``, and with a spike.
    References: Mei et al. 2021, arXiv:2101.10588; Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> law = predict(Problem.of("h1", noise=0.01), Kernel(samples="1d", ridge=0.01))
    >>> round(law.metrics["test_error"], 6), law.status
    (0.394814, 'theorem')
    """
    case = _case(problem, settings)
    settings, found, notes = metrics_at_ridge(case, settings, problem.noise, optimise)
    metrics = {name: found[name] for name in METRICS if name in found}
    errors: dict[str, float] = {}
    if math.isnan(metrics["test_error"]):
        notes.append("the fixed point did not converge")
    if isinstance(case, SpectralCase) and settings.dim and not problem.inputs.has_fixed_norm:
        gain = _gain_of_norms(kernel(settings.kernel), settings.dim, case.samples * found["nu1"])
        if gain >= 0.02:
            errors["train_error"] = gain * metrics["train_error"]
            notes.append(
                f"train_error: low, by a factor of about {1 + gain:.2g}, because norms of Gaussian "
                "inputs fluctuate"
            )
    notes += far_from_limit(problem, settings, metrics["test_error"], _case)
    return Prediction.of(settings, metrics, case.status, case.references, notes, errors=errors)


def gradient(problem: Problem, settings: Kernel) -> dict[str, float]:
    r"""The derivative of the predicted test error in each continuous setting.

    .. math:: \frac{dR}{d\theta} = \frac{\partial R}{\partial\theta}
        - \frac{\partial R}{\partial\nu} \Big(\frac{\partial F}{\partial\nu}\Big)^{-1}
        \frac{\partial F}{\partial\theta}, \qquad F(\nu, \theta) = 0 .

    Symbols: F the equations solved by :func:`predict`, nu their unknowns; theta is ``samples``
    (per d in the limit of large d, a plain number with ``dim``), ``ridge``, ``noise`` and, with a
    spike at finite ``dim``, ``spike``, its strength.

    Assumes: settings that :func:`predict` covers.
    Status: theorem for isotropic inputs; heuristic with a spike.
    References: Mei et al. 2021, arXiv:2101.10588; Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> slopes = gradient(Problem.of("h1", noise=0.01), Kernel(samples="1d", ridge=0.01))
    >>> round(slopes["samples"], 4)
    -0.3856
    """
    case = _case(problem, settings)
    slopes = case.gradient(settings.ridge, problem.noise)
    return {name: slope for name, slope in slopes.items() if name != "width"}


def _case(problem: Problem, settings: Kernel) -> SpectralCase | SpikedCase:
    shape, law = kernel(settings.kernel), problem.inputs
    target, dim = problem.target, settings.dim
    what = "kernel regression is predicted"
    checked_input_law(law, (Gaussian, Sphere, Spiked), what, NoTheory)
    check_input_law_aligned(law, what, NoTheory)
    if law.spike is not None:
        strength = law.spike.strength
        check_spike_covered(target, shape, strength, dim)
        if dim is None:
            return spike_limit(target, settings.samples.ratio("samples"), shape, strength)
        return spiked_case(target, settings.samples.at(dim), shape, strength, dim)
    cause = f"kernel = {shape.name!r}"
    if dim is not None:
        samples = settings.samples.at(dim)
        check_powers(shape, target, math.floor(math.log(max(samples, 1)) / math.log(dim) + 1e-9))
        spectrum = kernel_spectrum(shape, target, dim, inputs=law.name)
        status, note = equivalent_status_at(problem, dim)
        return SpectralCase(samples, math.inf, spectrum, cause, status, REFERENCES, note)
    check_powers(shape, target, math.floor(settings.samples.power))
    energies = ridge_kernel_energies(shape), ridge_target_energies(target)
    regime = polynomial_regime(settings.samples, None, *energies, weak_modes=True)
    note = f"the limit of large d, samples of order d^{regime.exponent:g}"
    return SpectralCase(
        regime.samples, math.inf, regime.spectrum, cause, "theorem", REFERENCES, note
    )


def _gain_of_norms(shape: KernelFunction, dim: int, effective_ridge: float) -> float:
    """By which share of itself the training error gains from norms that fluctuate.

    An input of norm rho has the effective ridge c + K(x, x) - E[K(x, x)], and the training error
    is proportional to the mean of its inverse square.
    """
    radii, weights = gaussian_radii(dim, 10)
    share = radii**2 / dim
    diagonal = (
        shape.profile(1.0) * share**shape.order if shape.order is not None else shape.profile(share)
    )
    own = np.maximum(effective_ridge + diagonal - weights @ diagonal, 0.2 * effective_ridge)
    return float(weights @ (effective_ridge / own) ** 2) - 1
