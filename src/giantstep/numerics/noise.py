"""Standard normals in float32 from random bits: by their place alone, or many at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, UInt32

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


#: Normals made by one call: 1 MB of them, so that a call is cheap beside its work.
BLOCK = 1 << 18
#: z/x = P(w)/Q(w) with x = erf(|z|/sqrt 2), w = -log(1 - x^2), to 1.2e-7 for every |z| < 6.4.
#: A least-squares fit to the quantile function, reweighted until its errors are level.
_NUMERATOR = (1.25331428, 4.52391107e-1, 8.98290336e-2, 1.18748114e-2, 9.99392372e-4, 2.92886481e-5)
_DENOMINATOR = (1.0, 9.91592581e-2, 3.26705501e-2, 2.27974491e-3, 1.69785131e-4, 1.00843375e-6)


def normals_of_bits(bits: UInt32[np.ndarray, " block"]) -> Float32[np.ndarray, " block"]:
    """The normal at whose tail probability the bits point: a sign, and 31 bits below 1/2.

    Three times as fast as numpy's float32 normals: a table of the normal law is read number by
    number, a formula is evaluated for many at once. Nothing lies beyond 6.34, where a normal is
    once in four thousand million times.

    >>> bits = np.zeros(BLOCK, dtype=np.uint32)
    >>> bits[:3] = [0x289DA176, 0xFFFFFFFF, 0]
    >>> normals_of_bits(bits)[:3].astype(float).round(4).tolist()
    [1.0, -0.0, 6.338]
    """
    return np.asarray(_compiled_normals()(bits))


@functools.cache
def _compiled_normals() -> Callable[[Any], Any]:
    import jax
    import jax.numpy as jnp

    shape = jax.ShapeDtypeStruct((BLOCK,), jnp.uint32)
    return jax.jit(_quantile).lower(shape).compile()


def _quantile(bits: Any) -> Any:
    import jax.numpy as jnp
    from jax import lax

    half, one = np.float32(0.5), np.float32(1)
    signed = lax.bitcast_convert_type(bits, jnp.int32)
    tail = ((signed & np.int32(0x7FFFFFFF)).astype(jnp.float32) + half) * np.float32(2.0**-32)
    x = one - np.float32(2) * tail
    w = -jnp.log(np.float32(4) * tail * (one - tail))
    z = x * _float32_polynomial(_NUMERATOR, w) / _float32_polynomial(_DENOMINATOR, w)
    return jnp.where(signed < 0, -z, z)


def _float32_polynomial(coefficients: tuple[float, ...], w: Any) -> Any:
    value = np.float32(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * w + np.float32(coefficient)
    return value
