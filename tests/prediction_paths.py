"""Ways through the theory of every learner, and the functions that each metric comes from."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, NamedTuple

from giantstep.results import Prediction
from giantstep.twins.table import twin
from giantstep.twins.verbs import predict


class Source(NamedTuple):
    """A function of `theory`, and words of that clause of its status which covers the case."""

    function: str
    where: str = ""

    def load(self) -> Callable[..., Any]:
        """The function itself."""
        module, _, name = self.function.rpartition(".")
        return getattr(importlib.import_module(f"giantstep.theory.{module}"), name)


class Path(NamedTuple):
    """One way through a learner's theory: settings, problem, and where its metrics come from.

    ``sources`` maps metrics, several of them separated by blanks, to what they are made of;
    ``*`` stands for those that are not named. ``known`` are numbers known exactly, which the
    errors that are quoted must cover.
    """

    settings: dict[str, Any]
    sources: Mapping[str, tuple[Source, ...]]
    target: str | None = "h1"
    optimise: tuple[str, ...] = ()
    problem: Mapping[str, Any] = {}
    known: Mapping[str, float] = {}


class Walked(NamedTuple):
    """What was predicted, and the functions of the package that were called on the way."""

    law: Prediction
    called: frozenset[tuple[str, str]]


def walk(learner: str, path: Path) -> Walked:
    """Predict, and note every function of the package that is called."""
    called: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "giantstep" in (code := frame.f_code).co_filename:
            called.add((code.co_filename, code.co_name))

    settings = twin(learner).load("settings")(**path.settings)
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        law = predict(settings, path.target, optimise=path.optimise, **path.problem)
    finally:
        sys.setprofile(before)
    return Walked(law, frozenset(called))


SUBSPACE = Source("giant_step.prediction.predict", "the subspace of the first step")
STEPS = "giant_step.prediction.predict"
ONE_STEP = "giant_step.one_step_overlap.one_step_overlap"
FRESH = "giant_step.fresh_batches.giant_step_overlaps"
SPACES = "giant_step.prediction.predicted_subspaces"
RISK_OF_STEP = "one_step.prediction.predict"
ISOTROPIC_ROWS = "one_step.isotropic_prediction.predict_isotropic"
SPIKED = "spiked_features.prediction.predict"
SPIKED_RISK = "spiked_features.risk.spiked_risk"
BOUNDS = Source("spiked_features.risk_bounds.risk_bounds", "one block")
TILTED = (BOUNDS, Source(ISOTROPIC_ROWS, "they are not"))
BOUNDS_OF_BLOCKS = Source("spiked_features.risk_bounds.risk_bounds", "beyond")
SMALL = Source("one_step.small_step.small_step_risk", "theorem")
FEATURES = "ridge.random_features.predict"
EQUIVALENT = Source("ridge.deterministic_equivalent.ridge_risk")
REGIME = Source("ridge.polynomial_regime.polynomial_regime")
KERNEL = "ridge.kernel.predict"
POWER_LAW = Source("ridge.power_law.predict")
AMP, PHASES = "message_passing.amp.predict", "message_passing.phases.predict_phases"
EVOLUTION = "message_passing.state_evolution.state_evolution"
ENTROPY = "message_passing.free_entropy.free_entropy_at"
INFORMATION = "message_passing.free_entropy.mutual_information"
ITERATIONS = Source("message_passing.iterations.expected_iterations")
SPECTRAL = "message_passing.spectral.predict"

IN_THE_LIMIT = {"overlap": (Source(STEPS, "at a given width"), Source(ONE_STEP, "limit"))}
FIRST_SPACE = {"subspaces": (Source(SPACES, "one step"), SUBSPACE)}
LATER_SPACES = {
    "subspaces": (Source(SPACES, "more"), Source(STEPS, "subspaces beyond the first step"))
}
RECURSION = {
    "overlap": (Source(STEPS, "at a given width"), Source(FRESH, "limit")),
    **LATER_SPACES,
}
ERRORS, ROWS = "test_error test_error_noisy train_error", "spike_strength bulk_variance alignment"
BASELINES = "bound_upper bound_lower linear_floor random_features_error"
OPTIMUM = "step_size ridge gain_over_random_features gain_over_linear"


def one_step_risk(rows: str) -> dict[str, tuple[Source, ...]]:
    """Sources of the risk after one step whose rows are isotropic, in the limit or not."""
    version = "finite" if rows == "at finite d" else "limit"
    own, exact = Source(ISOTROPIC_ROWS, rows), Source(ISOTROPIC_ROWS, "theorem")
    finite = (own,) if version == "finite" else ()
    return {
        **FIRST_SPACE,
        ERRORS: (own, Source(RISK_OF_STEP, rows), Source(SPIKED_RISK, version)),
        ROWS: (exact, *finite),
        "bound_upper bound_lower": (BOUNDS, *finite),
        "linear_floor": (exact,),
        "random_features_error": (SMALL, exact, *finite),
    }


ANY = "one_step.any_activation.prediction.predict_any_activation"
ANISOTROPIC = {
    ERRORS: (Source(ANY, "leave-one-out"), Source(RISK_OF_STEP, "they are not")),
    f"{ROWS} linear_floor random_features_error": (Source(ANY, "theorem"),),
    "bound_upper bound_lower": (Source("one_step.any_activation.prediction.functional_bounds"),),
}
SMALL_STEP = "one_step.small_step_prediction.predict_small_step"
BETWEEN = "one_step.intermediate_prediction.predict_intermediate_step"
BEST = Source("one_step.curves.best_sizes", "replica")


RISK = {"activation": "tanh", "readout": "ones", "samples": "20d", "step_size": 3, "width": "1d"}
RISK |= {"readout_samples": "1.6d", "ridge": 0.1}
GIVEN_DIM = {"overlap": (Source(STEPS, "a dimension is given"), Source(ONE_STEP, "finite"))}
GIANT_STEP = [
    Path({"steps": 0}, {"overlap": (Source(STEPS, "at a given width"),), **FIRST_SPACE}),
    Path({"step_size": 2}, IN_THE_LIMIT | FIRST_SPACE, "h1 + h1*h2"),
    Path(
        {"dim": 500, "readout": "normal", "activation": "tanh", "width": "1d"},
        GIVEN_DIM | FIRST_SPACE,
    ),
    Path({"steps": 2, "width": 4}, RECURSION),
    Path(
        {"steps": 2, "width": 4, "dim": 500},
        {
            "overlap": (Source(STEPS, "a dimension is given"), Source(FRESH, "finite")),
            **LATER_SPACES,
        },
    ),
    Path(
        {"steps": 2, "width": 4, "readout": "sign"},
        {"overlap": (Source(STEPS, "a law of readouts"), Source(FRESH, "limit")), **LATER_SPACES},
    ),
    Path(
        {"steps": 2, "width": 1, "batches": "reused", "readout": "ones"},
        {
            "overlap": (
                Source(STEPS, "at a given width"),
                Source("giant_step.reused_batch.reused_batch_two_steps"),
            )
        },
    ),
    Path(
        {"steps": 3, "width": 1, "batches": "reused", "readout": "ones", "activation": "tanh"},
        {
            "overlap": (
                Source(STEPS, "at a given width"),
                Source("giant_step.reused_population.reused_batch_path", "smooth"),
            )
        },
    ),
    Path({**RISK, "step_size": 1}, IN_THE_LIMIT | one_step_risk("replica")),
    # The limit of a large step leaves out how it stretches neurons along the learned direction.
    Path(RISK, IN_THE_LIMIT | one_step_risk("they are not") | {"bound_upper bound_lower": TILTED}),
    Path({**RISK, "dim": 200, "readout": "sign"}, GIVEN_DIM | one_step_risk("at finite d")),
    Path({**RISK, "activation": "relu"}, IN_THE_LIMIT | FIRST_SPACE | ANISOTROPIC),
    Path(
        {**RISK, "step_size": "2d^-0.5"},
        {
            **IN_THE_LIMIT,
            **FIRST_SPACE,
            f"{ERRORS} {ROWS} {BASELINES}": (SMALL, Source(SMALL_STEP, "theorem")),
        },
    ),
    Path(
        {**RISK, "step_size": "2d^-0.5", "activation": "relu", "readout": "sign"},
        {
            **IN_THE_LIMIT,
            **FIRST_SPACE,
            ERRORS: (SMALL, Source(SMALL_STEP, "other neurons")),
            f"{ROWS} {BASELINES}": (SMALL, Source(SMALL_STEP, "theorem")),
        },
    ),
    Path(
        {**RISK, "step_size": "2*n^0.3", "readout": "normal"},
        {
            **IN_THE_LIMIT,
            **FIRST_SPACE,
            "gain_test gain_train test_error test_error_noisy": (
                Source("one_step.intermediate_step.limiting_gains", "theorem"),
                Source(BETWEEN, "theorem"),
            ),
            "spikes": (Source("one_step.intermediate_step.spike_degrees"),),
            "*": (SMALL, Source(BETWEEN, "theorem")),
        },
    ),
    Path(
        {**RISK, "step_size": "2*n^0.35", "readout": "normal"},
        {
            **IN_THE_LIMIT,
            **FIRST_SPACE,
            "gain_test gain_train test_error test_error_noisy": (
                Source("one_step.intermediate_step.limiting_gains", "beyond"),
                Source(BETWEEN, "larger l"),
            ),
            "*": (SMALL, Source(BETWEEN, "theorem")),
        },
    ),
    # The best step is small enough for its rows to be isotropic.
    Path(
        RISK,
        IN_THE_LIMIT | one_step_risk("replica") | {OPTIMUM: (BEST, Source(STEPS, "the risk"))},
        optimise=("step_size", "ridge"),
    ),
]


def spiked(clause: str, bounds: tuple[Source, ...]) -> dict[str, tuple[Source, ...]]:
    """Sources of the risk on spiked features."""
    own = Source(SPIKED, clause)
    finite = (own,) if clause == "at finite d" else ()
    return {
        ERRORS: (own, Source(SPIKED_RISK, "limit" if not finite else "finite")),
        "bound_upper bound_lower": (*bounds, *finite),
        "linear_floor": (Source(SPIKED, "linear floor"),),
        "random_features_error": (SMALL, Source(SPIKED, "random features"), *finite),
    }


SQUARE = "test_error test_error_noisy train_error norm degrees_of_freedom"
CONVEX = "test_error norm train_loss overlap_q overlap_m overlap_v intercept"
IN_LIMIT = {SQUARE: (Source(FEATURES, "the square loss in the limit"), REGIME, EQUIVALENT)}
FINITE = (Source(FEATURES, "otherwise"), EQUIVALENT)
OTHER_LOSS = {CONVEX: (Source(FEATURES, "other losses"), Source("convex.convex_loss.convex_risk"))}
ISOTROPIC = {SQUARE: (Source(KERNEL, "in the limit"), REGIME, EQUIVALENT)}
KERNEL_FINITE = (Source(KERNEL, "several directions"), EQUIVALENT)
SPIKE = (Source(KERNEL, "with a spike"),)
RATES = "gamma gamma_bias gamma_variance optimal_gamma optimal_ridge_exponent fewest_width_exponent"
POWERS = "test_error bias variance train_error norm degrees_of_freedom"


def message_passing(clause: str, several: bool, extra: str = "") -> dict[str, tuple[Source, ...]]:
    """Sources of what message passing reaches; ``clause`` of state evolution, and ours beside."""
    known = (Source(EVOLUTION, clause), Source(AMP, extra or clause))
    rank = "beyond" if several else "r = 1"
    own = (Source(AMP, "free entropy of several"),) if several else ()
    values = " overlap_squared_singular_values" if several else ""
    return {
        f"overlap_squared{values} test_error converged": known,
        "free_entropy": (*known, *own, Source(ENTROPY, rank)),
        "mutual_information": (*known, *own, Source(INFORMATION, rank)),
        "expected_iterations": (*known, ITERATIONS, Source(AMP, "the iterations")),
    }


def transitions(clause: str) -> dict[str, tuple[Source, ...]]:
    """Sources of the transitions, all of them with the status of the weakest one."""
    names = "transitions overlap_squared_before overlap_squared_after"
    return {names: (Source(PHASES, clause),)}


BLOCKS = (Source(SPECTRAL, "blocks"), Source("message_passing.spectral.spectral_outlier"))
LINEARISED = (
    Source(SPECTRAL, "the linearised method"),
    Source("message_passing.spectral.linearised_outlier"),
)
ALTERED = "labels that got noise"
COMMITTEE = "message_passing.committees.prediction.predict_committee"
ALIKE = {
    "overlap_squared overlap_squared_singular_values test_error converged": (
        Source(COMMITTEE, "message passing"),
    ),
    "free_entropy mutual_information": (Source(COMMITTEE, "the free entropy"),),
    "expected_iterations": (Source(COMMITTEE, "the iterations"),),
}
COMMITTEE_PHASES = "message_passing.committees.phases.predict_committee_phases"
OUTLIER, WITHOUT_EDGE = "overlap_squared eigenvalue edge", "overlap_squared eigenvalue"
DEPTH = "depth.prediction.predict"
TREE_RATES = {
    "first_layer_exponent second_layer_exponent": (
        Source(DEPTH, "floors and exponents"),
        Source("depth.samples.sample_exponents"),
    ),
    "random_layer_degree": (
        Source(DEPTH, "the degree"),
        Source("depth.samples.random_layer_degree"),
    ),
}
FLOW, LANGEVIN = "structured.gradient_flow.predict", "structured.langevin.predict"
PCA = "structured.principal_component.predict"
COMPONENT = Source("structured.principal_component.principal_component")
THRESHOLD = "message_passing.spectral.spectral_transition"

ONLINE, MOVES = "dynamics.prediction.predict", "dynamics.repetition.predict"
MEAN_FIELD, PARTICLES = "dynamics.mean_field.predict", "dynamics.mean_field.particle_path"
FIRST_MOVES = Source("dynamics.repetition.first_moves")


def moves(clause: str) -> dict[str, tuple[Source, ...]]:
    """Sources of the first moves of a neuron whose samples are used twice."""
    return {
        "force growth variance": (Source(MOVES, clause), FIRST_MOVES),
        "step_size rate directions": (Source(MOVES, "the step"), FIRST_MOVES),
    }


PATHS: dict[str, list[Path]] = {
    "giant-step": GIANT_STEP,
    "online-sgd": [
        Path({"activation": "tanh", "times": "0,1"}, {"*": (Source(ONLINE, "in the limit"),)}),
        Path(
            {"width": 2, "readout": "1,-1", "geometry": "free", "times": "1"},
            {"*": (Source(ONLINE, "in the limit"),)},
        ),
        Path(
            {"activation": "He2", "loss": "correlation", "step_size": 0.01, "times": "1,2"}
            | {"until": 0.5, "start_overlap": "d^-0.5", "dim": 100},
            {"*": (Source(ONLINE, "a dimension is given"),)},
            "He2(h1)",
        ),
    ],
    "mean-field": [
        Path({"times": "0,1", "width": 2}, {"*": (Source(MEAN_FIELD, "limit"), Source(PARTICLES))}),
        Path(
            {"times": "0.2", "width": 4, "dim": 50},
            {"*": (Source(MEAN_FIELD, "a dimension is given"), Source(PARTICLES))},
        ),
    ],
    "repetition": [
        Path({}, moves("force, growth"), "He3(h1)"),
        Path({"activation": "tanh"}, moves("force, growth"), "sign(h1*h2)"),
        Path({"dim": 50}, moves("a dimension is given"), "He3(h1)"),
    ],
    "spiked-random-features": [
        Path({}, spiked("replica in the limit", (BOUNDS,))),
        Path({"spike": "-1:0.5,1:0.5"}, spiked("replica in the limit", (BOUNDS_OF_BLOCKS,))),
        Path({"dim": 100, "spike": "-1:0.5,1:0.5"}, spiked("at finite d", (BOUNDS_OF_BLOCKS,))),
    ],
    "random-features": [
        Path({}, IN_LIMIT),
        Path({"dim": 60}, {SQUARE + " ridge": FINITE}, optimise=("ridge",)),
        Path(
            {"dim": 60},
            {SQUARE: (Source(FEATURES, "on the sphere"), EQUIVALENT)},
            problem={"inputs": "sphere"},
        ),
        Path({"dim": 60}, {SQUARE: FINITE}, "h1 + h1*h2", problem={"inputs": "sphere"}),
        Path({}, IN_LIMIT, problem={"inputs": "spiked:1"}),
        Path({"biases": "normal"}, {"*": (Source(FEATURES, "with biases"),)}),
        Path({"samples": "d^1.5", "width": "d^2"}, IN_LIMIT, "h1 + He2(h1)"),
        Path({"loss": "logistic"}, OTHER_LOSS, "sign(h1 + h2)"),
        Path({"loss": "hinge"}, OTHER_LOSS, "sign(h1)"),
        Path({"loss": "huber(y-f)"}, OTHER_LOSS, "h1"),
    ],
    "kernel": [
        Path({}, ISOTROPIC),
        Path({"dim": 60}, {SQUARE + " ridge": KERNEL_FINITE}, optimise=("ridge",)),
        Path(
            {"dim": 60},
            {SQUARE: (Source(KERNEL, "on the sphere"), EQUIVALENT)},
            problem={"inputs": "sphere"},
        ),
        Path({"samples": "d^1.5"}, ISOTROPIC),
        Path({}, {SQUARE: (*SPIKE, EQUIVALENT)}, problem={"inputs": "spiked:d^0.5"}),
        Path(
            {"dim": 60},
            {SQUARE: (*SPIKE, Source("ridge.spiked_kernel.spiked_kernel_risk"))},
            problem={"inputs": "spiked:d^0.5"},
        ),
    ],
    "amp": [
        Path({}, message_passing("message passing", several=True), "sign(h1*h2)"),
        Path({}, message_passing("message passing", several=True), "sign(h1) + 2*sign(h2)"),
        Path(
            {"start": "zero"},
            message_passing("message passing", several=False),
            "sign(h1)",
            problem={"inputs": "sphere"},
        ),
        Path({"start": "informed"}, message_passing("informed", several=False), "sign(h1)"),
        Path({}, message_passing("message passing", True, ALTERED), "h1*h2"),
        Path({"phases": True}, transitions("information"), "abs(h1)"),
        Path({"phases": True}, transitions("message passing"), "sign(h1)"),
        Path(
            {"samples": "4d"},
            ALIKE,
            "(tanh(h1) + tanh(h2) + tanh(h3) + tanh(h4))/2",
            problem={"noise": 0.1},
        ),
        Path(
            {"phases": True},
            {
                "transitions overlap_squared_before overlap_squared_after": (
                    Source(COMMITTEE_PHASES, "threshold of specialisation"),
                )
            },
            "sign(sign(h1) + sign(h2))",
        ),
        Path(
            {"phases": True},
            {
                "transitions overlap_squared_before overlap_squared_after": (
                    Source(COMMITTEE_PHASES, "beyond it"),
                )
            },
            "sign(sign(h1) + sign(h2) + sign(h3))",
        ),
        # The noise that these labels get, 1 %, moves the threshold to .6022.
        Path({"phases": True}, transitions(ALTERED), "h1*h2", known={"transitions": 0.593751}),
    ],
    "spectral": [
        Path({}, {OUTLIER: BLOCKS}, "abs(h1)"),
        Path({"samples": "6d"}, {OUTLIER: BLOCKS}, "sign(h1*h2)"),
        Path({"samples": "6d", "method": "linearised"}, {WITHOUT_EDGE: LINEARISED}, "sign(h1*h2)"),
        Path({}, {WITHOUT_EDGE: (*LINEARISED, Source(SPECTRAL, ALTERED))}, "h1*h2"),
        Path({"preprocessing": "tanh(y)"}, {OUTLIER: BLOCKS}, "abs(h1)", problem={"noise": 0.1}),
        Path(
            {"phases": True},
            {"transitions": (Source(SPECTRAL, "blocks"), Source(THRESHOLD, "blocks"))},
            "abs(h1)",
        ),
        Path(
            {"phases": True, "method": "linearised"},
            {"transitions": (*LINEARISED, Source(THRESHOLD, "linearised"))},
            "sign(h1*h2)",
        ),
    ],
    "gradient-flow": [
        Path({"dim": 50}, {"*": (Source(FLOW, "random"),)}, "He2(h1)"),
        Path(
            {"start_overlap": 0.1, "until": 0.5, "geometry": "spherical"},
            {"*": (Source(FLOW, "given start"),)},
            "He2(h1)",
        ),
        Path(
            {"dim": 50, "until": 0.5, "geometry": "normalised"},
            {"*": (Source(FLOW, "random"),)},
            "-He2(h1)",
        ),
    ],
    "pca": [
        Path(
            {},
            {
                "*": (Source(PCA, "the component"), COMPONENT),
                "test_error test_error_noisy": (COMPONENT, Source(PCA, "the test error")),
            },
        ),
        Path({"dim": 50}, {"*": (Source(PCA, "the component"), COMPONENT)}, "h1*h2"),
    ],
    "three-layer": [
        Path(
            {"dim": 64},
            {
                "floor": (Source(DEPTH, "floors"), Source("depth.floors.tree_moments")),
                "moment_span": (Source(DEPTH, "the span"), Source("depth.moment_span.moment_span")),
                "threshold": (
                    Source(DEPTH, "the span"),
                    Source("depth.samples.first_layer_threshold"),
                ),
                "kappa_half_span kappa_nine_tenths_span": (
                    Source(DEPTH, "the span"),
                    Source("depth.moment_span.samples_for_span"),
                ),
                **TREE_RATES,
            },
            "tree-he2",
        ),
        Path({}, TREE_RATES, "tree-he2"),
    ],
    "langevin": [
        Path(
            {"dim": 50},
            {
                "*": (Source(LANGEVIN, "the rates"),),
                "particle_variance": (Source(LANGEVIN, "the variance"),),
            },
            "sign(h1*h2)",
            problem={"inputs": "hypercube"},
        ),
    ],
    "power-law": [
        Path({"width": 500}, {POWERS: (POWER_LAW, EQUIVALENT)}, None),
        Path(
            {"exponents": True, "ridge_exponent": 0.5},
            {RATES: (POWER_LAW, Source("ridge.scaling_laws.scaling_exponents"))},
            None,
        ),
        Path({}, {POWERS + " ridge": (POWER_LAW, EQUIVALENT)}, None, ("ridge",)),
    ],
}
