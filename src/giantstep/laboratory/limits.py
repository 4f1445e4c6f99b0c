"""What one request, one job and one client may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from giantstep.asking.workers import backlog

#: What the workers of the lab may take.
WORK = backlog.Limits(
    slice_seconds=0.1,
    stays=False,
    jobs=400,
    jobs_of_client=8,
    job_seconds=900.0,
    grace_seconds=0.4,
    attempts=1,
    worker_bytes=3 * 2**30,
    remedy="take smaller sizes",
)


@dataclass(frozen=True)
class LabLimits:
    """Bounds that keep the lab answering; each has a plain unit in its name or here.

    ``memory_bytes`` and ``seed_seconds`` are what a simulation may be expected to take; ``seconds``
    is after how long a task is ended, by its verb, and ``work`` bounds everything else that the
    workers do.
    """

    body_bytes: int = 64 * 1024
    body_seconds: float = 10.0
    text_characters: int = 4000
    dim: float = 20_000
    points: int = 129
    seeds: int = 64
    memory_bytes: float = 1.5 * 2**30
    seed_seconds: float = 20.0
    silent_connections: int = 100
    silent_seconds: float = 20.0
    seconds: Mapping[str, float] = field(
        default_factory=lambda: {
            "read": 20.0,
            "outline": 20.0,
            "explain": 60.0,
            "predict": 40.0,
            "simulate": 60.0,
            "spectrum": 60.0,
            "neurons": 60.0,
            "report": 600.0,
            "warm": 120.0,
        }
    )
    work: backlog.Limits = WORK
