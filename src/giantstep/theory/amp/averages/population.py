"""Averages over labels and fields at a given overlap: what state evolution is made of."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.cells import Affine, Discrete
from giantstep.channels.channel import Channel, Core, channel_of_problem
from giantstep.channels.committees.core import Committees
from giantstep.channels.committees.fields import committee_label_partitions
from giantstep.channels.committees.sums import committee_label_sums
from giantstep.channels.preimages import Preimages
from giantstep.channels.preprocessing import Labels
from giantstep.channels.quadrature import Quadrature
from giantstep.errors import NoTheory
from giantstep.language.inputs import Gaussian, Sphere, checked_input_law
from giantstep.language.problem import Problem
from giantstep.numerics.float64 import in_float64
from giantstep.theory.amp.averages.closed import AffineEnsemble, closed_form_ensemble
from giantstep.theory.amp.averages.noiseless import noiseless_ensemble, noiseless_law
from giantstep.theory.amp.averages.noisy import NoisyEnsemble, noisy_ensemble
from giantstep.theory.amp.averages.overlaps import Overlap
from giantstep.theory.amp.averages.rules import PopulationAverages

#: Kinds of channel whose averages have no error to tell.
_EXACT = ("affine", "committees")
#: Most nodes on each integrated field in averages, by the number of such fields.
_MOST_NODES = {1: 2048, 2: 112, 3: 24}


class LabelLaw(NamedTuple):
    """Labels when nothing is known: weights, values, E[h|y], and E[h h^T|y] - I."""

    weights: Float[np.ndarray, " n"]
    values: Float[np.ndarray, " n"]
    means: Float[np.ndarray, "n r"]
    curvatures: Float[np.ndarray, "n r r"]


@dataclass(frozen=True, eq=False)
class Population:
    """Averages over omega ~ N(0, M), h = omega + N(0, I - M), y ~ P(. | h), for a channel.

    Made by :func:`population_of`. Every method takes one overlap matrix M, or a stack of them.
    """

    channel: Channel
    ensemble: Any
    core: Core
    is_coarse: bool = False

    @functools.cached_property
    def coarse(self) -> Population | None:
        """The same averages by a coarser rule, which tells their error; None if they are exact."""
        return _population(self.channel, coarse=True) if self.channel.kind not in _EXACT else None

    @property
    def _static(self) -> tuple[Any, ...]:
        prior = tuple(map(tuple, self.channel.structure.prior.tolist()))
        return self.core, self.channel.likelihood.axes, prior

    def fisher(self, overlap: Float[np.ndarray, "*k r r"]) -> Float[np.ndarray, "*k r r"]:
        """E[g_out g_out^T]."""
        return self._over(lambda matrix: self._averages(matrix).fisher, overlap)

    def log_partition(self, overlap: Float[np.ndarray, "*k r r"]) -> Float[np.ndarray, "*k"]:
        """Psi = E[log Z]."""
        return self._over(lambda matrix: self._averages(matrix).log_partition, overlap)

    def explained(self, overlap: Float[np.ndarray, "*k r r"]) -> Float[np.ndarray, "*k"]:
        """E[E[y | omega]^2]: what the posterior mean explains of E[g^2]."""
        if hasattr(self.ensemble, "explained"):
            given = (self._static, self.ensemble)
            return self._over(lambda matrix: _limit_energy(*given, matrix), overlap)
        return self._over(lambda matrix: self._averages(matrix).explained, overlap)

    def _averages(self, overlap: Overlap) -> PopulationAverages:
        if isinstance(self.core, Committees):
            raise NoTheory(
                "averages at an overlap matrix cover at most 3 directions: predict amp covers "
                "committees of more"
            )
        if isinstance(self.ensemble, NoisyEnsemble):
            assert isinstance(self.core, Quadrature)
            return _noisy_averages(self.ensemble, self.core, overlap.shape, overlap.tobytes())
        return _averages(self._static, self.ensemble, overlap)

    def quadrature_error(self, overlap: Overlap) -> float:
        """How much E[g_out g_out^T] changes, relatively, by a coarser rule."""
        if self.coarse is None:
            return 0.0
        fine = self.fisher(overlap)
        largest = float(np.abs(fine).max())
        gap = float(np.abs(self.coarse.fisher(overlap) - fine).max())
        return gap / largest if largest else 0.0

    @in_float64
    def _over(self, average: Any, overlap: np.ndarray) -> np.ndarray:
        # One after the other, so that a stack of any length runs the same compiled code.
        overlap = np.asarray(overlap, dtype=np.float64)
        stack = overlap.reshape(-1, *overlap.shape[-2:])
        found = np.array([average(matrix) for matrix in stack])
        return found.reshape((*overlap.shape[:-2], *found.shape[1:]))

    @property
    def is_blind(self) -> bool:
        """Whether E[h | y] = 0 for every label, so that an estimate of zero stays zero."""
        law = self.label_law
        return float(law.weights @ (law.means**2).sum(axis=1)) < 1e-9

    @functools.cached_property
    @in_float64
    def label_law(self) -> LabelLaw:
        """The labels and what each of them says about h on its own."""
        if isinstance(self.core, Committees):
            return _committee_law(self.core)
        if isinstance(self.core, Preimages):
            weights, values = noiseless_law(self.channel, self.core, self.is_coarse)
        else:
            weights, values = self.ensemble.law(self.core, self.channel.structure.prior)
        likelihood = dataclasses.replace(self.channel.likelihood, core=self.core)
        channel = dataclasses.replace(self.channel, likelihood=likelihood)
        return LabelLaw(weights, values, *Labels(channel, values).moments())


def check_exchangeable(problem: Problem, what: str) -> None:
    """Refuse inputs that state evolution does not cover."""
    why = "state evolution assumes input entries that are alike and independent"
    checked_input_law(problem.inputs, (Gaussian, Sphere), what, NoTheory, why)


def population_of(problem: Problem) -> Population:
    """The averages over a problem's labels; the same object for the same channel."""
    return _population(channel_of_problem(problem), coarse=False)


