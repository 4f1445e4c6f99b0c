"""Who gets which blocks: shapes stay with their workers, batches grow, retries end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from giantstep.studies.backlog import MOST_ATTEMPTS, MOST_TOGETHER, Backlog
from giantstep.studies.cells import Block
from giantstep.studies.study import Study


@pytest.fixture
def blocks(sums: Callable[..., Study]) -> list[Block]:
    """Three shapes, told apart by their dimension; the centre shares a compiled program."""
    axes = {"centre": "1:2:100", "dim": [10, 20, 30]}
    return sums(axes=axes, verbs="simulate", seeds=2, together=2).blocks()


def test_a_worker_stays_with_its_shape_and_others_take_another(blocks: list[Block]) -> None:
    backlog = Backlog(blocks, workers=2)
    (first,), (second,) = backlog.take(), backlog.take()
    assert first.shape != second.shape
    backlog.release([first])
    assert backlog.take(first.shape)[0].shape == first.shape


def test_every_block_is_handed_out_once(blocks: list[Block]) -> None:
    backlog = Backlog(blocks, workers=2)
    taken: list[Block] = []
    while batch := backlog.take():
        taken += batch
        for block in batch:
            backlog.time(block, 0.001)
        backlog.release(batch)
    assert len(taken) == len(set(taken)) == len(blocks) == 300
    assert backlog.left == 0


def test_short_blocks_go_together_and_long_ones_alone(blocks: list[Block]) -> None:
    backlog = Backlog(blocks, workers=2)
    (first,) = backlog.take()
    backlog.time(first, 10.0)
    assert len(backlog.take(first.shape)) == 1
    backlog.time(first, 0.0001)
    assert len(backlog.take(first.shape)) == MOST_TOGETHER
    backlog.time(first, float("nan"))
    last = Backlog(blocks[:6], workers=2)
    last.time(last.take()[0], 0.0001)
    assert len(last.take(first.shape)) == 1


def test_a_block_that_kills_its_workers_is_given_up(blocks: list[Block]) -> None:
    backlog = Backlog(blocks[:1], workers=1)
    for attempt in range(1, MOST_ATTEMPTS + 1):
        (block,) = backlog.take()
        assert backlog.may_retry(block) is (attempt < MOST_ATTEMPTS)
    assert backlog.take() == []


def test_what_was_never_begun_comes_first_again(blocks: list[Block]) -> None:
    backlog = Backlog(blocks, workers=1)
    (first,) = backlog.take()
    backlog.put_back([first])
    assert backlog.take(first.shape) == [first]
    backlog.stop()
    assert backlog.take() == []
    assert backlog.left == 299
