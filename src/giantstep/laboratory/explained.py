"""What ``explain`` says, in the parts that the page shows, each number with its status."""

from __future__ import annotations

from typing import Any

from giantstep.answer import json_value
from giantstep.explanation.explain import Explanation
from giantstep.explanation.text import MEANING
from giantstep.explanation.tree import TreeExplanation
from giantstep.language.expressions.printing import directions_text
from giantstep.reports.mathematics import directions_mathml
from giantstep.theory.learnability.staircase import Staircase


def lab_explained(found: Explanation | TreeExplanation) -> dict[str, Any]:
    """The parts of an explanation; of a tree, its text alone."""
    if isinstance(found, TreeExplanation):
        return {"tree": True, "report": found.report()}
    return json_value(
        {
            "tree": False,
            "class": found.difficulty,
            "meaning": MEANING[found.difficulty].replace("alpha", "\u03b1"),
            "dimension": found.dimension,
            "variance": found.variance.value,
            "information_exponent": found.information_exponent,
            "generative_exponent": found.generative_exponent,
            "leap": found.leap,
            "staircases": [
                _lab_staircase("Gradient descent on fresh samples", found.staircase),
                _lab_staircase("Any function of the label", found.grand_staircase),
            ],
            "missed": [
                str(directions_mathml(found.unseen)) if len(found.unseen) else "",
                found.activation,
            ],
            "thresholds": [
                {
                    "directions": str(directions_mathml(threshold.directions)),
                    "alpha": None if threshold.alpha is None else threshold.alpha.value,
                    "reason": threshold.reason if threshold.alpha is None else "",
                    "status": "replica",
                }
                for threshold in found.thresholds
            ],
            "samples": [
                {"who": name.replace("_", " "), "samples": need.samples, "status": need.status}
                for name, need in found.complexities.items()
            ],
            "report": found.report(numbers=False),
        }
    )


def _lab_staircase(title: str, staircase: Staircase) -> dict[str, Any]:
    return {
        "title": title,
        "stairs": [
            {
                "leap": stair.leap,
                "class": stair.difficulty,
                "directions": str(directions_mathml(stair.directions)),
                "text": directions_text(stair.directions),
                "status": "heuristic" if stair.sampled else "theorem",
            }
            for stair in staircase.stairs
        ],
    }
