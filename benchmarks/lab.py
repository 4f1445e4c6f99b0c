"""The lab under load: many clients who ask for theory, simulations in a queue, a client who leaves.

Every client has a connection and a cookie of its own, as pages have. A line is asked for as the
page asks for it, and it is there when its last point is.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from benchmarks.row import Row, under_limit
from giantstep.lab.launch import Lab

CLIENTS, SECONDS = 50, 30.0
#: A person looks at a line before the slider is moved again.
PAUSE_SECONDS = 2.0
QUEUED, SEEDS = 20, 4
MOST_SECONDS, SLIDER_SECONDS, FREED_SECONDS = 0.5, 0.15, 2.0
_ridges = itertools.count(1)


def rows() -> Iterator[Row]:
    """Latency of a line, theory under load, simulations in a queue, a worker set free."""
    lab = Lab().start()
    try:
        yield from asyncio.run(_rows(lab))
    finally:
        lab.close()


async def _rows(lab: Lab) -> list[Row]:
    async with _visitor(lab) as first:
        await _theory(first)
        await _until_warm(lab)
        alone = [await _theory(first) for _ in range(20)]
    together = await asyncio.gather(*[_player(lab, number) for number in range(CLIENTS)])
    times = sorted(itertools.chain(*together))
    late = times[int(0.95 * len(times))]
    begin = time.perf_counter()
    shares: dict[int, float] = {}
    seen: list[float] = []
    await asyncio.gather(*[_simulator(lab, n, shares, seen) for n in range(QUEUED)])
    whole = time.perf_counter() - begin
    freed = await _leaver(lab)
    return [
        under_limit("a line of 41 points, median of 20", statistics.median(alone), SLIDER_SECONDS),
        under_limit(
            f"the same from {CLIENTS} clients for {SECONDS:g} s, {len(times)} lines, 95th percent",
            late,
            MOST_SECONDS,
        ),
        Row(
            f"{QUEUED} simulations of {SEEDS} seeds in a queue",
            f"{whole:.1f} s, all done",
            "least share when the first ends",
            min(seen),
            ">= 0.5",
            min(seen) >= 0.5,
        ),
        under_limit("a client leaves: its worker is free after", freed, FREED_SECONDS),
    ]


def _visitor(lab: Lab) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{lab.port}", timeout=120, params={"token": lab.keys.token}
    )


async def _events(
    client: httpx.AsyncClient, path: str, question: dict[str, Any]
) -> AsyncIterator[tuple[str, Any]]:
    if not client.cookies:
        (await client.get("/")).raise_for_status()
    async with client.stream("POST", path, json=question) as response:
        response.raise_for_status()
        name = ""
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))


def _question(**settings: str) -> dict[str, Any]:
    chosen = {"dim": "200", "samples": "0.4d:10d:9log", "width": "2d", **settings}
    problem = {"target": "h1 + h1*h2"}
    return {"learner": "random-features", "settings": chosen, "problem": problem}


async def _theory(client: httpx.AsyncClient) -> float:
    """Seconds for a line that nobody has asked for before."""
    begin, points = time.perf_counter(), 0
    question = _question(ridge=f"{0.01 + 1e-5 * next(_ridges):.5f}")
    async for name, _ in _events(client, "/theory", question):
        points += name == "point"
    assert points == 41, f"{points} points"
    return time.perf_counter() - begin


async def _until_warm(lab: Lab) -> None:
    """Every worker has compiled what it compiles ahead."""
    members = [member for crew in lab.desk.crews.values() for member in crew.members]
    while any(member.worker is None or member.cold or member.busy for member in members):
        await asyncio.sleep(0.1)


async def _player(lab: Lab, number: int) -> list[float]:
    """Seconds for each line of one client; clients do not begin in one moment."""
    times, end = [], time.perf_counter() + SECONDS
    async with _visitor(lab) as client:
        await asyncio.sleep(PAUSE_SECONDS * number / CLIENTS)
        while time.perf_counter() < end:
            times.append(await _theory(client))
            await asyncio.sleep(PAUSE_SECONDS)
    return times


async def _simulator(lab: Lab, number: int, shares: dict[int, float], seen: list[float]) -> None:
    """One of the simulations; the first to end notes how far the others are."""
    question = {**_question(ridge="0.1"), "seeds": SEEDS, "seed": 1000 * number}
    shares[number], ended = 0.0, False
    async with _visitor(lab) as client:
        async for name, data in _events(client, "/simulate", question):
            if name == "dot":
                shares[number] = data["share"]
            ended = name == "end"
    assert ended
    if not seen:
        seen.append(min(shares.values()))


async def _leaver(lab: Lab) -> float:
    """Seconds from a client's leaving to a worker that is free."""
    async with _visitor(lab) as client:
        question = {**_question(ridge="0.2", samples="4d", dim="400"), "seeds": 60}
        async for name, _ in _events(client, "/simulate", question):
            if name == "dot":
                break
    begin = time.perf_counter()
    while any(member.job is not None for member in lab.desk.simulators.members):
        await asyncio.sleep(0.01)
    return time.perf_counter() - begin
