"""What a target is made of: the fields it truly depends on, where it jumps, where it is flat."""

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

from giantstep.channels.posterior import Vector
from giantstep.errors import TargetError
from giantstep.language.expressions.evaluate import NUMPY, evaluate_expression
from giantstep.language.expressions.kinks import expression_kink_surfaces
from giantstep.language.expressions.tree import Product, expression_variables
from giantstep.language.targets import Target
from giantstep.language.targets.integration import TargetBlock, target_block
from giantstep.numerics.float64 import float64
from giantstep.numerics.quadrature import CUTOFF

#: Random points at which the target is probed, and how exactly a property must hold there.
_PROBES = 400
_EXACT = 1e-9
#: Where lines are searched for kinks; with more jumps than this on a line none is followed.
_LINE = np.linspace(-CUTOFF, CUTOFF, 400)
_MOST_JUMPS = 8


@dataclass(frozen=True)
class ChannelForm:
    """A target as a function of m fields u = axes (h, z), continuous fields first.

    ``axes`` has one row per field, over the r directions h and then the noises z that the target
    itself contains. ``kinks[i]`` are the positions on field i where the target has a kink or a
    jump; along the last ``discrete`` fields it is constant between them. ``aligned`` is False
    where kinks remain that no choice of fields puts on axes.
    """

    target: Target
    axes: tuple[tuple[float, ...], ...]
    kinks: tuple[tuple[float, ...], ...]
    discrete: int
    aligned: bool

    @property
    def fields(self) -> int:
        """Number m of fields."""
        return len(self.axes)

    @property
    def continuous(self) -> int:
        """Number of fields along which the target is not piecewise constant."""
        return self.fields - self.discrete

    @functools.cached_property
    def matrix(self) -> Float[np.ndarray, "m dims"]:
        """The axes as a matrix."""
        return np.array(self.axes).reshape(len(self.axes), -1)

    @functools.cached_property
    def _lift(self) -> Float[np.ndarray, "dims m"]:
        return np.linalg.pinv(self.matrix)

    @property
    def projection(self) -> Float[np.ndarray, "m r"]:
        """The part of the axes that acts on h."""
        return self.matrix[:, : self.target.rank]

    @property
    def extra(self) -> Float[np.ndarray, "m m"]:
        """Covariance that the noises inside the target give to the fields."""
        inner = self.matrix[:, self.target.rank :]
        return inner @ inner.T

    @property
    def is_exact(self) -> bool:
        """Whether no noise enters the fields that the label moves with."""
        return not self.matrix[: self.continuous, self.target.rank :].any()

    @property
    def told(self) -> list[int]:
        """The fields that directions enter; the others are noise, and never known."""
        return np.flatnonzero(self.projection.any(axis=1)).tolist()

    def kink_surface(self, language: Any, u: Any) -> Any:
        """A function of given fields that changes sign wherever the target has a kink."""
        names = target_block(self.target).names
        v = u @ self._lift.T
        surfaces = Product(expression_kink_surfaces((self.target.tree,), singular=False))
        return evaluate_expression(surfaces, language, {n: v[..., i] for i, n in enumerate(names)})

    @functools.cached_property
    def crossings(self) -> int:
        """How many jumps a line along the last field meets at most; 0 if it is not flat between."""
        lines = np.repeat(_channel_probes(self.fields)[:, None], len(_LINE), axis=1)
        lines = lines @ np.linalg.cholesky(self.prior).T
        lines[..., -1] = _LINE * np.sqrt(self.prior[-1, -1])
        above, values = self.kink_surface(NUMPY, lines) > 0, self.numpy(lines)
        jumps = above[:, 1:] != above[:, :-1]
        flat = np.abs(np.diff(values, axis=1)) <= _EXACT * (1 + np.abs(values[:, 1:]))
        most = int(jumps.sum(axis=1).max())
        return most if most <= _MOST_JUMPS and np.all(flat | jumps) else 0

    def across_jumps(self) -> ChannelForm:
        """The structure with that field last along which lines meet the fewest jumps, if any is.

        Noise is preferred: its width stays the same while the overlap grows.
        """
        fields = range(self.fields)
        orders = [[*(i for i in fields if i != last), last] for last in fields]
        forms = [form for form in map(self.chosen, orders) if form.crossings]
        best = sorted(forms, key=lambda form: (form.crossings, form.fields - 1 in form.told))
        return [*best, self][0]

    @property
    def prior(self) -> Float[np.ndarray, "m m"]:
        """Covariance of the fields when nothing is known."""
        return self.matrix @ self.matrix.T

    def chosen(self, order: Sequence[int], discrete: int | None = None) -> ChannelForm:
        """The structure with some of its fields, in another order; the rest are held at 0."""
        axes, kinks = (tuple(rows[i] for i in order) for rows in (self.axes, self.kinks))
        flat = self.discrete if discrete is None else discrete
        return dataclasses.replace(self, axes=axes, kinks=kinks, discrete=flat)

    def numpy(self, u: Float[np.ndarray, "... m"]) -> Float[np.ndarray, " ..."]:
        """The target at given fields."""
        v, r = np.asarray(u) @ self._lift.T, self.target.rank
        return np.broadcast_to(self.target.numpy(v[..., :r], v[..., r:]), v.shape[:-1])

    def jax(self, u: Vector) -> Float[Array, ""]:
        """The target at given fields, for one point, in JAX."""
        r = self.target.rank
        v = jnp.asarray(self._lift, u.dtype) @ u
        return jnp.asarray(self.target.jax(v[:r], v[r:]), u.dtype)


