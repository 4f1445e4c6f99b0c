"""Prediction of the risk after one giant step and a fit of the readout on fresh samples."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import Activation, activation
from giantstep.errors import NoTheory
from giantstep.inputs import Gaussian
from giantstep.numerics.arrays import Numbers
from giantstep.problem import Problem
from giantstep.results import Prediction
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.ratios import ratio_to_dim
from giantstep.targets.hermite import tail_energy
from giantstep.theory.learnability.learned_direction import learned_direction
from giantstep.theory.one_step.alignment import (
    StepSignal,
    alignment,
    bulk_variance,
    length_tilt,
    spike_strength,
)
from giantstep.theory.one_step.intermediate_step import gaussian_readout_blocks
from giantstep.theory.one_step.small_step import LinearFeatures, small_step_risk
from giantstep.theory.spiked_features.channel_equivalent import Risk
from giantstep.theory.spiked_features.conditional_features import LIMIT
from giantstep.theory.spiked_features.finite_size import (
    RESOLVED,
    VERSION_NOTES,
    Blocks,
    Version,
    best_version,
)
from giantstep.theory.spiked_features.risk import Prepared, spiked_risk
from giantstep.theory.spiked_features.risk_bounds import risk_bounds

REFERENCES = (
    "Ba et al. 2022, arXiv:2205.01445",
    "Moniri et al. 2023, arXiv:2310.07891",
    "Cui et al. 2024, arXiv:2402.04980",
    "Dandi et al. 2024, arXiv:2410.18938",
)
#: A relative change of the risk that is worth a note.
NOTEWORTHY = 0.005
#: Second Hermite coefficients below this leave the rows isotropic across the learned direction.
NEGLIGIBLE = 1e-8


class Sizes(NamedTuple):
    """What a step is made of, sizes as multiples of d: the numbers that can be varied."""

    step_size: Any
    ridge: Any
    samples_ratio: Any
    readout_samples_ratio: Any
    width_ratio: Any


class OneStep(NamedTuple):
    """A problem before its sizes are chosen: signal of the step, readout, rows, dimension.

    ``readout`` values and ``fractions`` of neurons; ``normalise``: rows go back to the sphere;
    ``gaussian_rows``: they started as Gaussian vectors; ``tilted``: their lengths follow their
    directions, as those of a real step do. ``version``: how finite d is treated.
    """

    signal: StepSignal
    readout: Float[Numbers, " blocks"]
    fractions: Float[Numbers, " blocks"]
    noise: float
    dim: float
    version: Version
    normalise: bool
    gaussian_rows: bool
    tilted: bool = False

    def blocks(self, sizes: Sizes) -> Blocks:
        """Spikes and bulk variances of the neurons after the step."""
        steps = sizes.step_size * self.readout
        spikes = spike_strength(self.signal, sizes.samples_ratio, steps)
        bulks = bulk_variance(self.signal, sizes.samples_ratio, steps)
        if self.normalise:
            lengths = (spikes**2 + bulks) ** 0.5
            return Blocks(spikes / lengths, bulks / lengths**2, self.fractions)
        spread = 1 / bulks if self.gaussian_rows else None
        tilt = length_tilt(self.signal, sizes.samples_ratio, steps) if self.tilted else None
        return Blocks(spikes, bulks, self.fractions, spread, tilt)

    def alignment(self, sizes: Sizes) -> Any:
        """Cosine of the learned direction with the target's mean gradient."""
        return alignment(self.signal, sizes.samples_ratio)

    def prepared(
        self, sigma: Activation, problem: Problem, sizes: Sizes, version: Version | None = None
    ) -> Prepared:
        """Tables that hold at these sizes; arrays of step sizes or widths span a range."""
        steps = np.atleast_1d(np.asarray(sizes.step_size, dtype=float))
        found = [self.blocks(sizes._replace(step_size=step)) for step in steps]
        return Prepared.of(
            sigma,
            problem.target,
            alignment=float(self.alignment(sizes)),
            spikes=np.concatenate([blocks.spikes for blocks in found]),
            bulks=np.concatenate([blocks.bulks for blocks in found]),
            version=version or self.version,
            dim=self.dim,
        )

    def risk(self, prepared: Prepared, sizes: Sizes, traced: bool = False) -> Risk:
        """Test and train error, noise included; ``traced`` to follow changes of the alignment."""
        return spiked_risk(
            prepared,
            self.blocks(sizes),
            samples_ratio=sizes.readout_samples_ratio,
            width_ratio=sizes.width_ratio,
            ridge=sizes.ridge,
            noise=self.noise,
            alignment=self.alignment(sizes) if traced else None,
            dim=self.dim,
            version=self.version,
        )


