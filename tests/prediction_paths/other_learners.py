"""Ways through the theory of every other learner than giant-step and its features."""

from __future__ import annotations

from prediction_paths.walking import Path, Source

FEATURES = "random_features.predict"
EQUIVALENT = Source("ridge.deterministic_equivalent.ridge_risk")
REGIME = Source("ridge.polynomial_regime.polynomial_regime")
KERNEL = "kernel.predict"
POWER_LAW = Source("power_law.predict")
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
AMP, PHASES = "amp.prediction.predict", "amp.phases.predict_phases"
EVOLUTION = "amp.state_evolution.state_evolution"
ENTROPY = "amp.free_entropy.free_entropy_at"
INFORMATION = "amp.free_entropy.mutual_information"
ITERATIONS = Source("amp.iterations.expected_iterations")
SPECTRAL = "spectral.predict"


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


BLOCKS = (Source(SPECTRAL, "blocks"), Source("spectral.spectral_outlier"))
LINEARISED = (
    Source(SPECTRAL, "the linearised method"),
    Source("spectral.linearised_outlier"),
)
ALTERED = "labels that got noise"
ALIKE = {
    "overlap_squared overlap_squared_singular_values test_error converged": (
        Source(AMP, "message passing"),
    ),
    "free_entropy mutual_information": (Source(AMP, "free entropy of several"),),
    "expected_iterations": (Source(AMP, "the iterations"),),
}
OUTLIER, WITHOUT_EDGE = "overlap_squared eigenvalue edge", "overlap_squared eigenvalue"
THRESHOLD = "spectral.spectral_transition"
ONLINE, MOVES = "online_sgd.prediction.predict", "repetition.predict"
MEAN_FIELD, PARTICLES = "mean_field.predict", "mean_field.limit_particle_path"
FIRST_MOVES = Source("repetition.expected_moves")


def moves(clause: str) -> dict[str, tuple[Source, ...]]:
    """Sources of the first moves of a neuron whose samples are used twice."""
    return {
        "force growth variance": (Source(MOVES, clause), FIRST_MOVES),
        "step_size rate directions": (Source(MOVES, "the step"), FIRST_MOVES),
    }


DEPTH = "three_layer.prediction.predict"
TREE_RATES = {
    "first_layer_exponent second_layer_exponent": (
        Source(DEPTH, "floors and exponents"),
        Source("three_layer.samples.sample_exponents"),
    ),
    "random_layer_degree": (
        Source(DEPTH, "the degree"),
        Source("three_layer.samples.random_layer_degree"),
    ),
}
FLOW, LANGEVIN = "gradient_flow.prediction.predict", "langevin.predict"
PCA = "pca.predict"
COMPONENT = Source("pca.principal_component")

PATHS: dict[str, list[Path]] = {
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
    "power-law": [
        Path({"width": 500}, {POWERS: (POWER_LAW, EQUIVALENT)}, None),
        Path(
            {"exponents": True, "ridge_exponent": 0.5},
            {RATES: (POWER_LAW, Source("ridge.scaling_laws.scaling_exponents"))},
            None,
        ),
        Path({}, {POWERS + " ridge": (POWER_LAW, EQUIVALENT)}, None, ("ridge",)),
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
        Path({"phases": True}, transitions("message passing"), "sign(sign(h1) + sign(h2))"),
        Path(
            {"phases": True},
            transitions("the spinodal of a committee"),
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
                "floor": (Source(DEPTH, "floors"), Source("three_layer.floors.tree_moments")),
                "moment_span": (
                    Source(DEPTH, "the span"),
                    Source("three_layer.moment_span.moment_span"),
                ),
                "threshold": (
                    Source(DEPTH, "the span"),
                    Source("three_layer.samples.first_layer_threshold"),
                ),
                "kappa_half_span kappa_nine_tenths_span": (
                    Source(DEPTH, "the span"),
                    Source("three_layer.moment_span.samples_for_span"),
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
}