@functools.lru_cache(maxsize=256)
def channel_structure(target: Target) -> ChannelForm:
    """Find the fields of a target; raises TargetError for a constant."""
    positions, planes, curved = _kinks(target)
    aligned = not curved
    axes = np.eye(len(positions))
    touched = [bool(at) or i in curved for i, at in enumerate(positions)]
    span = _channel_active_span(target, [*axes[touched], *(normal for normal, _ in planes)])
    if not len(span):
        raise TargetError(f"target = {target.text!r} is constant: it has nothing to learn")
    chosen = _channel_kink_axes(positions, planes)
    normals = np.array([normal for normal, _ in chosen]).reshape(-1, span.shape[1])
    if np.linalg.matrix_rank(normals) < len(normals):
        chosen, normals, aligned = [], np.zeros((0, span.shape[1])), False
    # Directions of the span in which only noises move come first: label noise is among them.
    left, sizes, _ = np.linalg.svd(span[:, : target.rank], full_matrices=True)
    noises = left[:, np.sum(sizes > _EXACT) :].T @ span
    noises[:, : target.rank] = 0.0
    completed = _completed(normals, np.concatenate([noises, span]), len(span))
    kinks = [at for _, at in chosen] + [()] * (len(completed) - len(chosen))
    found = ChannelForm(target, _tupled(completed.tolist()), _tupled(kinks), 0, aligned)
    flat = np.array([aligned and _is_channel_flat(found, i) for i in range(found.fields)])
    return found.chosen(np.argsort(flat, kind="stable").tolist(), int(flat.sum()))


def _tupled(rows: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(x) for x in row) for row in rows)


def _channel_probes(dims: int) -> Float[np.ndarray, "probes dims"]:
    return np.random.default_rng(0).normal(size=(_PROBES, dims))


def _kinks(target: Target) -> tuple[list[set[float]], list[tuple[np.ndarray, float]], set[int]]:
    """Kinks on single variables, kinks on planes (normal, position), variables of curved kinks."""
    names = target_block(target).names
    positions = [set(at) for at in (*target.kinks, *target.noise_kinks)]
    planes: list[tuple[np.ndarray, float]] = []
    curved: set[int] = set()
    for argument in expression_kink_surfaces((target.tree,), singular=False):
        used = sorted(expression_variables(argument), key=names.index)
        if len(used) < 2:
            continue
        value = TargetBlock((argument,), names)
        zero = np.zeros((1, len(names)))
        offset = value(zero)[0]
        normal = np.array([value(zero + row)[0] - offset for row in np.eye(len(names))])
        probes = _channel_probes(len(names))
        size = np.linalg.norm(normal)
        if not np.allclose(value(probes), offset + probes @ normal, rtol=0, atol=_EXACT * size):
            curved |= {names.index(name) for name in used}
            continue
        planes.append((normal / size, -offset / size))
    return positions, planes, curved


