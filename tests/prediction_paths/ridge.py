"""Ways through the theory of ridge and convex regression: features, kernels, power laws."""

from __future__ import annotations

from prediction_paths.walking import Path, Source

FEATURES = "ridge.random_features.predict"
EQUIVALENT = Source("ridge.deterministic_equivalent.ridge_risk")
REGIME = Source("ridge.polynomial_regime.polynomial_regime")
KERNEL = "ridge.kernel.predict"
POWER_LAW = Source("ridge.power_law.predict")
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
}
