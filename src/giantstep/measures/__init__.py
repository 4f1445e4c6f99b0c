"""What was learned: overlaps with the target's directions, angles between subspaces."""

from giantstep.measures.overlap import cosines, noise_baseline, overlap, overlap_matrix, spectrum
from giantstep.measures.subspace import angle, learned_rank

__all__ = [
    "angle",
    "cosines",
    "learned_rank",
    "noise_baseline",
    "overlap",
    "overlap_matrix",
    "spectrum",
]
