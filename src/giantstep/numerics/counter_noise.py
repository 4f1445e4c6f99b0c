"""Gaussian noise computed from its place alone: a key, a step, an index; no state is carried."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, UInt32

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(
    key: tuple[UInt32[Array, "..."], UInt32[Array, "..."]],
    counter: tuple[UInt32[Array, "..."], UInt32[Array, "..."]],
) -> tuple[UInt32[Array, "..."], UInt32[Array, "..."]]:
    """Two words of Threefry-2x32 with twenty rounds (Salmon et al. 2011), as ``jax.random`` has it.

    On a CPU ``jax.random`` runs the rounds in a loop over whole arrays. Written out they are one
    pass over the memory, which a noisy descent of a hundred thousand coordinates notices.
    """
    keys = (*key, key[0] ^ key[1] ^ jnp.uint32(_PARITY))
    first, second = counter[0] + keys[0], counter[1] + keys[1]
    for block in range(5):
        for rotation in _ROTATIONS[block % 2]:
            first = first + second
            second = first ^ ((second << rotation) | (second >> (32 - rotation)))
        first = first + keys[(block + 1) % 3]
        second = second + keys[(block + 2) % 3] + jnp.uint32(block + 1)
    return first, second


def normal_noise(
    key: UInt32[Array, " two"], step: UInt32[Array, ""], index: UInt32[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """Standard normal float32 numbers, one for each index; the same place gives the same number."""
    word, _ = threefry((key[0], key[1]), (step, index))
    # 23 bits after the point, in the middle of their cells: symmetric, and never one or minus one.
    unit = jax.lax.bitcast_convert_type((word >> 9) | jnp.uint32(0x3F800000), jnp.float32) - 1
    return jnp.float32(2**0.5) * jax.lax.erf_inv(2 * unit - jnp.float32(1 - 2**-23))
