"""Who gets which tasks: shapes stay with their workers, batches grow, clients take turns."""

from __future__ import annotations

from collections import deque

import pytest

from giantstep.asking.workers.backlog import (
    FAILED,
    MOST_TOGETHER,
    Backlog,
    Batch,
    Busy,
    Job,
    Limits,
    Task,
)

STUDIES = Limits()
TURNS = Limits(stays=False, jobs=3, jobs_of_client=2, job_seconds=10.0)


def filled(workers: int, *sizes: int, limits: Limits = STUDIES) -> Backlog:
    """A backlog with a job of each size, of clients a, b, c, ..."""
    backlog = Backlog(limits, workers)
    for number, size in enumerate(sizes):
        backlog.put(Job("abc"[number], deque(Task(i) for i in range(size)), lambda told: None))
    return backlog


def taken(backlog: Backlog, previous: str = "") -> Batch:
    batch = backlog.take(previous, wait=False)
    assert batch is not None
    return batch


def test_a_worker_stays_with_its_client_and_others_take_another() -> None:
    backlog = filled(2, 100, 100, 100)
    first, second = taken(backlog), taken(backlog)
    assert first.job is not second.job
    backlog.release(first, [], 10.0)
    assert taken(backlog, first.job.client).job is first.job


def test_in_the_lab_clients_take_turns() -> None:
    backlog = filled(1, 5, 5, limits=TURNS)
    clients = []
    while (batch := backlog.take(clients[-1] if clients else "", wait=False)) is not None:
        clients.append(batch.job.client)
        backlog.release(batch, [], 0.5)
    assert clients == ["a", "b"] * 5


def test_every_task_is_handed_out_once() -> None:
    backlog = filled(2, 100, 100, 100)
    tasks: list[Task] = []
    while (batch := backlog.take(wait=False)) is not None:
        tasks += batch.tasks[:-1] if len(batch.tasks) > 1 else batch.tasks
        backlog.release(batch, batch.tasks[-1:] if len(batch.tasks) > 1 else [], 0.001)
    assert len(tasks) == len(set(tasks)) == 300
    assert backlog.left == 0
    assert backlog.counts() == {"waiting": 0, "running": 0}


def test_short_tasks_go_together_and_long_ones_alone() -> None:
    backlog = filled(2, 1000)
    for seconds, size in ((10.0, 1), (10.0, 1), (0.0001, 1), (0.0001, MOST_TOGETHER)):
        batch = taken(backlog)
        assert len(batch.tasks) == size
        backlog.release(batch, [], seconds * size)
    batch = taken(backlog)
    batch.job.alone = True
    backlog.release(batch, batch.tasks, 1.0)
    assert len(taken(backlog).tasks) == 1
    last = filled(2, 6)
    last.release(taken(last), [], 0.0001)
    assert len(taken(last).tasks) == 1


def test_what_was_never_begun_comes_first_again() -> None:
    backlog = filled(1, 300)
    first = taken(backlog)
    backlog.release(first, first.tasks, 0.0)
    assert taken(backlog).tasks == first.tasks
    backlog.stop()
    assert backlog.take(wait=False) is None
    assert backlog.left == 299


def test_what_is_not_admitted_is_not_handed_out() -> None:
    backlog, told = Backlog(Limits(), 1), []
    tasks = [Task(i) for i in range(6)]
    odd = lambda some: [task for task in some if task.what % 2]  # noqa: E731
    backlog.put(Job("a", deque(tasks), told.append, odd))
    while (batch := backlog.take(wait=False)) is not None:
        told += batch.tasks
        backlog.release(batch, [], 1.0)
    assert told == [tasks[1], tasks[3], tasks[5], None]


def test_a_job_that_nobody_waits_for_is_over() -> None:
    backlog = filled(1, 10, limits=TURNS)
    batch = taken(backlog)
    batch.job.cancel()
    assert backlog.take(wait=False) is None
    assert backlog.counts() == {"waiting": 0, "running": 1}
    backlog.release(batch, batch.tasks, 1.0)
    assert backlog.counts() == {"waiting": 0, "running": 0}


def test_limits_of_jobs_and_clients() -> None:
    told: list[object] = []
    backlog = filled(1, 9, 9, limits=TURNS)
    backlog.put(Job("a", deque([Task(0)]), told.append))
    with pytest.raises(Busy, match="busy with 3 jobs"):
        backlog.put(Job("c", deque([Task(0)]), told.append))
    backlog = Backlog(TURNS, 1)
    backlog.put(Job("a", deque(Task(i) for i in range(3)), told.append))
    backlog.put(Job("a", deque([Task(0)]), told.append))
    with pytest.raises(Busy, match="has 2 jobs already"):
        backlog.put(Job("a", deque([Task(0)]), told.append))
    backlog.release(taken(backlog), [], 11.0)
    ((_, outcome),) = told[0]
    assert (outcome.status, outcome.error) == (FAILED, "stopped after 10 seconds of work")
    assert told[1] is None
