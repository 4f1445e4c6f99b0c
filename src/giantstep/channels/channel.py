"""The channel of a problem: how its labels come from the fields, seen from AMP and from theory."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.cells import Affine, Discrete, LabelCells, channel_cell_centres
from giantstep.channels.committees.core import (
    SMALL_NOISE,
    Committees,
    channel_noise_note,
    committee_with_channel,
    has_lattice_votes,
)
from giantstep.channels.posterior import Matrix, Posterior, Vector
from giantstep.channels.preimages import Preimages
from giantstep.channels.quadrature import Quadrature, resolved_posterior_rule
from giantstep.channels.structure import (
    ChannelForm,
    channel_structure,
    channel_without_noise,
    is_channel_affine,
)
from giantstep.errors import TargetError
from giantstep.language.expressions.printing import short_expression_text
from giantstep.language.problem import Problem
from giantstep.language.targets.symmetry import COVERED

#: Cores with a posterior in JAX, and those of many directions, in numpy.
JaxCore = Affine | Discrete | Preimages | Quadrature
Core = JaxCore | Committees

#: Beyond three fields no rule is affordable; committees need none.
MOST_FIELDS = 3
#: Points of a rule that a closed form costs as much as.
CLOSED_FORM = 128


@dataclass(frozen=True)
class Likelihood:
    """P(y | h): a channel's mathematics, without the size of the noise, which labels carry.

    The core sees the fields u = A h + noise of covariance E; AMP and state evolution see h.
    """

    core: Core
    axes: tuple[tuple[float, ...], ...]
    extra: tuple[tuple[float, ...], ...]

    def fields(self, omega: Float[Array, " r"], cov: Float[Array, "r r"]) -> tuple[Vector, Matrix]:
        """Mean and covariance of the core's fields when h ~ N(omega, cov)."""
        a = jnp.asarray(self.axes, omega.dtype)
        return a @ omega, a @ cov @ a.T + jnp.asarray(self.extra, omega.dtype)

    def posterior(
        self, label: Any, omega: Float[Array, " r"], cov: Float[Array, "r r"]
    ) -> Posterior:
        """log Z of one label, g_out and its derivative in omega."""
        a = jnp.asarray(self.axes, omega.dtype)
        assert not isinstance(self.core, Committees)
        found = self.core.posterior(label, *self.fields(omega, cov))
        return Posterior(found.log_partition, a.T @ found.gradient, a.T @ found.hessian @ a)

    def label_mean(self, omega: Float[Array, " r"], cov: Float[Array, "r r"]) -> Float[Array, ""]:
        """E[y], the best prediction of a label whose field is N(omega, cov)."""
        assert not isinstance(self.core, Committees)
        return self.core.label_mean(*self.fields(omega, cov))


@dataclass(frozen=True)
class Channel:
    """A problem's channel: its likelihood, its label noise, and what was done to get it.

    ``noise`` is that of the likelihood; of it the target itself has ``inner``, written as z. The
    rest exceeds the problem's own where the channel is ``altered``, see :func:`channel_of_problem`.
    ``error`` estimates the relative error of g_out, 0 for closed forms.
    """

    likelihood: Likelihood
    structure: ChannelForm
    noise: float
    notes: tuple[str, ...] = ()
    error: float = 0.0
    altered: bool = False
    inner: float = 0.0

    @property
    def added(self) -> float:
        """Noise that labels get on top of what the target has."""
        return self.noise - self.inner

    @property
    def settings(self) -> dict[str, float]:
        """What results must record of the channel: its noise, where it is not the problem's."""
        return {"channel_noise": self.added} if self.altered else {}

    @property
    def rank(self) -> int:
        """Number r of directions."""
        return self.structure.target.rank

    @property
    def kind(self) -> str:
        """Which form the channel has."""
        return type(self.likelihood.core).__name__.lower()

    def labels(self, y: Float[np.ndarray, " n"]) -> Any:
        """What the posterior needs to know about each label; raises if one is impossible."""
        y = np.asarray(y, dtype=np.float64)
        if not np.isfinite(y).all():
            raise TargetError("labels must be finite numbers")
        return self.likelihood.core.labels(y, self.noise)


def label_posteriors(
    likelihood: Likelihood, labels: Any, omega: Float[Array, "n r"], cov: Float[Array, "r r"]
) -> Posterior:
    """The posterior of every label, in blocks small enough for memory."""
    return posterior_blocks(
        likelihood.core,
        lambda pair: likelihood.posterior(pair[0], pair[1], cov),
        (labels, omega),
        omega.shape[0],
    )


def channel_label_means(
    likelihood: Likelihood, omega: Float[Array, "n r"], cov: Float[Array, "r r"]
) -> Float[Array, " n"]:
    """E[y] at every omega."""
    return posterior_blocks(
        likelihood.core, lambda w: likelihood.label_mean(w, cov), omega, omega.shape[0]
    )


def posterior_evaluations(core: Core) -> int:
    """Points at which the posterior of one label looks at its law; closed forms count as a few."""
    return core.size if isinstance(core, Quadrature) else CLOSED_FORM


