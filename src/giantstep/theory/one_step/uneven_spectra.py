"""Predicted spectra where a step leaves rows that are not isotropic: mu_2 != 0, or pairs."""

from __future__ import annotations

import math

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.language.targets.integration import block_of, integrable
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.ratios import fixed_width
from giantstep.theory.giant_step.risk.first_layer import Neurons
from giantstep.theory.giant_step.risk.gradient_step import first_layers
from giantstep.theory.giant_step.risk.readout import Readout
from giantstep.theory.one_step.alignment import NEGLIGIBLE
from giantstep.theory.one_step.any_activation.feature_law import feature_law
from giantstep.theory.one_step.any_activation.prediction import spikes_of
from giantstep.theory.one_step.any_activation.weight_law import Rows, weight_law
from giantstep.theory.one_step.readout_law import moment_blocks
from giantstep.theory.one_step.spectrum_prediction import SpectrumPrediction
from giantstep.theory.one_step.stepped_network import Sizes, one_step
from giantstep.theory.spiked_random_features.conditional_features import LIMIT

#: Blocks that stand for a Gaussian readout, and more readout values than take minutes.
GAUSSIAN_BLOCKS, MOST_BLOCKS = 3, 5


def covers_uneven_rows(problem: Problem, settings: GiantStep) -> bool:
    """Whether a step of these settings leaves uneven rows, and their spectrum is known.

    >>> relu = GiantStep(activation="relu", readout="ones", width="1d")
    >>> covers_uneven_rows(Problem.of("h1"), relu)
    True
    """
    paired = settings.readout == "symmetric-sign"
    mu_2 = float(activation(settings.activation).hermite(2)[2])
    support = settings.readout_support()
    few = support is None or len(support[0]) <= MOST_BLOCKS
    giant = settings.dim is not None or settings.step_size.power == 0
    plain = settings.biases == "none" and not fixed_width(settings)
    bent = paired or abs(mu_2) > NEGLIGIBLE
    return bent and few and giant and plain and integrable(block_of(problem.target))


def uneven_weight_spectrum(problem: Problem, settings: GiantStep) -> SpectrumPrediction:
    r"""Singular values of the first layer after one step: bulk, outlier, overlaps.

    .. math:: w_j = s v + (1 + \bar aS)w^0_j + \xi_j

    As :func:`giantstep.theory.one_step.any_activation.weight_law.weight_law`.

    Assumes: as :func:`covers_uneven_rows`; rows are not put back on the sphere.
    Status: heuristic (leave-one-out over the batch), checked against real steps.
    References: Ba et al. 2022, arXiv:2205.01445, for isotropic rows.

    >>> settings = GiantStep(activation="relu", readout="ones", samples="4d", width="1d", dim=200)
    >>> spectrum = uneven_weight_spectrum(Problem.of("relu(h1)"), settings)
    >>> len(spectrum.outliers), round(spectrum.mass_at_zero, 6)
    (1, 0.0)
    """
    readout, sizes = _readout(problem, settings)
    layer = readout.layer
    spikes, alignment = spikes_of(layer.means, problem.target)
    # The direction of the means may be turned by the sign that makes its cosine positive.
    directions = readout.learned.directions
    turned = np.sign(float(np.sum(spikes * (layer.means @ directions[:, 0]))))
    directions = np.concatenate([turned * directions[:, :1], directions[:, 1:]], axis=1)
    widths = sizes.width_ratio * layer.neurons.fractions
    dim = math.inf if settings.dim is None else float(settings.dim)
    law = weight_law(Rows(layer, spikes, directions, alignment, widths), dim)
    _check_found(len(law.bulk.values), settings)
    values, found = np.sqrt(law.bulk.values), law.outlier
    return SpectrumPrediction(
        bulk_edges=(math.sqrt(law.bulk.low), math.sqrt(law.bulk.high)),
        x=values,
        density=2 * values * law.bulk.density,
        mass_at_zero=max(0.0, 1 - 1 / sizes.width_ratio),
        outliers=(found.value,) if found else (),
        overlaps={
            name: (float(getattr(found, name)),) if found else ()
            for name in ("left", "right", "target")
        },
        details={
            "strength": math.sqrt(dim * float(widths @ spikes**2)),
            "alignment": alignment,
        },
        notes=("singular values of W", *_notes(settings, law.complete)),
        references=("Ba et al. 2022, arXiv:2205.01445",),
    )