def one_step(
    problem: Problem, settings: GiantStep, version: Version | None = None
) -> tuple[OneStep, Sizes]:
    r"""The theory's view of the settings: signal and readout, and sizes in units of d.

    .. math:: w_j^1 = w_j + \eta a_j\frac1{n_0}\sum_i (y_i - f(x_i))\sigma'(\langle w_j,
        x_i\rangle)x_i

    A network whose neurons have mean output starts from the constant
    :math:`f = \mu_0 E a`, which is subtracted from the labels of the step (square loss).

    Symbols: eta ``settings.step_size``, n_0 ``settings.samples``.

    Assumes: one step on Gaussian inputs, no biases, independent rows, a fit on fresh samples.
    Status: theorem (bookkeeping).
    References: Cui et al. 2024, arXiv:2402.04980.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="20d", step_size=3, width="1d",
    ...     readout_samples="0.9d", ridge=0.1)
    >>> step, sizes = one_step(Problem.of("sin(h1)"), settings)
    >>> blocks = step.blocks(sizes)
    >>> round(float(blocks.spikes[0]), 6), round(float(blocks.bulks[0]), 6)
    (1.134056, 1.018973)
    """
    _check_covered(problem, settings)
    sigma = activation(settings.activation)
    support = settings.readout_support()
    values, fractions = gaussian_readout_blocks() if support is None else support
    readout, fractions = np.array(values, dtype=float), np.array(fractions, dtype=float)
    start_output = 0.0
    if settings.loss == "square":
        start_output = float(sigma.hermite(0)[0] * (fractions @ readout))
    dim = LIMIT if settings.dim is None else float(settings.dim)
    sizes = Sizes(
        step_size=float(settings.step_size.at(dim)),
        ridge=float(settings.ridge or 0.0),
        samples_ratio=ratio_to_dim(settings, "samples"),
        readout_samples_ratio=ratio_to_dim(settings, "readout_samples"),
        width_ratio=ratio_to_dim(settings, "width"),
    )
    if version is None:
        finite = best_version(sizes.readout_samples_ratio, sizes.width_ratio, sizes.ridge)
        version = "limit" if settings.dim is None else finite
    step = OneStep(
        StepSignal.of(problem, sigma, start_output),
        readout,
        fractions / fractions.sum(),
        problem.noise,
        dim,
        version,
        settings.normalise,
        settings.start == "gaussian" and not settings.normalise,
        version in RESOLVED,
    )
    return step, sizes


