"""The metrics of each learner: their axes, and whether simulation, theory or both give them.

What neither gives alone is a metric of their comparison.

Tables, frames, pictures and the documentation read it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Metric:
    """A number, or an array with named axes, that a simulation measures or a theory predicts.

    ``when`` says for which settings it is there; without it, for all.
    """

    name: str
    axes: tuple[str, ...] = ()
    simulated: bool = True
    predicted: bool = True
    when: str = ""

    @classmethod
    def of(cls, given: Metric | str | Mapping[str, Any]) -> Metric:
        """A metric from its name alone, or from its plain values."""
        if isinstance(given, Metric):
            return given
        if isinstance(given, str):
            return cls(given)
        return cls(**{**given, "axes": tuple(given.get("axes", ()))})


def both(*names: str, axes: tuple[str, ...] = (), when: str = "") -> tuple[Metric, ...]:
    """Metrics that are simulated and predicted."""
    return tuple(Metric(name, axes, when=when) for name in names)


def simulated(*names: str, axes: tuple[str, ...] = (), when: str = "") -> tuple[Metric, ...]:
    """Metrics of the simulation alone."""
    return tuple(Metric(name, axes, predicted=False, when=when) for name in names)


def predicted(*names: str, axes: tuple[str, ...] = (), when: str = "") -> tuple[Metric, ...]:
    """Metrics of the theory alone."""
    return tuple(Metric(name, axes, simulated=False, when=when) for name in names)


def compared(*names: str, axes: tuple[str, ...] = (), when: str = "") -> tuple[Metric, ...]:
    """Metrics that take a simulation and a theory, and that a comparison alone has."""
    return tuple(Metric(name, axes, False, False, when) for name in names)


STEP, STEP_AND_DIRECTION = ("step",), ("step", "direction")
RISK = ("test_error", "test_error_noisy", "train_error")
BASELINES = ("bound_upper", "bound_lower", "linear_floor", "random_features_error")

GIANT_STEP = (
    *both("overlap", axes=STEP_AND_DIRECTION),
    *both(*RISK, axes=STEP, when="with a ridge"),
    *predicted(
        "overlap_power",
        "overlap_prefactor",
        axes=STEP_AND_DIRECTION,
        when="for several steps on batches in powers of d",
    ),
    *simulated("overlap_spectrum", axes=("step", "component")),
    *simulated("baseline", axes=STEP_AND_DIRECTION),
    *simulated("gcv_error", axes=STEP, when="with a ridge"),
    *simulated("dropped", axes=STEP, when="with --forget"),
    *simulated("loo_error", axes=STEP, when="with a ridge and features that fit into memory"),
    *predicted("spike_strength", "bulk_variance", axes=("block",), when="with a ridge"),
    *predicted("alignment", *BASELINES, when="with a ridge"),
    *predicted("network_error", axes=STEP, when="with a ridge and a width that grows with d"),
    *predicted("subspace_floor", when="with a ridge"),
    *predicted(
        "gain_test",
        "gain_train",
        "spikes",
        when="with a ridge and a step C*n^A, 0 < A < 1/2, without a dimension",
    ),
    *predicted("step_size", "ridge", when="with --optimise"),
    *predicted("gain_over_random_features", "gain_over_linear", when="with --optimise"),
    *predicted("error_of_fewer_steps", axes=STEP, when="with --optimise and several steps"),
    *compared("angle", axes=STEP),
)
TIME = ("time",)
ONLINE_SGD = (
    *both("overlap", axes=("time", "direction")),
    *both("norm", "test_error", axes=TIME),
    *both("exit_time", when="with --until"),
    *predicted("wrong_sign", when="with --until, for one neuron and one direction at a given d"),
)
MEAN_FIELD = (
    *both("overlap", axes=("time", "direction")),
    *both("norm", "test_error", axes=TIME),
)
REPETITION = (
    *both("force", axes=("direction",)),
    *both("growth", "variance"),
    *predicted("step_size", "rate"),
    *predicted("directions", axes=("direction",)),
)
SPIKED_RANDOM_FEATURES = (
    *both(*RISK),
    *predicted(*BASELINES),
    *predicted("feature_mean", "feature_slope", "feature_noise", when="with --kappa"),
)
RANDOM_FEATURES = (
    *both("test_error", "norm"),
    *both("test_error_noisy", "train_error", "degrees_of_freedom", when="with the square loss"),
    *both("train_loss", "overlap_q", when="with another loss"),
    *both("overlap_m", axes=("direction",), when="with another loss"),
    *both("overlap_v", "intercept", when="with another loss"),
    *predicted("ridge", when="with --optimise"),
)
KERNEL = (
    *both(*RISK, "norm", "degrees_of_freedom"),
    *predicted("ridge", when="with --optimise"),
)
AMP = (
    *both("overlap_squared", axes=("direction",), when="without --phases"),
    *both("overlap_squared_singular_values", axes=("component",), when="with several directions"),
    *both("test_error", "converged", when="without --phases"),
    *simulated("iterations", "fallback"),
    *predicted("free_entropy", "mutual_information", when="without --phases"),
    *predicted("expected_iterations", when="without --phases"),
    *predicted("transitions", axes=("transition",), when="with --phases"),
    *predicted(
        "overlap_squared_before",
        "overlap_squared_after",
        axes=("transition", "direction"),
        when="with --phases",
    ),
)
SPECTRAL = (
    *both("overlap_squared", "eigenvalue", axes=("direction",), when="without --phases"),
    *predicted("edge", axes=("direction",), when="with one matrix per direction"),
    *predicted("transitions", axes=("direction",), when="with --phases"),
)
POWER_LAW = (
    *both("test_error", "bias", "variance", "train_error", "norm", "degrees_of_freedom"),
    *predicted("ridge", when="with --optimise"),
    *predicted("gamma", "gamma_bias", "gamma_variance", when="with --exponents"),
    *predicted("optimal_gamma", "optimal_ridge_exponent", when="with --exponents"),
    *predicted("fewest_width_exponent", when="with --exponents"),
)
GRADIENT_FLOW = (
    *both("overlap", "initial_overlap"),
    *both("spike_overlap", "target_overlap", when="unless omega alone is given or predicted"),
    *both("time", when="with --until"),
    *simulated(*RISK),
)
PCA = (
    *both("overlap_squared", "target_overlap_squared", "eigenvalue", "test_error"),
    *both("test_error_noisy"),
    *simulated("train_error"),
)
LANGEVIN = (
    *simulated("accuracy", "test_error", "train_error", "train_loss"),
    *both("particle_variance"),
    *simulated("free_energy", axes=("entry",)),
    *predicted("sample_exponent", "log_time_exponent", "stationary_variance"),
    *predicted("effective_dimension", when="with --dim"),
)
NETWORK = ("network",)
THREE_LAYER = (
    *simulated("test_error", "test_error_noisy", "test_error_relative", axes=NETWORK),
    *simulated("alignment", axes=NETWORK),
    *simulated("span", axes=("stage",), when="unless lazy"),
    *both("moment_span"),
    *simulated("leaves"),
    *predicted("threshold", "kappa_half_span", "kappa_nine_tenths_span", when="with --dim"),
    *predicted("floor", axes=("degree",), when="with --dim"),
    *predicted("first_layer_exponent", "second_layer_exponent", "random_layer_degree"),
)
