"""What is promised of memory, threads, messages and files of every command."""

from __future__ import annotations

import dataclasses
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

import giantstep as gs
from giantstep.asking.studies.study import Study
from giantstep.asking.workers.environment import _forget_old, threads_here
from giantstep.errors import MOST_SAID, SettingsError
from giantstep.settings.mean_field import MeanField


@pytest.mark.parametrize(
    "ask",
    [
        lambda: gs.simulate(gs.GiantStep(dim=1000, width=10**9), "h1"),
        lambda: gs.simulate(MeanField(dim=1000, width=10**9), "h1"),
        lambda: gs.spectrum(gs.GiantStep(dim=10**6, width="1d", samples="4d"), "h1"),
    ],
    ids=["giant-step", "mean-field", "spectrum"],
)
def test_what_does_not_fit_is_refused_before_memory_is_taken(ask: Callable[[], object]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(SettingsError, match="lower --"):
            ask()
        assert tracemalloc.get_traced_memory()[1] < 300 * 2**20
    finally:
        tracemalloc.stop()


def test_cells_of_other_threads_are_other_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(name="s", learner="giant-step", problem="h1", settings={"dim": 20})
    one = study.blocks()[0]
    keys = {dataclasses.replace(one, threads=count).keys for count in (1, 2, 4)}
    assert len(keys) == 3
    assert one.keys in keys
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    assert threads_here() == 1
    monkeypatch.setattr("giantstep.asking.workers.environment.cores", lambda: 7)
    monkeypatch.delenv("XLA_FLAGS")
    assert threads_here() == 7


def test_a_message_is_never_too_long() -> None:
    assert len(str(SettingsError("x" * 5000))) == MOST_SAID
    assert str(SettingsError("short")) == "short"


def test_compiled_programs_are_kept_up_to_a_size(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / str(number)).write_bytes(bytes(100))
        os.utime(tmp_path / str(number), (number, number))
    _forget_old(tmp_path, 1000)
    assert len(list(tmp_path.iterdir())) == 10
    _forget_old(tmp_path, 900)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["6", "7", "8", "9"]
