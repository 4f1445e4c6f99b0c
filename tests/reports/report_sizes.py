"""A report as small as it can be and still have every part."""

from __future__ import annotations

from giantstep.reports.scale import Scale

TINY = Scale(
    climb_dims={1: 60, 2: 20, 3: 8},
    climb_samples="8d",
    climb_width=4,
    climb_steps=2,
    seeds=2,
    feature_dim=20,
    feature_points=2,
    feature_seeds=2,
    message_points=(2, 2),
    message_seconds=0.0,
    point_seconds=20.0,
    most_directions=3,
)
