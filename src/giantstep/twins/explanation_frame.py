"""An explanation as a table for pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giantstep.targets.directions import directions_text
from giantstep.theory.learnability.sample_complexity import giant_step_samples

if TYPE_CHECKING:
    import pandas

    from giantstep.twins.explanation import Explanation


def frame(found: Explanation) -> pandas.DataFrame:
    """One line a stair, and one for each threshold where the directions of a stair have several.

    ``samples`` are those of a giant step on fresh samples; ``class`` and ``alpha``, the threshold
    in samples over d where it is known, are of the grand staircase.
    """
    import pandas

    lines = [
        {
            "staircase": "staircase",
            "stair": number + 1,
            "directions": directions_text(stair.directions),
            "leap": stair.leap,
            "samples": giant_step_samples(stair.leap),
        }
        for number, stair in enumerate(found.staircase.stairs)
    ]
    for number, stair in enumerate(found.grand_staircase.stairs):
        known = {"staircase": "grand_staircase", "stair": number + 1, "leap": stair.leap}
        own = [threshold for threshold in found.thresholds if threshold.stair == number]
        parts = [(t.directions, t.alpha and t.alpha.value) for t in own]
        least = 0.0 if stair.difficulty == "trivial" else None
        for directions, alpha in parts or [(stair.directions, least)]:
            names = directions_text(directions)
            lines.append({**known, "directions": names, "class": stair.difficulty, "alpha": alpha})
    columns = ["staircase", "stair", "directions", "leap", "class", "samples", "alpha"]
    return pandas.DataFrame(lines, columns=columns).astype({"alpha": float})
