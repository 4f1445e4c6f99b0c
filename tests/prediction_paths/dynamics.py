"""Ways through the theory of dynamics: one pass, wide networks, samples used twice."""

from __future__ import annotations

from prediction_paths.walking import Path, Source

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
}
