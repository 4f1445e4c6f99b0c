"""What is predicted of a spectrum: a bulk with its density, and outliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class SpectrumPrediction(NamedTuple):
    """A bulk with its density, and outliers with the squared cosines of their vectors.

    ``x``, ``density``: tabulated density, of mass 1 minus ``mass_at_zero`` over all p values.
    ``overlaps`` has one entry for each outlier.
    """

    bulk_edges: tuple[float, float]
    x: Float[np.ndarray, "points"]
    density: Float[np.ndarray, "points"]
    mass_at_zero: float
    outliers: tuple[float, ...]
    overlaps: dict[str, tuple[float, ...]]
    details: dict[str, float]
    notes: tuple[str, ...]
    references: tuple[str, ...]
