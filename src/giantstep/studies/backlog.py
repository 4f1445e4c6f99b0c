"""The blocks that wait for a worker: who gets which, and how many at a time.

None of this changes a result: a block is computed in one call whoever takes it.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice

from giantstep.studies.cells import Block

#: Blocks go to a worker together up to about this much work, so that sending costs little.
BATCH_SECONDS = 0.2
MOST_TOGETHER = 64
#: Short blocks are claimed ahead, up to about this much work and this many.
CLAIM_SECONDS = 1.0
MOST_CLAIMED = 64
#: A block whose worker died is tried this often in all, then given up.
MOST_ATTEMPTS = 3


class Backlog:
    """Waiting blocks, grouped by shape: a worker stays with a shape it has compiled already.

    ``claim`` returns those of some blocks that this runner may compute; the others are put
    aside, in ``elsewhere``.
    """

    def __init__(
        self,
        blocks: Iterable[Block],
        workers: int,
        claim: Callable[[Sequence[Block]], list[Block]] | None = None,
    ) -> None:
        self.workers = workers
        self.elsewhere: list[Block] = []
        self._claim = claim
        self._claimed: set[Block] = set()
        self._typical_seconds = math.inf
        self._waiting: dict[str, deque[Block]] = {}
        for block in blocks:
            self._waiting.setdefault(block.shape, deque()).append(block)
        self.left = sum(map(len, self._waiting.values()))
        self._attempts: Counter[Block] = Counter()
        self._seconds: dict[str, float] = {}
        self._busy: Counter[str] = Counter()
        self._stopped = False
        self._lock = threading.Lock()

    def take(self, previous: str | None = None) -> list[Block]:
        """The next blocks for a worker that last worked on ``previous``; none when it may rest."""
        with self._lock:
            while self._waiting and not self._stopped:
                shape = self._choose(previous)
                batch = list(islice(self._waiting[shape], self._worth(shape)))
                if self._are_claimed(batch):
                    self._remove(batch)
                    self._busy[shape] += 1
                    return batch
            return []

    def release(self, batch: list[Block]) -> None:
        """A batch that was taken is over."""
        with self._lock:
            self._busy[batch[0].shape] -= 1

    def time(self, block: Block, seconds: float) -> None:
        """Learn how long blocks of this shape take; the slow first one, which compiles, fades."""
        if math.isnan(seconds):
            return
        with self._lock:
            typical = min(self._typical_seconds, 2 * seconds)
            self._typical_seconds = 0.5 * (typical + seconds)
            before = self._seconds.get(block.shape, seconds)
            self._seconds[block.shape] = min(seconds, 0.5 * (before + seconds))

    def put_back(self, blocks: Iterable[Block]) -> None:
        """These were taken but never begun."""
        with self._lock:
            for block in reversed(list(blocks)):
                self._waiting.setdefault(block.shape, deque()).appendleft(block)
                self.left += 1

    def readmit(self, blocks: Iterable[Block]) -> None:
        """These were another runner's, who has given them up."""
        self.put_back(blocks)
        self._claimed.clear()

    def may_retry(self, block: Block) -> bool:
        """Put back a block whose worker died, unless that has happened too often."""
        self._attempts[block] += 1
        if self._attempts[block] >= MOST_ATTEMPTS:
            return False
        self.put_back([block])
        return True

    def stop(self) -> None:
        """Hand out nothing more."""
        self._stopped = True

    def _are_claimed(self, batch: Sequence[Block]) -> bool:
        """Whether all of the batch may be computed here; what may not is put aside."""
        if self._claim is None or self._claimed.issuperset(batch):
            return True
        wanted = [block for block in (*batch, *self._due_soon()) if block not in self._claimed]
        wanted = list(dict.fromkeys(wanted))
        self._claimed.update(self._claim(wanted))
        lost = [block for block in wanted if block not in self._claimed]
        self._remove(lost)
        self.elsewhere += lost
        return not set(lost).intersection(batch)

    def _due_soon(self) -> Iterable[Block]:
        """Blocks worth claiming along with others: a claim costs as much as a short block."""
        ahead = min(int(CLAIM_SECONDS / max(self._typical_seconds, 1e-6)), MOST_CLAIMED)
        return islice(chain.from_iterable(self._waiting.values()), ahead)

    def _remove(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            waiting = self._waiting[block.shape]
            # They stand at the front, or close to it.
            waiting.remove(block)
            self.left -= 1
            if not waiting:
                del self._waiting[block.shape]

    def _choose(self, previous: str | None) -> str:
        if previous in self._waiting:
            return previous
        for shape in self._waiting:
            if not self._busy[shape]:
                return shape
        return max(self._waiting, key=lambda shape: len(self._waiting[shape]))

    def _worth(self, shape: str) -> int:
        """How many blocks of this shape are worth sending together."""
        if shape not in self._seconds:
            return 1
        short = int(BATCH_SECONDS / max(self._seconds[shape], 1e-6))
        # Towards the end smaller batches keep every worker busy.
        fair = self.left // (2 * max(self.workers, 1))
        return max(1, min(short, MOST_TOGETHER, fair))
