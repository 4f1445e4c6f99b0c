"""What was learned: overlaps with the target's directions, angles between subspaces."""

from giantstep.measures.overlap import cosines as cosines
from giantstep.measures.overlap import noise_baseline as noise_baseline
from giantstep.measures.overlap import overlap as overlap
from giantstep.measures.overlap import overlap_matrix as overlap_matrix
from giantstep.measures.overlap import spectrum as spectrum
from giantstep.measures.subspace import angle as angle
from giantstep.measures.subspace import learned_rank as learned_rank
