"""Predicted spectra after any number of giant steps, for the settings of a learner."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.bibliography import cite
from giantstep.errors import NoTheory, raise_refusal
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.language.targets.integration import is_target_integrable, target_block
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.ratios import (
    is_width_setting_fixed,
    setting_over_dim,
    step_settings_over_dim,
    step_size_settings,
)
from giantstep.settings.spiked_random_features import SpikedRandomFeatures
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, Neurons
from giantstep.theory.giant_step.risk.gradient_step import limit_layers
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.spectra.laws import Bulk, FeatureLaw, SpectrumLaw, WeightLaw
from giantstep.theory.giant_step.start_law import limit_readout_moments
from giantstep.theory.one_step.stepped_network import one_step
from giantstep.theory.spiked_random_features.conditional_features import LIMIT

#: Most steps, and most kinds of neurons whose rows are followed exactly; kinds that stand for a
#: Gaussian readout, with such rows and with isotropic ones.
MOST_STEPS, MOST_KINDS, GAUSSIAN_KINDS, GAUSSIAN_BLOCKS = 8, 5, 3, 5
#: Second Hermite coefficients that count as none.
NEGLIGIBLE = 1e-8


class SpectrumPrediction(NamedTuple):
    """A bulk with its density, and outliers with the squared cosines of their vectors.

    ``x``, ``density``: tabulated density, of mass 1 minus ``mass_at_zero`` over all p values.
    ``overlaps`` has one entry for each outlier.
    """

    bulk_edges: tuple[float, float]
    x: Float[np.ndarray, "points"]
    density: Float[np.ndarray, "points"]
    mass_at_zero: float
    outliers: tuple[float, ...]
    overlaps: dict[str, tuple[float, ...]]
    details: dict[str, float]
    notes: tuple[str, ...]
    references: tuple[str, ...]


def predict_weight_spectrum(problem: Problem, settings: GiantStep) -> SpectrumPrediction:
    r"""Singular values of the first layer after its steps: bulk, outliers, overlaps.

    .. math:: w_j = m_a + b_j, \qquad \theta^2 = \sum_j|m_j|^2

    ``overlaps``: ``left`` with the readout, ``right`` with the direction that the readout weighs
    the means to, ``target`` with the target's directions. ``details``: ``strength`` theta; after
    one step ``alignment`` of its direction with the target, and ``critical_step_size`` at which
    the outlier appears. As :class:`giantstep.theory.giant_step.spectra.laws.WeightLaw`.

    Assumes: Gaussian inputs, fresh batches, sizes proportional to d; without a dimension, a step
    size of order one (outliers are then infinite) or in d^-1/2 (small steps).
    Status: theorem for small steps; heuristic (leave-one-out) for larger ones.
    References: Ba et al. 2022, arXiv:2205.01445; Benaych-Georges, Nadakuditi 2012,
        arXiv:1103.2221; Moniri, Hassani 2026, arXiv:2605.17767, for two steps in powers of d.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="normal", samples="2d", width="1.5d",
    ...     step_size="3.265986*d^-0.5")
    >>> spectrum = predict_weight_spectrum(Problem.of("relu(h1)"), settings)
    >>> [round(value, 3) for value in spectrum.outliers]
    [2.438]
    """
    rows = stepped_rows(problem, settings)
    small = settings.dim is None and settings.step_size.power == -0.5
    width = setting_over_dim(settings, "width")
    # A spike of order d^-1/2 has a finite strength, whatever d is.
    law = WeightLaw(rows.layer, width, 1.0 if small else float(settings.dim or LIMIT))
    bulk = _predicted_spectrum(law, settings)
    outliers, limit = law.outliers(bulk.high), math.inf
    strength = math.sqrt(law.strength)
    details = {"strength": strength}
    if settings.dim is None and not small:
        limit = 1e-3 * LIMIT
        details["strength"] = math.inf if strength else 0.0
    neurons = rows.layer.neurons
    left = _predicted_unit_vector(neurons.readout * np.sqrt(neurons.fractions))
    right = _predicted_unit_vector((neurons.fractions * neurons.readout) @ law.means)
    seen = right[: rows.problem.target.rank]
    # W^T a - W_0^T a, which tells the learned direction, has bulks in it, as the vectors have.
    sums = rows.layer.bulks if neurons.paired else rows.layer.common
    excess = left @ (sums - neurons.twins) @ left
    common = math.sqrt(max(1 + float(excess) / law.strength, 0.0)) if strength else 1.0
    if settings.steps == 1 and strength:
        details["alignment"] = float(np.linalg.norm(seen))
        # The strength grows with the step as long as the bulk does not.
        name = "critical_step_size" if settings.dim else "critical_step_size_times_sqrt_d"
        step = float(settings.step_size.at(settings.dim or 1.0))
        per_step = strength / (1.0 if settings.dim else math.sqrt(law.dim)) / step
        details[name] = width**0.25 / per_step
    vectors = [(law.left(outlier), law.right(outlier)) for outlier in outliers]
    values, grown = np.sqrt(bulk.values), limit_outlier_count(settings)
    return SpectrumPrediction(
        bulk_edges=(math.sqrt(bulk.low), math.sqrt(bulk.high)),
        x=values,
        density=2 * values * bulk.density,
        mass_at_zero=law.zero,
        outliers=tuple(math.inf if o.value > limit else math.sqrt(o.value) for o in outliers),
        overlaps={
            "left": tuple(_square(u @ left) for u, _ in vectors),
            "right": tuple(_square(common * float(v @ right)) for _, v in vectors),
            "target": tuple(_square(float(np.linalg.norm(v[: len(seen)]))) for _, v in vectors),
        },
        details=details,
        notes=("singular values of W", *rows.notes, *grown, *_bulk_notes(law)),
        references=cite("2205.01445", "2605.17767") if grown else cite("2205.01445"),
    )


def limit_outlier_count(settings: GiantStep) -> list[str]:
    """How many outliers two steps of sizes d^(a_1 - 1/2) and d^(a_2 - 1/2) leave in the end.

    Where the first step has shifted pre-activations by d^(a_1 - 1/2) kappa a_j, the slopes of the
    second expand in powers of it: its gradient has the spikes a^(k+1) x X^T(y kappa^k)/n, of
    strength d^(a_2 - k (1/2 - a_1)).

    >>> limit_outlier_count(GiantStep(steps=2, step_size="d^-0.25/d^-0.1", readout="normal"))
    ['a1 = 0.25, a2 = 0.4: counting powers of d, 1 + floor(a2/(1/2 - a1)) = 2 outliers leave the \
bulk in the end; simulations up to d = 2000 show at most two']
    """
    powers = [size.power + 0.5 for size in settings.step_size.over(settings.steps)]
    if len(powers) != 2 or not all(0 < power < 0.5 for power in powers):
        return []
    count = 1 + math.floor(powers[1] / (0.5 - powers[0]))
    support = settings.readout_support()
    if support is not None and len(support[0]) < count:
        return []
    return [
        f"a1 = {powers[0]:g}, a2 = {powers[1]:g}: counting powers of d, 1 + floor(a2/(1/2 - a1)) = "
        f"{count} outliers leave the bulk in the end; simulations up to d = 2000 show at most two"
    ]


def predict_feature_spectrum(
    problem: Problem, settings: GiantStep | SpikedRandomFeatures
) -> SpectrumPrediction:
    r"""Eigenvalues of :math:`\Phi^T\Phi/d`, :math:`\Phi = \sigma(XW^T)`: bulk and outliers.

    See :class:`giantstep.theory.giant_step.spectra.laws.FeatureLaw`. ``overlaps``: ``blocks``, the
    squared projection of an outlier's vector on the indicators of neurons with equal readout.

    Assumes: Gaussian inputs, fresh batches, sizes proportional to d; without a dimension,
    outliers of order d are infinite and are reported as such.
    Status: heuristic, verified by simulation.
    References: Moniri et al. 2023, arXiv:2310.07891; Dandi et al. 2024, arXiv:2410.18938.

    >>> settings = SpikedRandomFeatures(activation="tanh", spike="2", dim=600)
    >>> spectrum = predict_feature_spectrum(Problem.of("sin(h1)"), settings)
    >>> [round(value, 2) for value in spectrum.outliers]
    [584.02]
    """
    rows = stepped_rows(problem, settings)
    law = rows.features(settings)
    bulk = _predicted_spectrum(law, settings)
    outliers = law.outliers(bulk.high)
    limit = 1e-3 * LIMIT if settings.dim is None else math.inf
    return SpectrumPrediction(
        bulk_edges=(bulk.low, bulk.high),
        x=bulk.values,
        density=bulk.density,
        mass_at_zero=law.zero,
        outliers=tuple(math.inf if o.value > limit else o.value for o in outliers),
        overlaps={"blocks": tuple(law.on_kinds(outlier) for outlier in outliers)},
        details={},
        notes=("eigenvalues of Phi^T Phi / d, Phi = sigma(X W^T)", *rows.notes, *_bulk_notes(law)),
        references=cite("2310.07891", "2410.18938"),
    )


class SteppedRows(NamedTuple):
    """A first layer, a problem that has its directions, and how its rows are treated.

    Isotropic rows have one direction that counts, and spectra do not depend on labels: their
    problem is the projection on it.
    """

    layer: FirstLayer
    problem: Problem
    notes: list[str]

    def features(self, settings: GiantStep | SpikedRandomFeatures) -> FeatureLaw:
        """The law of the features' spectrum at the sizes of the settings."""
        name = "samples" if settings.readout_samples is None else "readout_samples"
        samples, width = setting_over_dim(settings, name), setting_over_dim(settings, "width")
        fit = Fit.of(samples, width, 0.0, settings.dim)
        readout = Readout(self.problem, activation(settings.activation), self.layer)
        return FeatureLaw(readout, fit)


