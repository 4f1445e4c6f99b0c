"""What training leaves behind, whichever way it went."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Answer(NamedTuple):
    """A network at the test samples: its outputs, and what its last hidden layer hands on.

    ``inner`` is the output u of the second layer, or several of them; for a network that has no
    layer with few outputs, the output of the network itself.
    """

    output: Float[np.ndarray, " m"]
    inner: Float[np.ndarray, "m ..."]


class Trained(NamedTuple):
    """Answers network by network, spans of the first layer, and directions that it kept."""

    answers: tuple[Answer, ...]
    spans: tuple[float, ...]
    directions: int


def alignment(inner: Float[np.ndarray, "m ..."], branches: Float[np.ndarray, "m b"]) -> float:
    """Multiple correlation of u with the branches; the median where there are several u.

    >>> h = np.array([[1.0], [2.0], [3.0]])
    >>> round(alignment(-h[:, 0], h), 12)
    1.0
    """
    columns = branches - branches.mean(axis=0)
    basis = np.linalg.qr(columns)[0]
    u = inner.reshape(len(inner), -1)
    u = u - u.mean(axis=0)
    length = np.maximum(np.linalg.norm(u, axis=0), 1e-300)
    return float(np.median(np.linalg.norm(basis.T @ u, axis=0) / length))
