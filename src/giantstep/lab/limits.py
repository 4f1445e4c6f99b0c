"""What one request, one job and one client may take."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """Bounds that keep the lab answering; each has a plain unit in its name or here.

    ``jobs`` counts jobs that wait or run in the whole lab, ``jobs_of_client`` those of one client.
    ``seconds`` bounds one task by its verb, ``job_seconds`` all tasks of a job together, waiting
    not counted. ``slice_seconds`` is how long a worker stays with one client while others wait.
    """

    body_bytes: int = 64 * 1024
    body_seconds: float = 10.0
    text_characters: int = 4000
    dim: float = 20_000
    points: int = 129
    seeds: int = 64
    memory_bytes: float = 1.5 * 2**30
    seed_seconds: float = 20.0
    jobs: int = 400
    jobs_of_client: int = 8
    job_seconds: float = 900.0
    slice_seconds: float = 0.1
    grace_seconds: float = 0.4
    silent_connections: int = 100
    silent_seconds: float = 20.0
    seconds: dict[str, float] = field(
        default_factory=lambda: {
            **{"read": 20.0, "plan": 20.0, "explain": 60.0, "predict": 40.0, "simulate": 60.0},
            **{"spectrum": 60.0, "neurons": 60.0, "report": 600.0, "warm": 120.0},
        }
    )
