"""Workers that die, clients that leave, clients that ask too much."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import threading
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

import httpx
import pytest
from laboratory.visits import RANDOM_FEATURES, events, read_events, visitor
from starlette.requests import Request

from giantstep.asking.workers.backlog import FAILED, Job
from giantstep.laboratory.cache import Cache
from giantstep.laboratory.crew import Crew, LabTask
from giantstep.laboratory.launch import Lab
from giantstep.laboratory.limits import LabLimits
from giantstep.laboratory.server import _streamed

#: About half a second a seed on any machine: a long job of short tasks.
LONG = {
    "learner": "random-features",
    "settings": {"dim": "300", "samples": "4d", "width": "4d"},
    "problem": {"target": "h1 + He2(h1)"},
    "seeds": 60,
}

#: Seconds after which nothing will come any more, however busy the machine is.
PATIENCE = 300


def until(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"not within {PATIENCE} s"
        time.sleep(0.02)


def is_quiet(lab: Lab) -> bool:
    """Whether no simulation waits or runs."""
    return not any(lab.desk.simulators.backlog.counts().values())


def test_a_worker_that_is_killed_is_reported_and_replaced(lab: Lab, client: httpx.Client) -> None:
    member = lab.desk.simulators.pool.members[0]
    with client.stream("POST", "/simulate", json={**LONG, "seed": 1000}) as response:
        told = read_events(response)
        assert next(name for name, _ in told if name == "dots")
        os.kill(member.worker.process.pid, signal.SIGKILL)
        error = next(data for name, data in told if name == "error")
    assert "killed" in error["message"]
    told = events(client, "/simulate", {**RANDOM_FEATURES, "seeds": 1, "seed": 77})
    assert told[-1][0] == "end"


def test_a_client_that_leaves_frees_its_worker(
    lab: Lab, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long before its tasks are done; the benchmark of the lab measures how soon."""
    jobs: list[Job] = []
    backlog = lab.desk.simulators.backlog
    put = backlog.put
    monkeypatch.setattr(backlog, "put", lambda job: (jobs.append(job), put(job)))
    with client.stream("POST", "/simulate", json={**LONG, "seed": 2000}) as response:
        told = read_events(response)
        assert next(name for name, _ in told if name == "dots")
        [job] = jobs
        last = job.tasks[-1]
    until(lambda: is_quiet(lab))
    assert lab.desk.cache.get(last.label.key) is None
    assert job.cancelled_at is not None


def test_a_client_that_leaves_before_the_first_event_ends_its_work() -> None:
    """A spectrum has one answer, which may take a minute: whoever leaves must not hold a job."""
    ended = []

    async def endless(*_: Any) -> AsyncGenerator[Any, None]:
        try:
            yield await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def visit() -> int:
        parts = iter([{"type": "http.request", "body": b"{}"}, {"type": "http.disconnect"}])

        async def receive() -> dict[str, Any]:
            return next(parts)

        scope = {"type": "http", "headers": [], "state": {"client": "me"}}
        answer = _streamed(Request(scope, receive), LabLimits(), endless)
        return (await asyncio.wait_for(answer, PATIENCE)).status_code

    assert asyncio.run(visit()) == 499
    assert ended == [True]


def test_one_client_cannot_starve_another(lab: Lab, client: httpx.Client) -> None:
    """The greedy one asks for a hundred times as much, and first; both move on side by side."""
    begun = threading.Event()

    def greedy() -> None:
        with client.stream("POST", "/simulate", json={**LONG, "seed": 3000}) as response:
            for name, _ in read_events(response):
                begun.set()
                if name == "dots" and finished.is_set():
                    return

    finished = threading.Event()
    thread = threading.Thread(target=greedy)
    thread.start()
    assert begun.wait(PATIENCE)
    with visitor(lab) as modest:
        told = events(modest, "/simulate", {**RANDOM_FEATURES, "seeds": 2, "seed": 555})
        assert told[-1][0] == "end"
    finished.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_jobs_of_one_client_are_limited(lab: Lab, client: httpx.Client) -> None:
    most = lab.desk.limits.work.jobs_of_client
    with contextlib.ExitStack() as held:
        # The events are kept: whoever drops them leaves.
        streams = []
        for number in range(most):
            question = {**LONG, "seed": 4000 + 100 * number}
            response = held.enter_context(client.stream("POST", "/simulate", json=question))
            streams.append(read_events(response))
            assert next(streams[-1])[0] == "outline"
        until(lambda: sum(lab.desk.simulators.backlog.counts().values()) == most)
        refused = events(client, "/simulate", {**LONG, "seed": 9000})
        assert refused[-1][1]["kind"] == "busy"
        with visitor(lab) as other:
            told = events(other, "/simulate", {**RANDOM_FEATURES, "seeds": 1, "seed": 99})
            assert told[-1][0] == "end"
    until(lambda: is_quiet(lab))


def test_a_task_that_takes_too_long_or_too_much_is_stopped() -> None:
    usual = LabLimits()
    short = dataclasses.replace(usual, seconds={**usual.seconds, "simulate": 0.05})
    small = dataclasses.replace(usual, work=dataclasses.replace(usual.work, worker_bytes=1))
    for limits, error in ((short, "stopped after 0.05 seconds"), (small, "B of memory: take")):
        crew = Crew(1, limits, Cache())
        crew.pool.start()
        try:
            point = {**LONG, "settings": {"dim": 300, "samples": "4d", "width": "4d", "ridge": 0.1}}
            del point["seeds"]
            answers = _asked(crew, [LabTask("simulate", {"point": point, "seed": 0})])
            assert answers[-1].status == FAILED
            assert error in answers[-1].error
            if limits is short:
                assert _asked(crew, [LabTask("read", {"target": "h1"})])[-1].status == "done"
        finally:
            crew.pool.close()


def _asked(crew: Crew, wanted: list[LabTask]) -> list[Any]:
    async def ask() -> list[Any]:
        return [answer async for several in crew.ask("me", wanted) for _, answer in several]

    return asyncio.run(ask())
