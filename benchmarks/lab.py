"""The lab under load: many clients who ask for theory, simulations in a queue, a client who leaves.

Clients live in a process of their own, each with a connection and a cookie of its own, as pages
have. A line is asked for as the page asks for it, and it is there when its last point is. No two
questions are equal: every client has one of five targets and moves the ridge, the width, the noise
and the dimension in turn, to values that nobody has had.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from benchmarks.row import Row, under_limit
from giantstep.laboratory.launch import Lab

CLIENTS, SECONDS = 50, 30.0
#: A person looks at a line for a second before the slider is moved again.
PAUSE_SECONDS = 1.0
QUEUED, SEEDS = 20, 4
MOST_SECONDS, SLIDER_SECONDS, FREED_SECONDS = 0.5, 0.15, 2.0
#: For a move of a slider of the experiment that the page opens with, and the moves.
FIRST_SECONDS, FIRST_MOVES = 0.3, 10
#: Points of a line, and of one that is drawn while many wait.
FINE, COARSE = 41, 17
TARGETS = ("h1 + h1*h2", "sin(h1)", "h1*h2*h3", "He2(h1) + h2", "tanh(h1 + h2)")


def rows() -> Iterator[Row]:
    """Latency of a line, theory under load, simulations in a queue, a worker set free."""
    lab = Lab().start()
    try:
        yield from asyncio.run(_rows(lab))
    finally:
        lab.close()


async def _rows(lab: Lab) -> list[Row]:
    async with _visitor(f"http://127.0.0.1:{lab.port}", lab.keys.token) as first:
        # Everybody's target is read and drawn once before the clock starts, as a page does.
        for number in range(len(TARGETS)):
            await _theory(first, number, 0)
        await _until_warm(lab)
        alone = [(await _theory(first, CLIENTS, move))[0] for move in range(20)]
        opening, opening_cpu = await _opening(lab, first)
    spent = _cpu_seconds(lab)
    lines = await _crowd(lab)
    spent = _cpu_seconds(lab) - spent
    late, _ = lines[int(0.95 * len(lines))]
    fine = sum(points == FINE for _, points in lines) / len(lines)
    begin = time.perf_counter()
    shares: dict[int, float] = {}
    seen: list[float] = []
    await asyncio.gather(*[_simulator(lab, n, shares, seen) for n in range(QUEUED)])
    whole = time.perf_counter() - begin
    freed = await _leaver(lab)
    rate = len(lines) / SECONDS
    return [
        under_limit("a line of 41 points, median of 20", statistics.median(alone), SLIDER_SECONDS),
        under_limit("a slider of the first experiment, median", opening, FIRST_SECONDS),
        under_limit("the same, CPU of a move", opening_cpu, FIRST_SECONDS),
        under_limit(
            f"the same from {CLIENTS} clients for {SECONDS:g} s, 95th percent: {len(lines)} lines, "
            f"all different, {rate:.0f} a second, {1000 * spent / len(lines):.0f} ms of CPU each, "
            f"{fine:.0%} with {FINE} points at once and the others with {COARSE}",
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


async def _crowd(lab: Lab) -> list[tuple[float, int]]:
    """Seconds and points of every line, the quickest first; the clients are another process."""
    code = f"from benchmarks.lab import crowd; crowd({lab.port}, {lab.keys.token!r})"
    clients = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=subprocess.PIPE
    )
    told, _ = await clients.communicate()
    assert clients.returncode == 0
    return sorted(json.loads(told))


def crowd(port: int, token: str) -> None:
    """Print the seconds and points of every line that the clients have asked for."""

    async def all_of_them() -> list[tuple[float, int]]:
        players = [_player(f"http://127.0.0.1:{port}", token, n) for n in range(CLIENTS)]
        return list(itertools.chain(*await asyncio.gather(*players)))

    print(json.dumps(asyncio.run(all_of_them())))


def _visitor(address: str, token: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=address, timeout=120, params={"token": token})


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


def _question(target: str = TARGETS[0], noise: str = "0", **settings: str) -> dict[str, Any]:
    chosen = {"dim": "200", "samples": "0.4d:10d:9log", "width": "2d", "ridge": "0.1", **settings}
    problem = {"target": target, "noise": noise}
    return {"learner": "random-features", "settings": chosen, "problem": problem}


def _move(client: int, move: int) -> dict[str, Any]:
    """The question after so many moves of a client: no other has had it."""
    own = 1 + (client + 100 * (move // 4)) / 1e4
    moved = {
        "ridge": f"{0.1 * own:.6f}",
        "width": f"{2 * own:.6f}d",
        "noise": f"{0.1 * own:.6f}",
        "dim": str(200 + client + 60 * (move // 4)),
    }
    chosen = list(moved)[move % 4]
    start = {"ridge": f"{0.05 * (1 + client / 1e4):.6f}"}
    return _question(TARGETS[client % len(TARGETS)], **{**start, chosen: moved[chosen]})


async def _theory(client: httpx.AsyncClient, number: int, move: int) -> tuple[float, int]:
    """Seconds for a line that nobody has asked for before, and its points."""
    begin, points = time.perf_counter(), 0
    async for name, data in _events(client, "/theory", _move(number, move)):
        points += len(data) if name == "points" else 0
    assert points in (COARSE, FINE), f"{points} points"
    return time.perf_counter() - begin, points


async def _opening(lab: Lab, client: httpx.AsyncClient) -> tuple[float, float]:
    """Median seconds for a move of the first experiment's step size, and mean CPU seconds of it."""
    settings = {"dim": "400", "width": "40", "samples": "8d", "steps": "2"}
    question = {"learner": "giant-step", "problem": {"target": TARGETS[0]}}

    async def move(step_size: float) -> float:
        chosen, begin = {**settings, "step_size": str(step_size)}, time.perf_counter()
        async for _ in _events(client, "/theory", {**question, "settings": chosen}):
            pass
        return time.perf_counter() - begin

    for number in range(4):
        # Each worker compiles what it needs.
        await move(1 + number / 10)
    spent = _cpu_seconds(lab)
    times = [await move(2 + number / 10) for number in range(FIRST_MOVES)]
    return statistics.median(times), (_cpu_seconds(lab) - spent) / FIRST_MOVES


