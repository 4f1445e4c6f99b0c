"""Ways through the theory of structured data and of depth."""

from __future__ import annotations

from prediction_paths.walking import Path, Source

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

PATHS: dict[str, list[Path]] = {
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
}
