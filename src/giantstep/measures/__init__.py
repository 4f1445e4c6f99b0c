"""What was learned: overlaps with the target's directions, angles between subspaces."""

from giantstep.measures.overlap import cosines as cosines
from giantstep.measures.overlap import overlap as overlap
from giantstep.measures.overlap import overlap_matrix as overlap_matrix
from giantstep.measures.overlap import overlap_of_noise as overlap_of_noise
from giantstep.measures.overlap import overlap_spectrum as overlap_spectrum
from giantstep.measures.subspace import angle as angle
from giantstep.measures.subspace import measured_rank as measured_rank
