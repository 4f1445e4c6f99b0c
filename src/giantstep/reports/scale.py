"""How much a report computes: enough to see the message, or enough to trust the dots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Sizes of the simulations and of the curves.

    ``climb_dims`` holds a dimension for each leap, so that n = d^leap stays within reach;
    ``climb_width`` neurons are enough for the theory's values of the biases to stand for their law;
    ``message_points`` the points of a curve for one direction and for several;
    ``message_seconds`` the time after which that curve ends where it is, and ``point_seconds`` the
    time that a point of it may take where there are three directions; ``most_directions`` those up
    to which theories that integrate over all of them are drawn.
    """

    climb_dims: Mapping[int, int]
    climb_samples: str
    climb_width: int
    climb_steps: int
    seeds: int
    feature_dim: int
    feature_points: int
    feature_seeds: int
    message_points: tuple[int, int]
    message_seconds: float
    point_seconds: float
    most_directions: int


FULL = Scale(
    climb_dims={1: 4000, 2: 500, 3: 128},
    climb_samples="32d",
    climb_width=64,
    climb_steps=5,
    seeds=8,
    feature_dim=150,
    feature_points=6,
    feature_seeds=4,
    message_points=(25, 9),
    message_seconds=40.0,
    point_seconds=20.0,
    most_directions=3,
)
QUICK = Scale(
    climb_dims={1: 2000, 2: 300, 3: 100},
    climb_samples="16d",
    climb_width=32,
    climb_steps=3,
    seeds=8,
    feature_dim=40,
    feature_points=3,
    feature_seeds=3,
    message_points=(7, 5),
    message_seconds=3.0,
    point_seconds=3.0,
    most_directions=2,
)