def predict(problem: Problem, settings: GiantStep, *, version: Version | None = None) -> Prediction:
    r"""Exact risk after one giant step, and what it is made of.

    Metrics: ``test_error`` (excess risk), ``test_error_noisy``, ``train_error``,
    ``spike_strength`` and ``bulk_variance`` (a number, or one a block), ``alignment``,
    ``bound_upper`` and ``bound_lower`` on the best risk over the ridge, ``linear_floor`` (the
    energy beyond degree one), ``random_features_error`` (the same fit without the step).

    .. math:: R = E\Big(g(x) - \frac1{\sqrt p}\hat a\cdot\sigma(W^1x)\Big)^2

    A step size in :math:`d^{-1/2}` without a dimension has the closed form of small steps; at a
    given dimension every step size is covered, by the finite-size version that the notes name.

    Assumes: Gaussian inputs; rows isotropic across the learned direction, which a real step
    leaves so up to a few per cent in the risk for odd activations, up to ten for others.
    Status: replica in the limit, heuristic at finite d, theorem for small steps.
    References: Ba et al. 2022, arXiv:2205.01445; Cui et al. 2024, arXiv:2402.04980;
        Dandi et al. 2024, arXiv:2410.18938.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="20d", step_size=3, width="1d",
    ...     readout_samples="1.6d", ridge=0.1)
    >>> round(predict(Problem.of("sin(h1)"), settings).metrics["test_error"], 6)
    0.037311
    """
    if settings.dim is None and settings.step_size.power == -0.5:
        return _small_step_prediction(problem, settings)
    step, sizes = one_step(problem, settings, version)
    sigma = activation(settings.activation)
    prepared = step.prepared(sigma, problem, sizes)
    risk = step.risk(prepared, sizes)
    if step.version != "limit":
        prepared = step.prepared(sigma, problem, sizes, "limit")
    blocks = step.blocks(sizes)
    bounds = risk_bounds(prepared, blocks)
    converged = bool(risk.converged)
    test = float(risk.test) - problem.noise if converged else math.nan
    metrics = {
        "test_error": test,
        "test_error_noisy": test + problem.noise,
        "train_error": float(risk.train) if converged else math.nan,
        "spike_strength": _one_or_list(blocks.spikes),
        "bulk_variance": _one_or_list(blocks.bulks),
        "alignment": float(step.alignment(sizes)),
        "bound_upper": bounds.upper,
        "bound_lower": bounds.lower,
        **_baselines(problem, sigma, sizes),
    }
    notes = _notes(problem, settings, step.version)
    if not converged:
        notes.append("the equations did not converge: no error is given")
    elif step.version == "limit" and not step.normalise:
        notes += _tilt_notes(step, prepared, sizes, test)
    status = "replica" if step.version == "limit" else "heuristic"
    return Prediction(
        settings.learner,
        settings.to_json(),
        metrics,
        dict.fromkeys(metrics, status),
        REFERENCES,
        tuple(notes),
    )


def _check_covered(problem: Problem, settings: GiantStep) -> None:
    """Raise NoTheory, saying what would be covered, where the exact risk is not known."""
    power = settings.step_size.power
    refusals = {
        "inputs: the exact risk is known for isotropic Gaussian inputs": not isinstance(
            problem.inputs, Gaussian
        ),
        f"steps = {settings.steps}: the exact risk is known after one step": settings.steps != 1,
        "ridge and readout_samples: give both, the exact risk is that of a fitted readout": (
            settings.ridge is None or settings.readout_samples is None
        ),
        "readout_samples = same: the exact risk needs fresh samples, such as 2d": (
            settings.readout_samples == "same"
        ),
        f"biases = {settings.biases}: the exact risk is known without biases": (
            settings.biases != "none"
        ),
        "detrend: the exact risk is known without it": settings.detrend,
        "readout = symmetric-sign starts from pairs of equal rows, for which the exact risk is "
        "not known: use ones, sign, normal, or value:probability,...": (
            settings.readout == "symmetric-sign"
        ),
        f"step_size = {settings.step_size}: without a dimension the exact risk is known for a "
        "plain number or a multiple of d^-0.5; give --dim for steps between": (
            settings.dim is None and power not in (0, -0.5)
        ),
        f"dim = {settings.dim} is too small: finite-size corrections need at least 10": (
            settings.dim is not None and settings.dim < 10
        ),
    }
    for reason, applies in refusals.items():
        if applies:
            raise NoTheory(reason)
    dim = settings.dim or 1
    if settings.ridge == 0 and settings.readout_samples.at(dim) <= settings.width.at(dim):
        raise NoTheory("ridge = 0 with n <= p: give a positive ridge, such as 1e-4")