def stepped_rows(
    problem: Problem, settings: GiantStep | SpikedRandomFeatures, *, isotropic: bool = False
) -> SteppedRows:
    """The rows after the steps; ``isotropic``: with a spike and no other preferred direction.

    >>> rows = stepped_rows(Problem.of("h1"), GiantStep(activation="tanh", steps=2, width="1d"))
    >>> len(rows.layer.batches), rows.notes[0]
    (2, 'rows as real steps leave them, not isotropic')
    """
    if isinstance(settings, SpikedRandomFeatures):
        spikes, bulks, fractions = (np.array(values) for values in settings.blocks())
        return _spiked(spikes, bulks, fractions)
    _check_spectrum_covered(settings)
    sigma, support = activation(settings.activation), settings.readout_support()
    mu_2 = float(sigma.hermite(2)[2])
    paired = settings.readout == "symmetric-sign"
    bent = paired or settings.steps > 1 or abs(mu_2) > NEGLIGIBLE
    few = bent if support is None else len(support[0]) <= MOST_KINDS
    small = settings.dim is None and settings.step_size.power != 0
    covered = (
        few and not isotropic and not small and is_target_integrable(target_block(problem.target))
    )
    notes = [] if support else ["a Gaussian readout: {} kinds of neurons"]
    if settings.steps == 0:
        return _spiked(np.zeros(1), np.ones(1), np.ones(1))
    if covered:
        neurons = Neurons.of(
            *limit_readout_moments(settings, GAUSSIAN_KINDS),
            paired=paired,
            gaussian=settings.start == "gaussian",
            normalise=settings.normalise,
        )
        *_, layer = limit_layers(
            problem,
            sigma,
            neurons,
            step_sizes=step_size_settings(settings),
            samples_ratios=step_settings_over_dim(settings),
            loss=settings.loss,
            coarse=settings.steps > 1,
            kicks=settings.steps > 1,
        )
        notes = ["rows as real steps leave them, not isotropic", *notes]
        if paired:
            notes.append("pairs of neurons with equal first rows and opposite readouts")
        return SteppedRows(layer, problem, [note.format(len(neurons.readout)) for note in notes])
    if paired or settings.steps > 1:
        raise NoTheory(
            f"readout = {str(settings.readout)[:60]}, steps = {settings.steps}: the spectrum of "
            "pairs, or after several steps, is known for steps of order 1 or a given --dim, and "
            f"for at most {MOST_KINDS} readout values"
        )
    unit = settings.replace(step_size=settings.step_size.coefficient) if small else settings
    fitted = unit.replace(ridge=1.0, readout_samples="1d")
    step, sizes = one_step(problem, fitted, "spike-strength")
    readout, fractions = limit_readout_moments(settings, GAUSSIAN_BLOCKS)
    step = step._replace(readout=readout, fractions=fractions)
    blocks, cosine = step.blocks(sizes), float(step.alignment(sizes))
    if not small and abs(mu_2) > NEGLIGIBLE:
        notes.append(
            f"approximate: mu_2 = {mu_2:.3g} of the activation makes rows anisotropic after a "
            "giant step, and spectra are predicted for isotropic ones"
        )
    bulks = np.ones(len(readout)) if small else np.asarray(blocks.bulks)
    rows = _spiked(np.asarray(blocks.spikes), bulks, fractions, cosine, readout)
    return rows._replace(notes=[note.format(len(readout)) for note in notes])


