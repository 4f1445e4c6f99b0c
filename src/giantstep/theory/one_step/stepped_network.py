"""A network after one giant step, as the theory sees it: spikes, bulks, and the sizes they meet."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation, activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.ratios import is_width_setting_fixed
from giantstep.theory.giant_step.risk.sizes import RiskSizes, dimension
from giantstep.theory.giant_step.start_law import CELLS, readout_blocks
from giantstep.theory.one_step.alignment import (
    StepSignal,
    alignment,
    bulk_variance,
    length_tilt,
    spike_strength,
)
from giantstep.theory.one_step.start_output import neuron_correlation, own_bulk_shrinkage
from giantstep.theory.spiked_random_features.channel_equivalent import Risk
from giantstep.theory.spiked_random_features.component_groups import spiked_component_groups
from giantstep.theory.spiked_random_features.finite_size import (
    RESOLVED,
    Blocks,
    Version,
    finite_size_version,
)
from giantstep.theory.spiked_random_features.risk import spiked_risk

#: With more readouts than this, neurons are not grouped by their components as well.
MOST_GROUPED = 4


class OneStep(NamedTuple):
    """A problem before its sizes are chosen: signal of the step, readout, rows, dimension.

    ``readout`` values and ``fractions`` of neurons; ``normalise``: rows go back to the sphere;
    ``gaussian_rows``: they started as Gaussian vectors; ``tilted``: their lengths follow their
    directions, as those of a real step do; ``follows_residual``: the step subtracts the network's
    own output. ``version``: how finite d is treated; those that resolve corrections of order 1/d
    also follow those of a real step.
    """

    signal: StepSignal
    readout: Float[np.ndarray, " blocks"]
    fractions: Float[np.ndarray, " blocks"]
    dim: float
    version: Version
    normalise: bool
    gaussian_rows: bool
    tilted: bool = False
    follows_residual: bool = False

    @property
    def resolved(self) -> bool:
        """Whether corrections of order 1/d count."""
        return self.version in RESOLVED

    def blocks(self, sizes: RiskSizes) -> Blocks:
        """Spikes and bulk variances of the neurons after the step, by their readout."""
        return self._placed(self._moved(sizes))

    def groups(self, sizes: RiskSizes) -> Blocks:
        """The same by their component along the learned direction too, where that counts."""
        if not self.resolved or len(self.readout) > MOST_GROUPED:
            return self.blocks(sizes)
        return self._placed(spiked_component_groups(self._moved(sizes), self.dim))

    def _placed(self, blocks: Blocks) -> Blocks:
        """Rows put back on the sphere; their lengths depend on components only once grouped."""
        if not self.normalise:
            return blocks
        lengths = (blocks.spikes**2 + blocks.bulks) ** 0.5
        spikes, bulks = blocks.spikes / lengths, blocks.bulks / lengths**2
        return blocks._replace(spikes=spikes, bulks=bulks, length_tilt=None)

    def _moved(self, sizes: RiskSizes) -> Blocks:
        """The neurons as the step leaves them."""
        steps = sizes.step_sizes[0] * self.readout
        spikes = spike_strength(self.signal, sizes.samples_ratios[0], steps, self._finite_dim)
        bulks = bulk_variance(self.signal, sizes.samples_ratios[0], steps)
        correlation = None
        if self.resolved:
            correlation = neuron_correlation(
                self.signal,
                sizes,
                self.readout,
                self.fractions,
                bulks,
                float(self.follows_residual),
            )
        if self.resolved and self.follows_residual:
            bulks = bulks - own_bulk_shrinkage(self.signal, sizes, self.readout, self.dim)
        return Blocks(
            spikes,
            bulks,
            self.fractions,
            norm_spread=1 / bulks if self.gaussian_rows else None,
            length_tilt=(
                length_tilt(self.signal, sizes.samples_ratios[0], steps) if self.tilted else None
            ),
            correlation=correlation,
        )

    @property
    def _finite_dim(self) -> Any:
        return self.dim if self.resolved else math.inf

    def alignment(self, sizes: RiskSizes) -> Any:
        """Cosine of the learned direction with the target's mean gradient."""
        return alignment(self.signal, sizes.samples_ratios[0], self._finite_dim)

    def risk(self, sigma: Activation, problem: Problem, sizes: RiskSizes) -> Risk:
        """Test and train error, noise included."""
        return spiked_risk(
            sigma,
            problem.target,
            self.groups(sizes),
            alignment=float(self.alignment(sizes)),
            samples_ratio=sizes.readout_samples_ratio,
            width_ratio=sizes.width_ratio,
            ridge=sizes.ridge,
            noise=problem.noise,
            dim=self.dim,
            version=self.version,
        )


def one_step(
    problem: Problem, settings: GiantStep, version: Version | None = None, cells: int = CELLS
) -> tuple[OneStep, RiskSizes]:
    r"""The theory's view of the settings: signal and readout, and sizes in units of d.

    .. math:: w_j^1 = w_j + \eta a_j\frac1{n_0}\sum_i (y_i - f(x_i))\sigma'(\langle w_j,
        x_i\rangle)x_i

    A network whose neurons have mean output starts from the constant
    :math:`f = \mu_0 E a`, which is subtracted from the labels of the step (square loss).

    Symbols: eta ``settings.step_size``, n_0 ``settings.samples``; blocks that stand for a Gaussian
    readout ``cells``.

    Assumes: one step on Gaussian inputs, no biases, independent rows, a fit on fresh samples.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="20d", step_size=3, width="1d",
    ...     readout_samples="0.9d", ridge=0.1)
    >>> step, sizes = one_step(Problem.of("sin(h1)"), settings)
    >>> blocks = step.blocks(sizes)
    >>> round(float(blocks.spikes[0]), 6), round(float(blocks.bulks[0]), 6)
    (1.134056, 1.018973)
    """
    sigma = activation(settings.activation)
    readout, fractions = readout_blocks(settings, cells)
    start_output = 0.0
    if settings.loss == "square":
        start_output = float(sigma.hermite(0)[0] * (fractions @ readout))
    sizes = RiskSizes.of(settings)
    if version is None and settings.dim is None:
        # Few neurons carry spikes of finite strength, however large d is.
        version = "spike-strength" if is_width_setting_fixed(settings) else "limit"
    if version is None:
        version = finite_size_version(sizes.readout_samples_ratio, sizes.width_ratio, sizes.ridge)
    step = OneStep(
        StepSignal.of(problem, sigma, start_output),
        readout,
        fractions,
        dimension(settings),
        version,
        settings.normalise,
        settings.start == "gaussian" and not settings.normalise,
        version in RESOLVED,
        settings.loss == "square",
    )
    return step, sizes