def posterior_blocks(core: Core, function: Any, given: Any, count: int) -> Any:
    """Apply a function of one sample to ``count`` of them, in blocks small enough for memory."""
    block = max(1, 2**21 // posterior_evaluations(core))
    if block >= count:
        return jax.vmap(function)(given)
    return jax.lax.map(function, given, batch_size=block)


def channel_of_problem(problem: Problem) -> Channel:
    """The channel of a problem's labels, in the most exact form there is.

    Closed forms where they exist: labels linear in a field; labels of finitely many values cut by
    aligned jumps; noiseless labels that move with one field, by preimages. Otherwise quadrature
    for at most three fields, and a Fourier sum for committees of more. Both need label noise: a
    noiseless target gets noise of 1 % of its variance, and the notes say so. Noise is the same
    whether the problem has it or the target adds it, as in sin(h1) + z1/2.
    """
    structure, inner = channel_without_noise(channel_structure(problem.target))
    if structure.fields > MOST_FIELDS or has_lattice_votes(problem.target):
        return _committee_channel(structure, problem.noise)
    found = _channel_of_structure(structure, problem.noise + inner)
    return dataclasses.replace(found, inner=inner) if inner else found


@functools.lru_cache(maxsize=128)
def _committee_channel(structure: ChannelForm, noise: float) -> Channel:
    covered = committee_with_channel(structure.target, noise)
    if covered is None:
        raise TargetError(
            f"target = {short_expression_text(structure.target.tree)!r} depends on "
            f"{structure.fields} directions: message passing covers at most {MOST_FIELDS}, "
            f"or {COVERED}"
        )
    core, altered = Committees(covered.committee), covered.altered
    return _new_channel(structure, core, covered.noise, notes=covered.notes, altered=altered)


@functools.lru_cache(maxsize=128)
def _channel_of_structure(structure: ChannelForm, noise: float) -> Channel:
    if structure.continuous == structure.fields == 1 and is_channel_affine(structure, 0):
        ends = structure.numpy(np.array([[0.0], [1.0]]))
        return _new_channel(structure, Affine(float(ends[0]), float(ends[1] - ends[0])), noise)
    if structure.continuous == 0:
        values, classes = np.unique(
            np.round(structure.numpy(channel_cell_centres(structure.kinks)), 12),
            return_inverse=True,
        )
        cells = LabelCells(structure.kinks, tuple(int(c) for c in classes))
        return _new_channel(structure, Discrete(cells, tuple(values.tolist())), noise)
    if structure.continuous == 1 and noise == 0:
        core = Preimages(structure, _channel_cell_groups(structure))
        if not (core.groups.kinks and core.has_atoms):
            return _new_channel(structure, core, 0.0)
    return _channel_by_quadrature(structure, noise)


def _new_channel(structure: ChannelForm, core: Core, noise: float, **more: Any) -> Channel:
    axes = tuple(map(tuple, structure.projection.tolist()))
    extra = tuple(map(tuple, structure.extra.tolist()))
    return Channel(Likelihood(core, axes, extra), structure, noise, **more)


def _channel_cell_groups(structure: ChannelForm) -> LabelCells:
    """Cells of the discrete fields, grouped where they give the same function of the others."""
    kinks = structure.kinks[structure.continuous :]
    others = np.random.default_rng(1).normal(size=(200, structure.continuous))
    lines = [
        structure.numpy(np.concatenate([others, np.broadcast_to(c, (200, len(kinks)))], axis=1))
        for c in channel_cell_centres(kinks)
    ]
    firsts: list[np.ndarray] = []
    classes = []
    for line in lines:
        same = [k for k, first in enumerate(firsts) if np.allclose(line, first, 1e-12, 1e-12)]
        classes.append(same[0] if same else len(firsts))
        if not same:
            firsts.append(line)
    return LabelCells(kinks, tuple(classes))


def _channel_by_quadrature(structure: ChannelForm, noise: float) -> Channel:
    affine = [i for i in range(structure.continuous) if is_channel_affine(structure, i)]
    use_affine = structure.continuous > 1 and not structure.discrete and bool(affine)
    if use_affine:
        last = affine[-1]
        structure = structure.chosen([*np.delete(np.arange(structure.fields), last).tolist(), last])
    curved = 0
    if not structure.aligned:
        structure = structure.across_jumps()
        curved = structure.crossings
    notes: Sequence[str] = ()
    if noise == 0 and not (use_affine and _is_channel_steep(structure)):
        u = np.random.default_rng(2).normal(size=(100_000, structure.fields))
        values = structure.numpy(u @ np.linalg.cholesky(structure.prior).T)
        noise = float(SMALL_NOISE * np.var(values))
        notes = (channel_noise_note(noise),)
    groups = LabelCells((), (0,)) if use_affine else _channel_cell_groups(structure)
    integrated = structure.continuous - (use_affine or curved > 0)
    rest = {"groups": groups, "affine": use_affine, "jumps": curved}
    core, error = resolved_posterior_rule(structure, integrated, noise, **rest)
    altered = bool(notes)
    return _new_channel(structure, core, noise, notes=tuple(notes), error=error, altered=altered)


def _is_channel_steep(structure: ChannelForm) -> bool:
    """Whether the slope in the last field stays away from 0, so that no noise is needed."""
    u = np.random.default_rng(3).normal(size=(10_000, structure.fields)) * 3
    u[:, -1] = 0
    slope = np.abs(structure.numpy(u + np.eye(structure.fields)[-1]) - structure.numpy(u))
    return bool(slope.min() > 0.05 * slope.max())