def _spiked(
    spikes: np.ndarray,
    bulks: np.ndarray,
    fractions: np.ndarray,
    cosine: float = 1.0,
    readout: np.ndarray | None = None,
) -> SteppedRows:
    """Isotropic rows with spikes on a direction of that cosine with the first one."""
    neurons = Neurons.of(spikes if readout is None else readout, fractions)
    direction = np.array([cosine, math.sqrt(max(1 - cosine**2, 0.0))])
    layer = FirstLayer.isotropic(neurons, np.outer(spikes, direction), bulks)
    return SteppedRows(layer, Problem.of("h1"), [])


def _check_spectrum_covered(settings: GiantStep) -> None:
    """Raise NoTheory, before anything is computed, for what is not covered."""
    power, several = settings.step_size.power, settings.steps > 1
    refusals = {
        f"steps = {settings.steps}: spectra are computed for at most {MOST_STEPS}": (
            settings.steps > MOST_STEPS
        ),
        f"{settings.without_theory}: spectra are predicted without; drop these": (
            settings.without_theory != ""
        ),
        "batches = reused: spectra after several steps are known for fresh ones": (
            several and settings.batches == "reused"
        ),
        "normalise: spectra after several steps are known without; drop --normalise": (
            several and settings.normalise
        ),
        "readout_samples = same: spectra need fresh samples, such as 2d": (
            settings.readout_samples == "same"
        ),
        f"biases = {settings.biases}: not covered, use biases = none": settings.biases != "none",
        f"width = {settings.width}: give a multiple of d, such as 1d, or --dim": (
            is_width_setting_fixed(settings)
        ),
        f"step_size = {settings.step_size}: give --dim, a plain number, or a multiple of d^-0.5": (
            settings.dim is None and power not in (0, -0.5)
        ),
    }
    raise_refusal(refusals)


def _predicted_spectrum(law: SpectrumLaw, settings: GiantStep | SpikedRandomFeatures) -> Bulk:
    bulk = law.bulk()
    if not len(bulk.values):
        raise NoTheory(
            f"activation = {settings.activation}, width = {settings.width}: the bulk was not "
            "found; other sizes, or a smaller step or spike, may be covered"
        )
    return bulk


def _bulk_notes(law: SpectrumLaw) -> list[str]:
    return [] if law.complete else ["parts of the density, or an outlier, were not found"]


def _predicted_unit_vector(vector: np.ndarray) -> np.ndarray:
    return vector / (np.linalg.norm(vector) or 1.0)


def _square(cosine: float) -> float:
    """Its square; at d = infinity one, but for rounding."""
    return round(float(cosine) ** 2, 7)
