"""What one step makes of a target, in words."""

from __future__ import annotations

import numpy as np

from giantstep.language.targets import Target
from giantstep.theory.learnability.staircase import learned_direction


def target_notes(target: Target) -> list[str]:
    """Which direction one step learns of a target, where that is worth saying."""
    direction, weight = learned_direction(target)
    if weight == 0:
        return ["the target has no linear part: one step learns none of its directions"]
    if target.rank == 1:
        return []
    shown = ", ".join(f"{x:.3g}" for x in direction)
    notes = [
        f"one step learns one direction, ({shown}) in h; the others are fitted as linear "
        "functions times functions of the learned one, which the theory covers exactly"
    ]
    if any(target.kinks) and not np.isclose(np.max(np.abs(direction)), 1):
        notes.append("kinks of the target across the learned direction: good to about 1e-4")
    return notes
