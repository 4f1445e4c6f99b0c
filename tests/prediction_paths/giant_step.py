"""Ways through the theory of giant steps and of spiked random features."""

from __future__ import annotations

from prediction_paths.walking import Path, Source

SUBSPACE = Source("giant_step.prediction.predict", "the subspace of the first step")
STEPS = "giant_step.prediction.predict"
ONE_STEP = "giant_step.one_step_overlap.one_step_overlap"
FRESH = "giant_step.fresh_batches.giant_step_overlaps"
SPACES = "giant_step.prediction.giant_step_subspaces"
RISK_OF_STEPS = "giant_step.risk.prediction.predict_risk"
SPIKED = "spiked_random_features.prediction.predict"
SPIKED_RISK = "spiked_random_features.risk.spiked_risk"
FUNCTIONAL = "giant_step.risk.bounds.functional_bounds"
BOUNDS = Source(FUNCTIONAL, "one block")
BOUNDS_OF_BLOCKS = Source(FUNCTIONAL, "other")
SMALL = Source("one_step.small_step.small_step_risk", "theorem")
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


FITTED = Source("giant_step.risk.solution.readout_risk")
LEFT_OUT = Source(RISK_OF_STEPS, "leave-one-out")
PROVED = Source(RISK_OF_STEPS, "theorem")
AFTER_STEPS = {
    ERRORS: (LEFT_OUT, FITTED),
    "network_error linear_floor random_features_error": (PROVED,),
    "subspace_floor": (LEFT_OUT,),
    "bound_upper bound_lower": (Source(FUNCTIONAL, "real steps"), LEFT_OUT),
}
AFTER_A_STEP = {**FIRST_SPACE, **AFTER_STEPS, ROWS: (PROVED,)}
AT_FINITE_D = {
    **AFTER_A_STEP,
    f"{ROWS} random_features_error network_error": (LEFT_OUT,),
    "linear_floor": (PROVED,),
}
AFTER_TWO = {
    "overlap": (
        Source(STEPS, "at a given width"),
        Source("giant_step.overlaps.wide_overlaps", "limit"),
    ),
    **LATER_SPACES,
    **AFTER_STEPS,
    "bulk_variance": (LEFT_OUT,),
}
SMALL_STEP = "one_step.small_step_prediction.predict_small_step"
BETWEEN = "one_step.intermediate_prediction.predict_intermediate_step"
BEST = Source("giant_step.risk.best_schedule.best_schedule")
SCHEDULE = "ridge error_of_fewer_steps gain_over_random_features gain_over_linear"
RISK = {"activation": "tanh", "readout": "ones", "samples": "20d", "step_size": 3, "width": "1d"}
RISK |= {"readout_samples": "1.6d", "ridge": 0.1}
POWERS = {"steps": 2, "samples": "d^1.5", "step_size": "2d^0.25", "width": 4, "readout": "sign"}
POWERS |= {"loss": "correlation", "normalise": True}
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
        {**POWERS, "dim": 500},
        {
            "overlap": (
                Source(STEPS, "batches in powers of d"),
                Source("giant_step.small_batches.amplified_overlaps"),
            ),
            "overlap_power overlap_prefactor": (Source(STEPS, "batches in powers of d"),),
        },
        "He2(h1)",
    ),
    Path(
        {"steps": 2, "width": 4, "dim": 500},
        {
            "overlap": (Source(STEPS, "a dimension is given"), Source(FRESH, "finite")),
            **LATER_SPACES,
        },
    ),
    Path(
        {"steps": 2, "width": 4, "ridge": 0.1},
        {"*": (Source(STEPS, "at a given width"), Source(FRESH, "limit")), **LATER_SPACES},
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
            "overlap network_error": (
                Source(STEPS, "at a given width"),
                Source("giant_step.reused_population.reused_batch_path", "smooth"),
            )
        },
    ),
    Path(RISK, IN_THE_LIMIT | AFTER_A_STEP),
    Path({**RISK, "dim": 200, "readout": "sign"}, GIVEN_DIM | AT_FINITE_D),
    Path({**RISK, "activation": "relu"}, IN_THE_LIMIT | AFTER_A_STEP),
    Path({**RISK, "steps": 2}, AFTER_TWO),
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
                Source("one_step.intermediate_step.limiting_gains", "else"),
                Source(BETWEEN, "larger l"),
            ),
            "*": (SMALL, Source(BETWEEN, "theorem")),
        },
    ),
    Path(
        RISK,
        IN_THE_LIMIT | AFTER_A_STEP | {OPTIMUM: (BEST, Source(STEPS, "the risk"))},
        optimise=("step_size", "ridge"),
    ),
    Path(
        {**RISK, "steps": 2},
        AFTER_TWO | {SCHEDULE: (BEST, LEFT_OUT)},
        optimise=("ridge",),
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


PATHS: dict[str, list[Path]] = {
    "giant-step": GIANT_STEP,
    "spiked-random-features": [
        Path(
            {"kappa": 0.5},
            {
                **spiked("replica in the limit", (BOUNDS,)),
                "feature_mean feature_slope feature_noise": (
                    Source(SPIKED, "a feature given a projection"),
                ),
            },
        ),
        Path({"spike": "-1:0.5,1:0.5"}, spiked("replica in the limit", (BOUNDS_OF_BLOCKS,))),
        Path({"dim": 100, "spike": "-1:0.5,1:0.5"}, spiked("at finite d", (BOUNDS_OF_BLOCKS,))),
    ],
}
