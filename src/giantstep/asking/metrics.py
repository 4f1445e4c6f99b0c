"""The metrics of each learner: their axes, and whether simulation, theory or both give them.

What neither gives alone is a metric of their comparison.

Tables, frames, pictures and the documentation read it here.
"""

from __future__ import annotations

import functools
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


def _both(*names: str, **facts: Any) -> tuple[Metric, ...]:
    """Metrics that are simulated and predicted."""
    return tuple(Metric(name, **facts) for name in names)


_simulated = functools.partial(_both, predicted=False)
_predicted = functools.partial(_both, simulated=False)


STEP, STEP_AND_DIRECTION = ("step",), ("step", "direction")
RISK = ("test_error", "test_error_noisy", "train_error")
BASELINES = ("bound_upper", "bound_lower", "linear_floor", "random_features_error")

GIANT_STEP = (
    *_both("overlap", axes=STEP_AND_DIRECTION),
    *_both(*RISK, axes=STEP, when="with a ridge"),
    *_predicted(
        "overlap_power",
        "overlap_prefactor",
        axes=STEP_AND_DIRECTION,
        when="for several steps on batches in powers of d",
    ),
    *_simulated("overlap_spectrum", axes=("step", "component")),
    *_simulated("baseline", axes=STEP_AND_DIRECTION),
    *_simulated("gcv_error", axes=STEP, when="with a ridge"),
    *_simulated("dropped", axes=STEP, when="with --forget"),
    *_simulated("loo_error", axes=STEP, when="with a ridge and features that fit into memory"),
    *_predicted("spike_strength", "bulk_variance", axes=("block",), when="with a ridge"),
    *_predicted("alignment", *BASELINES, when="with a ridge"),
    *_predicted("network_error", axes=STEP, when="with a ridge, or for steps on one batch"),
    *_predicted("subspace_floor", when="with a ridge"),
    *_predicted(
        "gain_test",
        "gain_train",
        "spikes",
        when="with a ridge and a step C*n^A, 0 < A < 1/2, without a dimension",
    ),
    *_predicted("step_size", "ridge", when="with --optimise"),
    *_predicted("gain_over_random_features", "gain_over_linear", when="with --optimise"),
    *_predicted("error_of_fewer_steps", axes=STEP, when="with --optimise and several steps"),
    # What takes a simulation and a theory, and a comparison alone has.
    Metric("angle", STEP, simulated=False, predicted=False),
)
TIME = ("time",)
ONLINE_SGD = (
    *_both("overlap", axes=("time", "direction")),
    *_both("norm", "test_error", axes=TIME),
    *_both("exit_time", when="with --until"),
    *_predicted("wrong_sign", when="with --until, for one neuron and one direction at a given d"),
)
MEAN_FIELD = (
    *_both("overlap", axes=("time", "direction")),
    *_both("norm", "test_error", axes=TIME),
)
REPETITION = (
    *_both("force", axes=("direction",)),
    *_both("growth", "variance"),
    *_predicted("step_size", "rate"),
    *_predicted("directions", axes=("direction",)),
)
SPIKED_RANDOM_FEATURES = (
    *_both(*RISK),
    *_predicted(*BASELINES),
    *_predicted("feature_mean", "feature_slope", "feature_noise", when="with --kappa"),
)
RANDOM_FEATURES = (
    *_both("test_error", "norm"),
    *_both("test_error_noisy", "train_error", "degrees_of_freedom", when="with the square loss"),
    *_both("train_loss", "overlap_q", when="with another loss"),
    *_both("overlap_m", axes=("direction",), when="with another loss"),
    *_both("overlap_v", "intercept", when="with another loss"),
    *_predicted("ridge", when="with --optimise"),
)
KERNEL = (
    *_both(*RISK, "norm", "degrees_of_freedom"),
    *_predicted("ridge", when="with --optimise"),
)
AMP = (
    *_both("overlap_squared", axes=("direction",), when="without --phases"),
    *_both("overlap_squared_singular_values", axes=("component",), when="with several directions"),
    *_both("test_error", "converged", when="without --phases"),
    *_simulated("iterations", "fallback"),
    *_predicted("free_entropy", "mutual_information", when="without --phases"),
    *_predicted("expected_iterations", when="without --phases"),
    *_predicted("transitions", axes=("transition",), when="with --phases"),
    *_predicted(
        "overlap_squared_before",
        "overlap_squared_after",
        axes=("transition", "direction"),
        when="with --phases",
    ),
)
SPECTRAL = (
    *_both("overlap_squared", "eigenvalue", axes=("direction",), when="without --phases"),
    *_predicted("edge", axes=("direction",), when="with one matrix per direction"),
    *_predicted("transitions", axes=("direction",), when="with --phases"),
)
POWER_LAW = (
    *_both("test_error", "bias", "variance", "train_error", "norm", "degrees_of_freedom"),
    *_predicted("ridge", when="with --optimise"),
    *_predicted("gamma", "gamma_bias", "gamma_variance", when="with --exponents"),
    *_predicted("optimal_gamma", "optimal_ridge_exponent", when="with --exponents"),
    *_predicted("fewest_width_exponent", when="with --exponents"),
)
GRADIENT_FLOW = (
    *_both("overlap", "initial_overlap"),
    *_both("spike_overlap", "target_overlap", when="unless omega alone is given or predicted"),
    *_both("time", when="with --until"),
    *_simulated(*RISK),
)
PCA = (
    *_both("overlap_squared", "target_overlap_squared", "eigenvalue", "test_error"),
    *_both("test_error_noisy"),
    *_simulated("train_error"),
)
LANGEVIN = (
    *_simulated("accuracy", "test_error", "train_error", "train_loss"),
    *_both("particle_variance"),
    *_simulated("free_energy", axes=("entry",)),
    *_predicted("sample_exponent", "log_time_exponent", "stationary_variance"),
    *_predicted("effective_dimension", when="with --dim"),
)
NETWORK = ("network",)
THREE_LAYER = (
    *_simulated("test_error", "test_error_noisy", "test_error_relative", axes=NETWORK),
    *_simulated("alignment", axes=NETWORK),
    *_simulated("span", axes=("stage",), when="unless lazy"),
    *_both("moment_span"),
    *_simulated("leaves"),
    *_predicted("threshold", "kappa_half_span", "kappa_nine_tenths_span", when="with --dim"),
    *_predicted("floor", axes=("degree",), when="with --dim"),
    *_predicted("first_layer_exponent", "second_layer_exponent", "random_layer_degree"),
)
