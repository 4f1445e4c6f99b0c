"""Ways through the theory of message passing and of spectral methods."""

from __future__ import annotations

from prediction_paths.walking import Path, Source

AMP, PHASES = "message_passing.amp.predict", "message_passing.phases.predict_phases"
EVOLUTION = "message_passing.state_evolution.state_evolution"
ENTROPY = "message_passing.free_entropy.free_entropy_at"
INFORMATION = "message_passing.free_entropy.mutual_information"
ITERATIONS = Source("message_passing.iterations.expected_iterations")
SPECTRAL = "message_passing.spectral.predict"


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
THRESHOLD = "message_passing.spectral.spectral_transition"

PATHS: dict[str, list[Path]] = {
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
}
