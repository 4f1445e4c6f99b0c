"""The first layer after any number of giant steps: means, bulks and lengths of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from giantstep.theory.giant_step.risk.batch_samples import BatchSamples

#: Directions of less weight than this, relative to the strongest, are none: for few kinds of
#: neurons, and for more, whose means are nearly a smooth function of the readout in a few of them.
NO_DIRECTION, NO_DIRECTION_OF_MANY = 1e-6, 0.03
#: So many kinds are few; more of them are integrated over so many axes at most, if not over one
#: direction beside the target's.
FEW_KINDS, AXES_OF_MANY = 4, 4


class Neurons(NamedTuple):
    """The network at the start, in kinds of neurons with equal readout and bias.

    ``twins[a, b]``: neurons of kinds a and b come in pairs with equal first rows; ``gaussian``:
    first rows are N(0, I/d), not on the sphere; ``normalise``: rows go back to the sphere after
    each step.
    """

    readout: Float[np.ndarray, " k"]
    fractions: Float[np.ndarray, " k"]
    biases: Float[np.ndarray, " k"]
    twins: Bool[np.ndarray, "k k"]
    gaussian: bool = False
    normalise: bool = False

    @classmethod
    def of(
        cls,
        readout: Sequence[float] | np.ndarray,
        fractions: Sequence[float] | np.ndarray | None = None,
        *,
        biases: tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray] = ((0,), (1,)),
        paired: bool = False,
        gaussian: bool = False,
        normalise: bool = False,
    ) -> Neurons:
        """Every readout value with every bias; ``biases`` are values and their fractions.

        ``paired``: each first row serves all readout values at once, one neuron each.

        >>> start = Neurons.of([1, -1], biases=([-0.5, 0.5], [0.5, 0.5]), paired=True)
        >>> start.readout.tolist(), start.biases.tolist(), start.twins[0].tolist()
        ([1.0, 1.0, -1.0, -1.0], [-0.5, 0.5, -0.5, 0.5], [True, False, True, False])
        """
        values, bias = np.asarray(readout, dtype=float), np.asarray(biases[0], dtype=float)
        shares = np.ones(len(values)) if fractions is None else np.asarray(fractions, dtype=float)
        weights = np.asarray(biases[1], dtype=float)
        among = np.ones((len(values), len(values))) if paired else np.eye(len(values))
        return cls(
            np.repeat(values, len(bias)),
            np.outer(shares / shares.sum(), weights / weights.sum()).ravel(),
            np.tile(bias, len(values)),
            np.kron(among, np.eye(len(bias))) > 0,
            gaussian,
            normalise,
        )

    @property
    def paired(self) -> bool:
        """Whether any two kinds share their first rows."""
        return bool(np.any(self.twins & ~np.eye(len(self.readout), dtype=bool)))


class ReturnToSphere(NamedTuple):
    """What rows do on the way back to the sphere after a step, kind by kind and in coordinates.

    With l^2 = |m|^2 + c a row's bulk becomes b <- (1 - m m^T / l^2) b / l - delta m / (2 l^3), and
    from then on its squared length is off by -2 <m, b>. ``lengths`` l; ``means`` m / l; ``before``:
    the means at which the step began, along which a component moved the rows by ``turns`` t q, and
    changed their lengths by ``leans``.
    """

    lengths: Float[np.ndarray, " k"]
    means: Float[np.ndarray, "k vectors"]
    before: Float[np.ndarray, "k vectors"]
    turns: Float[np.ndarray, "k vectors"]
    leans: Float[np.ndarray, "k vectors"]


class GradientBatch(NamedTuple):
    """What one batch did to the rows: all that the resolvent of the rows needs of it.

    ``steps`` t_a; ``crowding`` phi; ``frame``: the directions e of the samples in coordinates;
    ``residuals`` R; ``bends`` w_1; ``scatters`` nu_ab. ``vectors``: functions v of a sample whose
    sums X^T v / n_0, less their means along e, are the directions that the batch adds, orthonormal.
    ``kicks`` and ``leans``, by kind: those from whose sums, means included, lengths take their
    parts linear in the rows. ``lengths``: d times the covariance of their independent parts.
    ``sphere``: None where rows are not put back on it.
    """

    samples: BatchSamples
    steps: Float[np.ndarray, " k"]
    crowding: float
    frame: Float[np.ndarray, "vectors D"]
    residuals: Float[np.ndarray, " nodes"]
    bends: Float[np.ndarray, "k nodes"]
    scatters: Float[np.ndarray, "k k nodes"]
    vectors: Float[np.ndarray, "added nodes"]
    kicks: Float[np.ndarray, "k nodes"]
    leans: Float[np.ndarray, "k nodes"]
    lengths: Float[np.ndarray, "k k"]
    sphere: ReturnToSphere | None = None


class FirstLayer(NamedTuple):
    """The rows after the steps of ``batches``.

    ``means`` in coordinates; ``bulks`` c_a, and the covariances of twins off the diagonal;
    ``pushes[s]``: coordinates of the vector by which delta after step s moved the rows, (t/2) q or
    on the sphere -m/(2 l^3), by kind, as later steps left it; ``memory[s, t]``: how delta after
    step s depends on what step t added to it, by kind; ``common``: p/d times the covariance,
    between kinds, of the sums of all rows' bulks, which the network's own output correlates.
    """

    neurons: Neurons
    batches: tuple[GradientBatch, ...]
    means: Float[np.ndarray, "k vectors"]
    bulks: Float[np.ndarray, "k k"]
    pushes: tuple[Float[np.ndarray, "k vectors"], ...]
    memory: Float[np.ndarray, "steps1 steps1 k"]
    common: Float[np.ndarray, "k k"]

    @classmethod
    def isotropic(
        cls,
        neurons: Neurons,
        means: Float[np.ndarray, "k vectors"],
        variances: Float[np.ndarray, " k"],
    ) -> FirstLayer:
        """Rows of given means whose bulks have no preferred direction.

        >>> FirstLayer.isotropic(Neurons.of([1.0]), np.ones((1, 1)), np.ones(1)).variances.tolist()
        [1.0]
        """
        bulks = np.diag(variances)
        return cls(neurons, (), means, bulks, (), np.ones((1, 1, len(means))), bulks)

    @property
    def rank(self) -> int:
        """The number of the target's directions, which are the first coordinates."""
        return self.means.shape[1] - sum(len(batch.vectors) for batch in self.batches)

    @property
    def variances(self) -> Float[np.ndarray, " k"]:
        """c_a, the squared length of the bulk."""
        return np.diag(self.bulks)

    @property
    def spread(self) -> float:
        """d times the variance of the squared length of a first row."""
        return 2.0 if self.neurons.gaussian else 0.0


def limit_frame_of_means(
    means: Float[np.ndarray, "k vectors"], rank: int
) -> tuple[Float[np.ndarray, "k D"], Float[np.ndarray, "vectors D"]]:
    """Coordinates of the means in a frame of the target's directions and those beyond; the frame.

    Means of many kinds keep the strongest of the directions beyond.

    >>> coordinates, frame = limit_frame_of_means(np.array([[1.0, 3.0, 4.0]]), 1)
    >>> np.abs(coordinates).round(9).tolist(), frame.shape
    ([[1.0, 5.0]], (3, 2))
    """
    left, values, right = np.linalg.svd(means[:, rank:], full_matrices=False)
    many = len(means) > FEW_KINDS
    least = NO_DIRECTION_OF_MANY if many else NO_DIRECTION
    kept = values > least * max(float(np.max(np.abs(means), initial=0.0)), 1e-12)
    if many:
        kept[max(AXES_OF_MANY - rank, 1) :] = False
    frame = np.zeros((means.shape[1], rank + int(kept.sum())))
    frame[:rank, :rank] = np.eye(rank)
    frame[rank:, rank:] = right[kept].T
    coordinates = np.concatenate([means[:, :rank], left[:, kept] * values[kept]], axis=1)
    return coordinates, frame
