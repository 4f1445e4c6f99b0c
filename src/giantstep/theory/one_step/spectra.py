"""Predicted spectra after one step, for the settings of a learner."""

from __future__ import annotations

import math

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.ratios import ratio_to_dim
from giantstep.settings.spiked_random_features import SpikedRandomFeatures
from giantstep.theory.one_step.alignment import NEGLIGIBLE, gradient_norm
from giantstep.theory.one_step.feature_spectrum import feature_spectrum
from giantstep.theory.one_step.readout_law import moment_blocks
from giantstep.theory.one_step.spectrum_prediction import SpectrumPrediction
from giantstep.theory.one_step.spiked_gram import SpikedGram
from giantstep.theory.one_step.stepped_network import OneStep, Sizes, one_step
from giantstep.theory.one_step.uneven_spectra import (
    covers_uneven_rows,
    uneven_feature_spectrum,
    uneven_weight_spectrum,
)
from giantstep.theory.one_step.weight_spectrum import (
    RowLaw,
    bulk_edges,
    critical_step,
    residual_strength,
    singular_value_density,
    weight_outlier,
)
from giantstep.theory.spiked_random_features.conditional_features import LIMIT
from giantstep.theory.spiked_random_features.finite_size import Blocks

#: Blocks that stand for a Gaussian readout in the spectrum of the features.
GAUSSIAN_BLOCKS = 5


def predict_weight_spectrum(problem: Problem, settings: GiantStep) -> SpectrumPrediction:
    r"""Singular values of the first layer after one step: bulk, outlier, overlaps.

    .. math:: W^1 = \tilde W + \theta\,\frac{a}{|a|}v^T, \qquad
        \theta^2 = \sum_j s_j^2 = p\,E[s^2]

    ``overlaps``: ``left`` with the readout, ``right`` with the learned direction, ``target``
    with the target's mean gradient (gamma^2 times ``right``). ``details``: ``strength`` theta,
    ``alignment`` gamma, ``critical_step_size`` at which the outlier appears. Where mu_2 of the
    activation is not 0, and for pairs of equal rows, rows are as a real step leaves them:
    :func:`giantstep.theory.one_step.any_activation.weight_law.weight_law`.

    Assumes: as :func:`giantstep.theory.one_step.stepped_network.one_step`; without a dimension, a
    step size in d^-1/2 (small steps) or above (the outlier is then infinite).
    Status: theorem for small steps; heuristic (isotropic rows, or leave-one-out) for larger ones.
    References: Ba et al. 2022, arXiv:2205.01445; Benaych-Georges, Nadakuditi 2012,
        arXiv:1103.2221.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="normal", samples="2d", width="1.5d",
    ...     step_size="3.265986*d^-0.5")
    >>> spectrum = predict_weight_spectrum(Problem.of("relu(h1)"), settings)
    >>> [round(value, 3) for value in spectrum.outliers]
    [2.438]
    """
    if covers_uneven_rows(problem, settings) and not settings.normalise:
        return uneven_weight_spectrum(problem, settings)
    power = settings.step_size.power
    small = settings.dim is None and power == -0.5
    unit = settings.replace(step_size=settings.step_size.coefficient) if small else settings
    step, sizes = _step(problem, unit)
    blocks = step.blocks(sizes)
    # Per unit of d: theta^2 = p E[s^2] is finite for a step of order d^-1/2.
    load = sizes.width_ratio * float(step.fractions @ blocks.spikes**2)
    if settings.dim is not None:
        load *= step.dim
    strength = math.sqrt(load) if small or settings.dim is not None else math.inf
    if settings.dim is not None and settings.loss == "square" and not settings.normalise:
        strength = _with_residual(step, sizes, activation(settings.activation))
    bulks = np.ones_like(blocks.bulks) if small else blocks.bulks
    rows = RowLaw(bulks, step.fractions, step.readout**2)
    outlier = weight_outlier(strength, sizes.width_ratio, rows)
    cosine = float(step.alignment(sizes))
    x, density = singular_value_density(sizes.width_ratio, rows)
    spread = math.sqrt(float(step.fractions @ step.readout**2))
    gradient = gradient_norm(step.signal, sizes.samples_ratio)
    critical = critical_step(gradient, step.signal.mu_1, sizes.width_ratio, spread)
    scale = math.sqrt(sizes.width_ratio * (1.0 if settings.dim is None else step.dim))
    unit_name = "critical_step_size_times_sqrt_d" if settings.dim is None else "critical_step_size"
    found = outlier.separated
    return SpectrumPrediction(
        bulk_edges=bulk_edges(sizes.width_ratio, rows),
        x=x,
        density=density,
        mass_at_zero=max(0.0, 1 - 1 / sizes.width_ratio),
        outliers=(outlier.value,) if found else (),
        overlaps={
            "left": (outlier.left,) if found else (),
            "right": (outlier.right,) if found else (),
            "target": (cosine**2 * outlier.right,) if found else (),
        },
        details={"strength": strength, "alignment": cosine, unit_name: critical / scale},
        notes=("singular values of W", *([] if small else _approximations(settings))),
        references=("Ba et al. 2022, arXiv:2205.01445",),
    )