def _channel_active_span(target: Target, normals: list[np.ndarray]) -> Float[np.ndarray, "m dims"]:
    """Orthonormal rows that span all gradients of the target and all normals of its kinks."""
    dims = target.rank + target.noises

    def value(v: Float[Array, " dims"]) -> Float[Array, ""]:
        return jnp.asarray(target.jax(v[: target.rank], v[target.rank :]), v.dtype)

    with float64():
        gradients = np.asarray(jax.jit(jax.vmap(jax.grad(value)))(_channel_probes(dims)))
    gradients = gradients[np.isfinite(gradients).all(axis=1)]
    scale = np.linalg.norm(gradients, axis=1, keepdims=True)
    rows = np.concatenate([gradients / np.maximum(scale, 1e-300), *[n[None] for n in normals]])
    _, sizes, span = np.linalg.svd(rows, full_matrices=False)
    return span[sizes > 1e-6 * max(sizes.max(initial=0.0), 1.0)]


def _channel_kink_axes(
    positions: list[set[float]], planes: list[tuple[np.ndarray, float]]
) -> list[tuple[np.ndarray, list[float]]]:
    """One axis for each direction in which there are kinks, with all the positions on it."""
    axes = [(row, set(at)) for row, at in zip(np.eye(len(positions)), positions, strict=True) if at]
    for normal, at in planes:
        for known, there in axes:
            along = float(known @ normal)
            if abs(abs(along) - 1) < _EXACT:
                there.add(at * along)
                break
        else:
            axes.append((normal, {at}))
    return [(normal, sorted(at)) for normal, at in axes]


def _completed(normals: np.ndarray, span: np.ndarray, rank: int) -> Float[np.ndarray, "m dims"]:
    """The normals, then coordinate axes inside the span, then whatever else it takes to fill it."""
    rows = list(normals)
    basis = span[-rank:]
    inside = [e for e in np.eye(span.shape[1]) if np.linalg.norm(basis @ e) > 1 - _EXACT]
    for candidate in [*inside, *span]:
        if len(rows) < rank and np.linalg.matrix_rank([*rows, candidate], 1e-6) > len(rows):
            rows.append(candidate)
    return np.array(rows)


def _is_channel_flat(structure: ChannelForm, axis: int) -> bool:
    """Whether moving along one field inside its interval never changes the target."""
    u = _channel_probes(structure.fields) @ np.linalg.cholesky(structure.prior).T
    kinks = np.array(structure.kinks[axis])
    moved = u.copy()
    moved[:, axis] = np.roll(u[:, axis], 1)
    same = np.searchsorted(kinks, u[:, axis]) == np.searchsorted(kinks, moved[:, axis])
    here, there = structure.numpy(u[same]), structure.numpy(moved[same])
    return bool(np.all(np.abs(here - there) <= _EXACT * (1 + np.abs(here))))


def channel_without_noise(structure: ChannelForm) -> tuple[ChannelForm, float]:
    """The structure without the fields that only add Gaussian noise, and the variance of it all."""
    inner = 0.0
    for axis in reversed(range(structure.continuous)):
        others = np.delete(np.arange(structure.fields), axis)
        alone = len(others) and np.all(np.abs(structure.prior[axis, others]) < _EXACT)
        if axis in structure.told or not (alone and is_channel_affine(structure, axis)):
            continue
        u = _channel_probes(structure.fields) @ np.linalg.cholesky(structure.prior).T
        rises = structure.numpy(u + np.eye(structure.fields)[axis]) - structure.numpy(u)
        if np.ptp(rises) <= _EXACT * np.abs(rises).max():
            inner += float(np.mean(rises)) ** 2 * structure.prior[axis, axis]
            structure = structure.chosen(others.tolist())
    return structure, inner


def is_channel_affine(structure: ChannelForm, axis: int) -> bool:
    """Whether the target is a + b u_axis with a and b functions of the other fields."""
    if structure.kinks[axis] or not structure.aligned:
        return False
    u = _channel_probes(structure.fields) @ np.linalg.cholesky(structure.prior).T
    move = np.eye(structure.fields)[axis]
    here, up, down = (structure.numpy(u + t * move) for t in (0.0, 0.7, -0.7))
    return bool(np.all(np.abs(up + down - 2 * here) <= _EXACT * (1 + np.abs(here) + np.abs(up))))
