r"""Least squares without the matrix: a few products with :math:`A = J^T J` on a Krylov space.

After m Lanczos steps from b, :math:`A \approx V T V^T`, and the ridge solution is
:math:`V (T + \lambda)^{-1} |b| e_1`. Each step is one pass over the rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

#: Ridge, in units of the mean eigenvalue of A on the space.
RIDGE = 1e-4


def ridge_on_krylov_space(
    times: Callable[[Float[np.ndarray, " k"]], Float[np.ndarray, " k"]],
    right: Float[np.ndarray, " k"],
    steps: int,
    tolerance: float = 0.0,
) -> Float[np.ndarray, " k"]:
    """The solution c of (A + ridge) c = right on the space of at most ``steps`` products ``times``.

    Fewer are made if what is left of ``right`` falls to the share ``tolerance`` of it.

    >>> A = np.diag([1.0, 2.0, 4.0])
    >>> found = ridge_on_krylov_space(lambda v: A @ v, np.ones(3), 3)
    >>> bool(np.allclose(found, [1, 0.5, 0.25], rtol=1e-3))
    True
    """
    size = float(np.linalg.norm(right))
    if size == 0:
        return np.zeros_like(right)
    basis = [right / size]
    rows: list[np.ndarray] = []
    solution = np.zeros(1)
    for step in range(min(steps, len(right))):
        image = times(basis[step])
        rows.append(image)
        space = np.stack(basis)
        matrix = space @ np.stack(rows).T
        matrix = (matrix + matrix.T) / 2
        ridge = RIDGE * float(np.trace(matrix)) / len(matrix)
        first = np.zeros(len(matrix))
        first[0] = size
        solution = np.linalg.solve(matrix + ridge * np.eye(len(matrix)), first)
        rest = image.copy()
        # Twice is enough: once leaves what rounding lost.
        for _ in range(2):
            rest -= space.T @ (space @ rest)
        length = float(np.linalg.norm(rest))
        # A V = V T + rest e_m^T: what is left is as long as the last coefficient times the rest.
        left = abs(float(solution[-1])) * length
        if length <= 1e-10 * float(np.linalg.norm(image)) or left <= tolerance * size:
            break
        basis.append(rest / length)
    return np.stack(basis[: len(solution)]).T @ solution
