"""The neurons of a network, sorted into kinds that no expectation tells apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from giantstep.errors import NoTheory
from giantstep.numerics.quadrature import normal_points
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.neuron_readouts import readout_setting_by_neuron

#: Values that stand for a continuous law of readouts or biases; narrower networks have one each.
MOST_VALUES = 32
#: Narrow networks, each with readouts and biases of its own, to average over.
DRAWS = 64
VALUES_FOR_LAWS = (
    "readouts and biases: values of equal probability stand for their laws, "
    "the less well the narrower the network"
)
#: Every neuron is a column of the sampled fields.
MOST_NEURONS = 8192


class NeuronKinds(NamedTuple):
    """Neurons of kind i have readout a_i and bias b_i, and there are ``copies[i]`` of them.

    Kinds of one family come in groups, one neuron of each kind on the same first row: the two
    twins of a symmetric start. Rows of different groups are orthogonal, as random rows are in
    the limit. Groups of one family are exchangeable.
    """

    readout: Float[np.ndarray, " kinds"]
    biases: Float[np.ndarray, " kinds"]
    family: Int[np.ndarray, " kinds"]
    copies: Int[np.ndarray, " kinds"]

    @classmethod
    def of(cls, settings: GiantStep) -> NeuronKinds:
        """The kinds of a network of fixed width.

        A law of readouts or biases is represented by as many values of equal probability as there
        are independent rows, by 32 at most. Raises :class:`NoTheory` where it is too wide.

        >>> NeuronKinds.of(GiantStep(width=20)).copies.tolist()
        [10, 10]
        """
        width = _limit_width(settings)
        symmetric = settings.readout == "symmetric-sign"
        rows = max(width // 2, 1) if symmetric else width
        readout = np.ones(rows) if symmetric else _limit_readouts(settings, rows)
        # The order of the biases must not follow that of the readouts.
        biases = np.random.default_rng(0).permutation(_limit_biases(settings, rows))
        pairs, copies = np.unique(np.stack([readout, biases]), axis=1, return_counts=True)
        readout, biases = pairs
        kinds = cls(readout, biases, np.arange(len(copies)), copies)
        return kinds.with_twins() if symmetric else kinds

    @classmethod
    def draws(cls, settings: GiantStep) -> list[NeuronKinds]:
        """Networks to average over: values stand for the laws of wide ones, draws for narrow ones.

        >>> [len(NeuronKinds.draws(GiantStep(width=4, biases=law))) for law in ("none", "normal")]
        [1, 64]
        """
        from scipy.special import ndtr

        width = _limit_width(settings)
        symmetric = settings.readout == "symmetric-sign"
        rows = max(width // 2, 1) if symmetric else width
        if rows >= MOST_VALUES or not (settings.readout_is_random or settings.biases != "none"):
            return [cls.of(settings)]
        points = normal_points(DRAWS, 2 * rows, np.random.default_rng(0))
        networks = []
        for readout, biases in zip(points[:, :rows], points[:, rows:], strict=True):
            support = settings.readout_support()
            if symmetric or not settings.readout_is_random:
                readout = np.ones(rows) if symmetric else _limit_readouts(settings, rows)
            elif support is not None:
                values, weights = (np.asarray(part, dtype=float) for part in support)
                shares = np.cumsum(weights / weights.sum())[:-1]
                readout = values[np.searchsorted(shares, ndtr(readout))]
            if settings.biases != "normal":
                biases = 2 * ndtr(biases) - 1 if settings.biases == "uniform" else 0 * biases
            one = cls.one_of_each(readout, biases)
            networks.append(one.with_twins() if symmetric else one)
        return networks

    def with_twins(self) -> NeuronKinds:
        """A symmetric start: each neuron twice, with readouts 1 and -1."""
        biases, family, copies = (np.repeat(x, 2) for x in (self.biases, self.family, self.copies))
        return NeuronKinds(np.tile([1.0, -1.0], len(self.copies)), biases, family, copies)

    @classmethod
    def one_of_each(
        cls,
        readout: Sequence[float] | Float[np.ndarray, " neurons"],
        biases: Sequence[float] | Float[np.ndarray, " neurons"] | None = None,
    ) -> NeuronKinds:
        """Neurons on orthogonal rows, each of a kind of its own."""
        a = np.asarray(readout, dtype=float)
        b = np.zeros(len(a)) if biases is None else np.asarray(biases, dtype=float)
        return cls(a, b, np.arange(len(a)), np.ones(len(a), dtype=int))

    @property
    def width(self) -> int:
        """Number of neurons."""
        return int(self.copies.sum())

    @property
    def shares(self) -> Float[np.ndarray, " kinds"]:
        """Fraction of the neurons that are of each kind."""
        return self.copies / self.width

    @property
    def of_neuron(self) -> Int[np.ndarray, " neurons"]:
        """The kind of each neuron: kind by kind, copy by copy."""
        return np.repeat(np.arange(len(self.copies)), self.copies)

    def families(self) -> list[slice]:
        """The kinds of each family."""
        starts = np.flatnonzero(np.diff(self.family, prepend=-1)).tolist()
        return [slice(*ends) for ends in zip(starts, [*starts[1:], len(self.family)], strict=True)]


def overlaps_by_neuron(
    settings: GiantStep,
    kinds: NeuronKinds,
    cosines: Float[np.ndarray, "steps1 kinds r"],
    norms: Float[np.ndarray, "steps1 kinds"],
) -> dict[str, np.ndarray]:
    """Cosines and norms in the order of a simulation, by kind; nothing where kinds are drawn."""
    readouts = readout_setting_by_neuron(settings.readout, _limit_width(settings))
    if readouts is None or settings.biases != "none":
        return {}
    order = [np.flatnonzero(kinds.readout == a)[0] for a in readouts]
    return {"cosines": cosines[:, order], "norms": norms[:, order]}


def _limit_width(settings: GiantStep) -> int:
    if settings.width.power == 0:
        width = settings.width.count(1, "width")
    elif settings.dim is None:
        raise NoTheory(f"width = {settings.width}: give a number of neurons, or --dim")
    else:
        width = settings.width.count(settings.dim, "width")
    if width > MOST_NEURONS:
        raise NoTheory(
            f"width = {width}: several steps are predicted for at most {MOST_NEURONS} neurons"
        )
    return width


def _limit_readouts(settings: GiantStep, rows: int) -> np.ndarray:
    support = settings.readout_support()
    if support is None:
        return _limit_shares(_limit_normal_values(min(rows, MOST_VALUES)), rows)
    values, weights = support
    quantiles = (np.arange(rows) + 0.5) / rows
    return np.asarray(values)[np.searchsorted(np.cumsum(weights)[:-1], quantiles)]


def _limit_biases(settings: GiantStep, rows: int) -> np.ndarray:
    count = min(rows, MOST_VALUES)
    values = {
        "none": np.zeros(count),
        "normal": _limit_normal_values(count),
        "uniform": (2 * np.arange(count) + 1) / count - 1,
    }
    return _limit_shares(values[settings.biases], rows)


def _limit_shares(values: np.ndarray, rows: int) -> np.ndarray:
    """Each value for its share of the rows."""
    return values[np.arange(rows) * len(values) // rows]


def _limit_normal_values(count: int) -> np.ndarray:
    """Root mean squares of N(0, 1) on cells of equal probability, so that E[a^2] = 1 is kept.

    >>> float((_limit_normal_values(6) ** 2).mean().round(12))
    1.0
    """
    from scipy.special import ndtri

    edges = ndtri(np.arange(1, count) / count)
    # E[a^2; a < x] = Phi(x) - x phi(x).
    below = np.arange(count + 1) / count
    below[1:-1] -= edges * np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi)
    middle = np.arange(count) - (count - 1) / 2
    return np.where(middle < 0, -1.0, 1.0) * np.sqrt(count * np.diff(below))