def _notes(problem: Problem, settings: GiantStep, version: Version) -> list[str]:
    """What the reader of a prediction must know."""
    sigma, target = activation(settings.activation), problem.target
    notes = [VERSION_NOTES[version]]
    direction, weight = learned_direction(target)
    if weight == 0:
        notes.append("the target has no linear part: one step learns none of its directions")
    if target.rank > 1 and weight > 0:
        shown = ", ".join(f"{x:.3g}" for x in direction)
        notes.append(
            f"one step learns one direction, ({shown}) in h; the others are fitted as linear "
            "functions times functions of the learned one, which the theory covers exactly"
        )
        if any(target.kinks) and not np.isclose(np.max(np.abs(direction)), 1):
            notes.append("kinks of the target across the learned direction: good to about 1e-4")
    if settings.readout == "normal":
        notes.append("Gaussian readout: 9 Gauss-Hermite blocks")
    mu_2 = float(sigma.hermite(2)[2])
    if abs(mu_2) > NEGLIGIBLE:
        notes.append(
            f"approximate: mu_2 = {mu_2:.3g} of the activation makes the rows anisotropic across "
            "the learned direction, which moved the risk of relu by 3 to 10 % in simulations with "
            "steps up to 1.5, by up to 40 % at step 4; "
            "theory.semi_analytic gives it for an actual first layer"
        )
    return notes


def _tilt_notes(step: OneStep, prepared: Prepared, sizes: Sizes, test: float) -> list[str]:
    """What the isotropic limit leaves out of a real step, where it is worth saying."""
    real = step._replace(tilted=True).risk(prepared, sizes)
    tilted = float(real.test) - step.noise
    if not real.converged or abs(tilted - test) < NOTEWORTHY * abs(test):
        return []
    return [
        "isotropic rows: a real step also stretches neurons along the learned direction (mu_3); "
        f"with that, the error {tilted:.5g}; predictions with --dim include it"
    ]


def _baselines(problem: Problem, sigma: Activation, sizes: Sizes) -> dict[str, float]:
    """The risk of the same fit without the step, and the energy beyond degree one."""
    features = small_step_risk(
        LinearFeatures.of(problem, sigma),
        samples_ratio=sizes.readout_samples_ratio,
        width_ratio=sizes.width_ratio,
        ridge=sizes.ridge,
    )
    return {
        "linear_floor": tail_energy(problem.target, 1).value,
        "random_features_error": float(features.test),
    }


def _small_step_prediction(problem: Problem, settings: GiantStep) -> Prediction:
    """The closed form for a step size c d^-1/2, in the limit of large d."""
    unit = settings.replace(step_size=settings.step_size.coefficient)
    step, sizes = one_step(problem, unit)
    sigma = activation(settings.activation)
    features = LinearFeatures.of(problem, sigma)
    spikes = step.blocks(sizes).spikes
    cosine = float(step.alignment(sizes))
    risk = small_step_risk(
        features,
        samples_ratio=sizes.readout_samples_ratio,
        width_ratio=sizes.width_ratio,
        ridge=sizes.ridge,
        alignment=cosine,
        strength=float(np.sqrt(sizes.width_ratio * (step.fractions @ spikes**2))),
    )
    baselines = _baselines(problem, sigma, sizes)
    metrics = {
        "test_error": float(risk.test),
        "test_error_noisy": float(risk.test) + problem.noise,
        "train_error": float(risk.train),
        "spike_strength": 0.0,
        "bulk_variance": 1.0,
        "alignment": cosine,
        "bound_upper": features.power - problem.noise,
        "bound_lower": baselines["linear_floor"],
        **baselines,
    }
    notes = ("small step, of order d^-1/2: features stay linear; closed form, large d",)
    return Prediction(
        settings.learner,
        settings.to_json(),
        metrics,
        dict.fromkeys(metrics, "theorem"),
        REFERENCES[:2],
        notes,
    )


def _one_or_list(values: Float[np.ndarray, " blocks"]) -> float | list[float]:
    return float(values[0]) if len(values) == 1 else [float(value) for value in values]
