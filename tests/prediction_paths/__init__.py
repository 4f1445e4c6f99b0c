"""Ways through the theory of every learner, and the functions that each metric comes from."""

from __future__ import annotations

from prediction_paths import dynamics, giant_steps, message_passing, ridge, structure
from prediction_paths.message_passing import ALTERED
from prediction_paths.walking import Path, Source, Walked, walk

__all__ = ["ALTERED", "PATHS", "Path", "Source", "Walked", "walk"]

PATHS: dict[str, list[Path]] = {
    **giant_steps.PATHS,
    **ridge.PATHS,
    **message_passing.PATHS,
    **dynamics.PATHS,
    **structure.PATHS,
}
