"""Ways through the theory of every learner, and the functions that each metric comes from."""

from __future__ import annotations

from prediction_paths import giant_step, other_learners
from prediction_paths.other_learners import ALTERED
from prediction_paths.walking import Path, Source, Walked, walk

__all__ = ["ALTERED", "PATHS", "Path", "Source", "Walked", "walk"]

PATHS: dict[str, list[Path]] = giant_step.PATHS | other_learners.PATHS