def uneven_feature_spectrum(problem: Problem, settings: GiantStep) -> SpectrumPrediction:
    r"""Eigenvalues of :math:`\Phi^T\Phi/d` after one step: bulk, outliers, overlaps.

    .. math:: \Phi = \sigma(XW^T), \qquad w_j = s v + (1 + \bar aS)w^0_j + \xi_j

    As :func:`giantstep.theory.one_step.any_activation.feature_law.feature_law`.

    Assumes: as :func:`covers_uneven_rows`.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Moniri et al. 2023, arXiv:2310.07891; Dandi et al. 2024, arXiv:2410.18938, for
        isotropic rows.

    >>> settings = GiantStep(activation="relu", readout="ones", samples="4d", width="1d", dim=200)
    >>> spectrum = uneven_feature_spectrum(Problem.of("relu(h1)"), settings)
    >>> spectrum.outliers[0] > 10 * spectrum.bulk_edges[1]
    True
    """
    readout, sizes = _readout(problem, settings)
    dim = LIMIT if settings.dim is None else float(settings.dim)
    law = feature_law(
        readout,
        samples_ratio=sizes.readout_samples_ratio,
        width_ratio=sizes.width_ratio,
        dim=dim,
    )
    _check_found(len(law.bulk.values), settings)
    limit = 1e-3 * LIMIT if settings.dim is None else math.inf
    values = [found.value for found in law.outliers]
    return SpectrumPrediction(
        bulk_edges=(law.bulk.low, law.bulk.high),
        x=law.bulk.values,
        density=law.bulk.density,
        mass_at_zero=law.mass_at_zero,
        outliers=tuple(math.inf if value > limit else value for value in values),
        overlaps={"blocks": tuple(found.overlap for found in law.outliers)},
        details={},
        notes=(
            "eigenvalues of Phi^T Phi / d, Phi = sigma(X W^T)",
            *_notes(settings, law.complete),
        ),
        references=(
            "Moniri et al. 2023, arXiv:2310.07891",
            "Dandi et al. 2024, arXiv:2410.18938",
        ),
    )


def _readout(problem: Problem, settings: GiantStep) -> tuple[Readout, Sizes]:
    """The layer after its step as the readout sees it, and sizes in units of d."""
    paired = settings.readout == "symmetric-sign"
    # The isotropic theory checks the settings; pairs start silent, and are no business of its own.
    plain = settings.replace(ridge=1.0)
    if paired:
        plain = plain.replace(readout="ones", loss="correlation")
    _, sizes = one_step(problem, plain, "spike-strength")
    sigma = activation(settings.activation)
    neurons = Neurons.of(
        *moment_blocks(settings, GAUSSIAN_BLOCKS),
        paired=paired,
        gaussian=settings.start == "gaussian",
        normalise=settings.normalise,
    )
    *_, layer = first_layers(
        problem,
        sigma,
        neurons,
        step_sizes=[sizes.step_size],
        samples_ratios=[sizes.samples_ratio],
        loss=settings.loss,
        kicks=False,
    )
    return Readout(problem, sigma, layer), sizes


def _check_found(points: int, settings: GiantStep) -> None:
    if not points:
        raise NoTheory(
            f"activation = {settings.activation}, width = {settings.width}: the bulk was not "
            "found; other sizes, or a smaller step, may be covered"
        )


def _notes(settings: GiantStep, complete: bool) -> list[str]:
    notes = ["rows as a real step leaves them, not isotropic"]
    if settings.readout == "symmetric-sign":
        notes.append("pairs of neurons with equal first rows and opposite readouts")
    if settings.readout_support() is None:
        notes.append(f"a Gaussian readout: {GAUSSIAN_BLOCKS} blocks with its moments")
    if not complete:
        notes.append("parts of the density, or an outlier, were not found")
    return notes
