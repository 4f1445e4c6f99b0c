"""Prediction of the risk after several giant steps on fresh batches."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.answer import Prediction, Status
from giantstep.errors import NoTheory, refuse
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import tail_energy
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.random_features import RandomFeatures
from giantstep.settings.ratios import ratio_to_dim, ratios_of_steps
from giantstep.theory.giant_step.risk.finite_size import NONE, component_ratio, isotropic_ratio
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, Neurons
from giantstep.theory.giant_step.risk.gradient_step import first_layers, network_error
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.risk.solution import readout_risk
from giantstep.theory.one_step.readout_law import readout_blocks

REFERENCES = (
    "Cui et al. 2024, arXiv:2402.04980",
    "Dandi et al. 2024, arXiv:2410.18938",
)
#: Most steps and most kinds of neurons; kinds that stand for a Gaussian readout, and fewer, which
#: tell their error.
MOST_STEPS, MOST_KINDS, GAUSSIAN_KINDS = 8, 4, (4, 3)
ERRORS = ("test_error", "test_error_noisy", "train_error")


class Risks(NamedTuple):
    """Excess test error and train error after each step, and the last readout's features.

    ``amplified``: what amplified components of the rows change; ``unknown``: of which this is not
    known.
    """

    test: Float[np.ndarray, " steps1"]
    train: Float[np.ndarray, " steps1"]
    corrected: bool
    readout: Readout
    amplified: Float[np.ndarray, "2 steps1"]
    unknown: Float[np.ndarray, "2 steps1"]


def predict_several_steps(problem: Problem, settings: GiantStep) -> Prediction:
    r"""Exact risk of the readout fitted after 0, 1, ..., T giant steps on fresh batches.

    Metrics: ``test_error`` (excess risk), ``test_error_noisy``, ``train_error`` and
    ``network_error`` (of the network itself, with the readout of the start), one entry per step;
    ``bulk_variance`` of each kind of neuron after the last step; ``bound_upper`` and
    ``bound_lower`` on the best risk over the ridge, ``subspace_floor`` (of any function of what the
    rows have learned, and linear beyond), ``linear_floor`` and ``random_features_error``.

    .. math:: R_t = E\Big(g(x) - \frac1{\sqrt p}\hat a\cdot\sigma(W^tx)\Big)^2

    In the limit of large d, or at ``settings.dim``: with spikes of finite strength, and for
    independent rows times the ratio by which corrections of order 1/d change isotropic rows.
    ``arrays``: signed overlaps and Gram matrix of the kinds' mean rows after each step.

    Assumes: Gaussian inputs; a continuous activation; fresh batches; sizes proportional to d.
    Status: heuristic (leave-one-out), verified by simulation, unpublished; theorem for the linear
        floor and, in the limit, for random features and the network's own error.
    References: Cui et al. 2024, arXiv:2402.04980, and Dandi et al. 2024, arXiv:2410.18938, for one
        step and isotropic rows.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="2d", steps=2, step_size=3, width="1d",
    ...     readout_samples="2d", ridge=0.05)
    >>> found = predict_several_steps(Problem.of("sin(h1)"), settings)
    >>> found.metrics["test_error"].round(4).tolist()
    [0.2419, 0.1296, 0.0643]
    """
    check_several_steps(problem, settings)
    sigma = activation(settings.activation)
    layers = _layers(problem, settings, sigma)
    fine = _risks(problem, settings, sigma, layers)
    bounds = functional_bounds(fine.readout)
    layer = layers[-1]
    metrics: dict[str, Any] = {
        "test_error": fine.test,
        "test_error_noisy": fine.test + problem.noise,
        "train_error": fine.train,
        "network_error": np.array([network_error(problem, sigma, at) for at in layers]),
        "bulk_variance": [float(c) for c in layer.variances],
        **bounds,
        "linear_floor": tail_energy(problem.target, 1).value,
        "random_features_error": float(fine.test[0]),
    }
    statuses: dict[str, Status] = dict.fromkeys(metrics, "heuristic")
    statuses["linear_floor"] = "theorem"
    if settings.dim is None:
        statuses["network_error"] = "theorem"
        if settings.start == "sphere" and settings.readout != "symmetric-sign":
            statuses["random_features_error"] = "theorem"
    coarse = _risks(problem, settings, sigma, _layers(problem, settings, sigma, coarse=True), True)
    errors: dict[str, Any] = {
        "test_error": np.abs(fine.test - coarse.test),
        "train_error": np.abs(fine.train - coarse.train),
    }
    if settings.dim is not None:
        # All that is known of order 1/d tells the size of what is not.
        limit = _risks(problem, _proportional(settings), sigma, layers)
        for i, name in enumerate(("test_error", "train_error")):
            plain = fine[i] - fine.amplified[i]
            errors[name] = errors[name] + np.abs(plain - limit[i]) + fine.unknown[i]
    errors["test_error_noisy"] = errors["test_error"]
    return Prediction.of(
        settings,
        metrics,
        statuses,
        REFERENCES,
        _notes(settings, fine),
        errors=errors,
        arrays=kind_arrays(layers),
    )


def check_several_steps(problem: Problem, settings: GiantStep) -> None:
    """Raise NoTheory, in one line and before anything is computed, for what is not covered."""
    support = settings.readout_support()
    kinds = GAUSSIAN_KINDS[0] if support is None else len(support[0])
    sizes = {
        name: getattr(settings, name)
        for name in ("samples", "readout_samples", "width")
        if getattr(settings, name) not in (None, "same")
    }
    uneven = [
        name
        for name, size in sizes.items()
        if settings.dim is None and any(each.power != 1 for each in size.over(settings.steps))
    ]
    refusals = {
        f"steps = {settings.steps}: the risk is computed for at most {MOST_STEPS} steps": (
            settings.steps > MOST_STEPS
        ),
        f"readout = {str(settings.readout)[:60]} has {kinds} values: the risk after several steps "
        f"is computed for at most {MOST_KINDS}": kinds > MOST_KINDS,
        "readout_samples = same: the exact risk needs fresh samples, such as 2d": (
            settings.readout_samples == "same"
        ),
        f"biases = {settings.biases}: the risk after several steps is known without; use biases = "
        "none, or one step": settings.biases != "none",
        "normalise: the risk after several steps is known without; drop --normalise, or take one "
        "step": settings.normalise,
        f"step_size = {settings.step_size}: the risk after several steps is known at a fixed step "
        "size; give a plain number": settings.dim is None
        and any(size.power for size in settings.step_size.over(settings.steps)),
        f"{', '.join(uneven)}: without a dimension the risk after several steps is known for "
        "multiples of d, such as 1d": bool(uneven),
        f"dim = {settings.dim} is too small: finite-size corrections need at least 10": (
            settings.dim is not None and settings.dim < 10
        ),
    }
    refuse(refusals)
    dim = settings.dim or 1e12
    samples = settings.readout_samples or settings.samples
    if settings.ridge == 0 and samples.at(dim) <= settings.width.at(dim):
        raise NoTheory("ridge = 0 with n <= p: give a positive ridge, such as 1e-4")
    from giantstep.language.targets.hermite import moments

    if not math.isfinite(moments(problem.target).second_moment):
        raise NoTheory("the target has no finite second moment: its risk is infinite")


def _proportional(settings: GiantStep) -> GiantStep:
    """The same sizes as multiples of d, in the limit."""
    names = ("width", *(["readout_samples"] if settings.readout_samples else []))
    sizes: dict[str, Any] = {name: f"{ratio_to_dim(settings, name)!r}d" for name in names}
    if settings.steps:
        sizes["samples"] = tuple(f"{ratio!r}d" for ratio in ratios_of_steps(settings))
        steps = settings.step_size.over(settings.steps)
        sizes["step_size"] = tuple(float(size.at(settings.dim or 1.0)) for size in steps)
    return settings.replace(dim=None, **sizes)


def _layers(
    problem: Problem, settings: GiantStep, sigma: Activation, *, coarse: bool = False
) -> list[FirstLayer]:
    values, fractions = readout_blocks(settings, GAUSSIAN_KINDS[int(coarse)])
    neurons = Neurons.of(
        values,
        fractions,
        paired=settings.readout == "symmetric-sign",
        gaussian=settings.start == "gaussian",
    )
    steps = settings.steps
    return list(
        first_layers(
            problem,
            sigma,
            neurons,
            step_sizes=[float(s.at(settings.dim or 1.0)) for s in settings.step_size.over(steps)],
            samples_ratios=ratios_of_steps(settings),
            loss=settings.loss,
            coarse=coarse,
        )
    )


def _risks(
    problem: Problem,
    settings: GiantStep,
    sigma: Activation,
    layers: list[FirstLayer],
    coarse: bool = False,
) -> Risks:
    name = "readout_samples" if settings.readout_samples is not None else "samples"
    fit = Fit.of(
        ratio_to_dim(settings, name),
        ratio_to_dim(settings, "width"),
        float(settings.ridge),
        settings.dim,
    )
    test, train, changes, shares, corrected = [], [], [], [], True
    for layer in layers:
        readout = Readout(problem, sigma, layer, coarse=coarse)
        risk = readout_risk(readout, fit)
        ratio = NONE
        if settings.dim is not None and layer.batches and not layer.neurons.paired:
            found = isotropic_ratio(readout, fit)
            corrected, ratio = corrected and found is not None, found or NONE
        amplified, share = component_ratio(readout, sigma, fit)
        test.append((risk.test - problem.noise) * ratio.test * amplified.test)
        train.append(risk.train * ratio.train * amplified.train)
        changes.append((test[-1] * (1 - 1 / amplified.test), train[-1] * (1 - 1 / amplified.train)))
        shares.append(share)
    if settings.dim is not None:
        test[0], train[0] = features_without_steps(problem, settings, test[0], train[0])
    amplified_by = np.array(changes).T
    unknown = np.abs(amplified_by) * np.array(shares)
    return Risks(np.array(test), np.array(train), corrected, readout, amplified_by, unknown)


def features_without_steps(
    problem: Problem, settings: GiantStep, test: float, train: float
) -> tuple[float, float]:
    """Test and train error before the first step at finite d; those given where not known."""
    from giantstep.theory.random_features import predict

    if settings.readout == "symmetric-sign" or settings.biases != "none":
        return test, train
    features = RandomFeatures(
        dim=settings.dim,
        samples=settings.readout_samples or settings.samples,
        width=settings.width,
        activation=settings.activation,
        ridge=settings.ridge,
    )
    found = predict(problem, features).metrics
    return float(found["test_error"]), float(found["train_error"])


def functional_bounds(readout: Readout) -> dict[str, float]:
    r"""Upper and lower bound on the excess risk at the best ridge, and a floor below both.

    .. math:: \inf_b E\big[(g - b\cdot m)^2\big] \;\ge\; \inf_\lambda R \;\ge\;
        \inf_b E\big[(g - b\cdot f)^2\big] \;\ge\;
        E\,g^2 - E\big[E[g|\kappa]^2\big] - \sum_iE\big[E[z_ig|\kappa]^2\big]

    Symbols: f all functions that single directions among the neurons let the network fit, and m
    the means among them, ``readout.functions``; z_i the target's directions across kappa.

    Assumes: d infinite, n and p proportional to d.
    Status: theorem for one block of isotropic rows and a single direction; replica for other
        isotropic rows; heuristic for those of real steps (from the exact risk).
    References: Cui et al. 2024, arXiv:2402.04980, for isotropic rows.

    >>> from giantstep.theory.giant_step.risk.gradient_step import first_layers
    >>> problem, sigma = Problem.of("h1"), activation("identity")
    >>> *_, layer = first_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[1.0], samples_ratios=[1.0])
    >>> found = functional_bounds(Readout(problem, sigma, layer))
    >>> [abs(round(value, 6)) for value in found.values()]
    [0.5, 0.0, 0.0]
    """
    seen, noise = readout.learned, readout.problem.noise
    power = float(seen.power @ seen.weights) - noise
    fitted = sum(
        explained_energy(label, functions, seen.weights)
        for label, functions in zip(seen.labels, readout.functions, strict=False)
    )
    known = float(np.sum(seen.labels**2 @ seen.weights))
    return {
        "bound_upper": power - explained_energy(seen.labels[0], readout.means, seen.weights),
        "bound_lower": power - fitted,
        "subspace_floor": max(power - known, 0.0),
    }


def explained_energy(
    function: Float[np.ndarray, " points"],
    basis: Float[np.ndarray, "functions points"],
    weights: Float[np.ndarray, " points"],
) -> float:
    r"""Energy of the projection of a function on the span of others.

    .. math:: E[f^2] - \inf_b E\big[(f - \textstyle\sum_a b_a\psi_a)^2\big]

    Symbols: f ``function``, psi_a ``basis``, on points of these ``weights``.

    Assumes: square-integrable functions; nearly dependent ones count once.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980, for the bounds that it serves.

    >>> half = np.full(2, 0.5)
    >>> round(explained_energy(np.array([1.0, 3.0]), np.ones((1, 2)), half), 9)
    4.0
    """
    half = np.sqrt(weights)
    fit = np.linalg.lstsq((basis * half).T, function * half, rcond=1e-12)[0]
    return float(np.sum((fit @ basis * half) ** 2))


def kind_arrays(layers: list[FirstLayer]) -> dict[str, np.ndarray]:
    """Signed overlaps of the kinds' means with the target's directions, and their Gram matrices."""
    rank = layers[0].means.shape[1]
    return {
        "kind_readouts": layers[0].neurons.readout,
        "kind_overlaps": np.stack([layer.means[:, :rank] for layer in layers]),
        "kind_gram": np.stack([layer.means @ layer.means.T for layer in layers]),
        "kind_bulks": np.stack([layer.variances for layer in layers]),
    }


def wide_overlaps(
    problem: Problem, settings: GiantStep, sigma: Activation, *, coarse: bool = False
) -> Float[np.ndarray, "steps1 r"]:
    r"""Root mean square cosine of the rows with each direction, when the width grows with d.

    .. math:: \Big(\sum_a\pi_a\frac{M_{ai}^2 + c_a/d}{|m_a|^2 + c_a}\Big)^{1/2}

    Symbols: M, m, c of :func:`~giantstep.theory.giant_step.risk.gradient_step.first_layers`;
    ``coarse``: fewer nodes, to see the error of quadrature.

    Assumes: fresh batches; the output is that of infinitely many neurons.
    Status: heuristic at finite d, theorem in the limit.
    References: Dandi et al. 2023, arXiv:2305.18270, for the means.

    >>> settings = GiantStep(
    ...     activation="identity", readout="ones", samples="4d", steps=1, step_size=1, width="1d")
    >>> wide_overlaps(Problem.of("h1"), settings, activation("identity")).round(4).tolist()
    [[0.0], [0.6667]]
    """
    layers = _layers(problem, settings, sigma, coarse=coarse)
    shares = layers[0].neurons.fractions
    start = 1 / settings.dim if settings.dim else 0.0
    found = []
    for layer in layers:
        lengths = np.sum(layer.means**2, axis=1) + layer.variances
        along = layer.means[:, : problem.target.rank] ** 2 + start * layer.variances[:, None]
        found.append(np.sqrt(shares @ (along / lengths[:, None])))
    return np.array(found)


def _notes(settings: GiantStep, fine: Risks) -> list[str]:
    notes = ["risk: rows as real steps on fresh batches leave them, not isotropic"]
    if not np.all(np.isfinite(fine.test)):
        notes.append("the equations did not converge at every step: no error is given there")
    if settings.dim is None:
        notes.append("the limit of large d")
    elif settings.readout == "symmetric-sign":
        notes.append("finite d: spikes of finite strength; other terms of order 1/d are not known")
    elif fine.corrected:
        notes.append(
            "finite d: spikes of finite strength, times terms of order 1/d of isotropic rows"
        )
    else:
        notes.append("finite d: spikes of finite strength; other terms of order 1/d are too large")
    if settings.readout == "normal":
        notes.append(f"a Gaussian readout: {GAUSSIAN_KINDS[0]} kinds; fewer tell the error")
    return notes