@functools.lru_cache(maxsize=64)
def _population(channel: Channel, *, coarse: bool) -> Population:
    core = channel.likelihood.core
    return Population(channel, _ensemble(channel, core, coarse), _coarse_law(core, coarse), coarse)


@functools.lru_cache(maxsize=16)
def _noisy_averages(
    ensemble: NoisyEnsemble, core: Quadrature, shape: tuple[int, ...], entries: bytes
) -> PopulationAverages:
    """Remembered: overlap, test error and free entropy of one point ask for the same averages."""
    return ensemble.averages(core, np.frombuffer(entries).reshape(shape))


def _ensemble(channel: Channel, core: Core, coarse: bool) -> Any:
    if isinstance(core, Committees):
        return None
    if isinstance(core, Affine):
        return AffineEnsemble(np.asarray(channel.noise))
    if isinstance(core, Discrete):
        return closed_form_ensemble(core, channel.noise, coarse)
    if isinstance(core, Preimages):
        return noiseless_ensemble(channel, core, coarse)
    return noisy_ensemble(channel, coarse)


def _coarse_law(core: Core, coarse: bool) -> Core:
    """Averages forgive errors that single labels show: they need fewer nodes."""
    if not isinstance(core, Quadrature):
        return core
    most = _MOST_NODES[len(core.counts)]
    counts = [min(count, most) for count in core.counts]
    fewer = [max(2, count // 2) for count in counts] if coarse else counts
    return dataclasses.replace(core, counts=tuple(fewer))


def _population_fields(static: Any, overlap: Float[Array, "r r"]) -> tuple[Array, Array]:
    """Covariances of omega and of what is unknown, in the fields of the core."""
    axes = jnp.asarray(static[1], overlap.dtype)
    known = axes @ overlap @ axes.T
    return known, jnp.asarray(static[2], overlap.dtype) - known


def _committee_law(core: Committees) -> LabelLaw:
    """A committee's labels when nothing is known."""
    sums, rank = committee_label_sums(core.committee), core.committee.rank
    nothing, prior = np.zeros((len(sums.labels), rank)), np.eye(rank)
    gradient, hessian = core.posteriors(sums.labels, nothing, prior, exact=True)
    ((_, found),) = committee_label_partitions(core.fields(prior, exact=True), nothing[:1])
    weights = np.maximum(sums.weights * found.value[0], 0.0)
    second = hessian + gradient[:, :, None] * gradient[:, None, :]
    seen = weights > 1e-9
    return LabelLaw(weights[seen], sums.labels[seen], gradient[seen], second[seen])


@functools.partial(jax.jit, static_argnums=0)
def _averages(static: Any, ensemble: Any, overlap: Float[Array, "r r"]) -> PopulationAverages:
    axes = jnp.asarray(static[1], overlap.dtype)
    found = ensemble.averages(static[0], *_population_fields(static, overlap))
    return found._replace(fisher=axes.T @ found.fisher @ axes)


@functools.partial(jax.jit, static_argnums=0)
def _limit_energy(static: Any, ensemble: Any, overlap: Float[Array, "r r"]) -> Float[Array, ""]:
    return ensemble.explained(static[0], *_population_fields(static, overlap))