async def _until_warm(lab: Lab) -> None:
    """Every worker has compiled what it compiles ahead."""
    members = [member for crew in lab.desk.crews.values() for member in crew.pool.members]
    while any(member.worker is None or member.ahead or member.doing for member in members):
        await asyncio.sleep(0.1)


async def _player(address: str, token: str, number: int) -> list[tuple[float, int]]:
    """Each line of one client; clients do not begin in one moment."""
    times, moves = [], itertools.count(1)
    async with _visitor(address, token) as client:
        (await client.get("/")).raise_for_status()
        await asyncio.sleep(PAUSE_SECONDS * number / CLIENTS)
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            times.append(await _theory(client, number, next(moves)))
            await asyncio.sleep(PAUSE_SECONDS)
    return times


async def _simulator(lab: Lab, number: int, shares: dict[int, float], seen: list[float]) -> None:
    """One of the simulations; the first to end notes how far the others are."""
    question = {**_question(), "seeds": SEEDS, "seed": 1000 * number}
    shares[number], ended = 0.0, False
    async with _visitor(f"http://127.0.0.1:{lab.port}", lab.keys.token) as client:
        async for name, data in _events(client, "/simulate", question):
            if name == "dots":
                shares[number] = data["share"]
            ended = name == "end"
    assert ended
    if not seen:
        seen.append(min(shares.values()))


async def _leaver(lab: Lab) -> float:
    """Seconds from a client's leaving to a worker that is free."""
    async with _visitor(f"http://127.0.0.1:{lab.port}", lab.keys.token) as client:
        question = {**_question(ridge="0.2", samples="4d", dim="400"), "seeds": 60}
        async for name, _ in _events(client, "/simulate", question):
            if name == "dots":
                break
    begin = time.perf_counter()
    while lab.desk.simulators.backlog.counts()["running"]:
        await asyncio.sleep(0.01)
    return time.perf_counter() - begin


def _cpu_seconds(lab: Lab) -> float:
    """CPU of the server and its workers so far; a machine that is busy does not change it much."""
    members = [member for crew in lab.desk.crews.values() for member in crew.pool.members]
    ticks = 0
    for member in members:
        if member.worker is not None:
            with open(f"/proc/{member.worker.process.pid}/stat") as file:
                ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")