def predict_feature_spectrum(
    problem: Problem, settings: GiantStep | SpikedRandomFeatures
) -> SpectrumPrediction:
    r"""Eigenvalues of :math:`\Phi^T\Phi/d`, :math:`\Phi = \sigma(XW^T)`: bulk and outliers.

    See :func:`giantstep.theory.one_step.feature_spectrum.feature_spectrum`. ``overlaps``:
    ``blocks``, the squared projection of an outlier's vector on the indicators of neurons with
    equal readout. Where mu_2 of the activation is not 0, and for pairs of equal rows:
    :func:`giantstep.theory.one_step.any_activation.feature_law.feature_law`.

    Assumes: as :func:`giantstep.theory.one_step.stepped_network.one_step`; without a dimension,
    outliers of order d are infinite and are reported as such.
    Status: heuristic, verified by simulation.
    References: Moniri et al. 2023, arXiv:2310.07891; Dandi et al. 2024, arXiv:2410.18938.

    >>> settings = SpikedRandomFeatures(activation="tanh", spike="2", dim=600)
    >>> spectrum = predict_feature_spectrum(Problem.of("sin(h1)"), settings)
    >>> [round(value, 2) for value in spectrum.outliers]
    [584.02]
    """
    if isinstance(settings, GiantStep) and covers_uneven_rows(problem, settings):
        return uneven_feature_spectrum(problem, settings)
    gram = feature_gram(problem, settings)
    dim = LIMIT if settings.dim is None else float(settings.dim)
    spectrum = feature_spectrum(gram, dim)
    if not spectrum.edges.converged:
        raise NoTheory(
            f"activation = {settings.activation}, width = {settings.width}: the edges of the bulk "
            "were not found; other sizes, or a smaller step or spike, may be covered"
        )
    notes = ["eigenvalues of Phi^T Phi / d, Phi = sigma(X W^T)"]
    if isinstance(settings, GiantStep):
        notes += _approximations(settings)
    if not spectrum.complete:
        notes.append("parts of the density, or an outlier, were not found")
    limit = 1e-3 * LIMIT if settings.dim is None else math.inf
    return SpectrumPrediction(
        bulk_edges=(spectrum.edges.low, spectrum.edges.high),
        x=spectrum.eigenvalues,
        density=spectrum.density,
        mass_at_zero=spectrum.mass_at_zero,
        outliers=tuple(
            math.inf if outlier.value > limit else outlier.value for outlier in spectrum.outliers
        ),
        overlaps={"blocks": tuple(outlier.overlap for outlier in spectrum.outliers)},
        details={},
        notes=tuple(notes),
        references=(
            "Moniri et al. 2023, arXiv:2310.07891",
            "Dandi et al. 2024, arXiv:2410.18938",
        ),
    )


def _approximations(settings: GiantStep) -> list[str]:
    """One line where a real step leaves rows that are not isotropic, as spectra take them to be."""
    mu_2 = float(activation(settings.activation).hermite(2)[2])
    if abs(mu_2) < NEGLIGIBLE:
        return []
    return [
        f"approximate: mu_2 = {mu_2:.3g} of the activation makes rows anisotropic after a giant "
        "step, and spectra are predicted for isotropic ones"
    ]


def feature_gram(problem: Problem, settings: GiantStep | SpikedRandomFeatures) -> SpikedGram:
    """The features whose spectrum is sought: blocks of neurons, and sizes in units of d."""
    if isinstance(settings, SpikedRandomFeatures):
        blocks = Blocks(*(np.array(values) for values in settings.blocks()))
        samples = ratio_to_dim(settings, "readout_samples")
        width = ratio_to_dim(settings, "width")
    else:
        step, sizes = one_step(problem, settings.replace(ridge=1.0), "spike-strength")
        readout, fractions = moment_blocks(settings, GAUSSIAN_BLOCKS)
        step = step._replace(readout=readout, fractions=fractions)
        blocks, samples, width = step.blocks(sizes), sizes.readout_samples_ratio, sizes.width_ratio
    sigma = activation(settings.activation)
    return SpikedGram.of(sigma, blocks, samples_ratio=samples, width_ratio=width)


def _with_residual(step: OneStep, sizes: Sizes, sigma: Activation) -> float:
    """The strength when the output at the start, of order p^-1/2, is subtracted from the labels."""
    size = math.sqrt(float(step.fractions @ step.readout**2))
    width = sizes.width_ratio * step.dim
    signal = step.signal
    return residual_strength(
        step=sizes.step_size * size * math.sqrt(width),
        mu_1=signal.mu_1,
        second_moment=sigma.second_moment - float(sigma.hermite(0)[0]) ** 2,
        linear=signal.linear,
        power=signal.power,
        samples_ratio=sizes.samples_ratio,
        output=size / math.sqrt(width),
    )


def _step(problem: Problem, settings: GiantStep) -> tuple[OneStep, Sizes]:
    """The step alone: the readout fit does not matter to the weights."""
    if settings.readout == "symmetric-sign":
        raise NoTheory(
            "readout = symmetric-sign starts from pairs of equal rows, whose spectrum is known for "
            "steps of order 1 or a given --dim, without biases and normalise: change these, or use "
            "ones, sign, normal, or value:probability,..."
        )
    power = settings.step_size.power
    if settings.dim is None and power < 0 and power != -0.5:
        raise NoTheory(f"step_size = {settings.step_size}: give --dim, or a multiple of d^-0.5")
    if settings.dim is None:
        settings = settings.replace(step_size=settings.step_size.coefficient)
    fitted = settings.replace(ridge=1.0, readout_samples="1d")
    step, sizes = one_step(problem, fitted, "spike-strength")
    readout, fractions = moment_blocks(settings)
    return step._replace(readout=readout, fractions=fractions), sizes
