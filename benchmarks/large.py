"""``python -m benchmarks.large``: a streamed fit of a large table beside peers, one process each.

Every model reads the same memory map of float32 rows and is scored on rows of its own, against
labels without noise. Seconds are those of the processor, memory is the most that the process held
(the map counts as far as it was read). A kernel ridge regression with a row for every sample would
need n^2 numbers; Nystroem's 1000 landmarks stand for it. xRFM, where it is installed, takes one
setting, and leaves of 5000 rows: those of its default would need more than 24 GiB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

TEST_ROWS, NOISE = 5000, 0.1
LANDMARKS = 1000
XRFM_LEAF = 5000
MODELS = ["giantstep", "Ridge", "HGB", "Nystroem", *(["xRFM"] if find_spec("xrfm") else [])]


def draw(folder: Path, samples: int, dim: int, seed: int = 0) -> None:
    """Gaussian rows with labels h1 + h1 h2 of two random directions, and noise, as files."""
    generator = np.random.default_rng(seed)
    rows = samples + TEST_ROWS
    table = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (rows, dim))
    directions = np.linalg.qr(generator.standard_normal((dim, 2)))[0].astype(np.float32)
    clean = np.empty(rows)
    for start in range(0, rows, 4096):
        part = generator.standard_normal((min(4096, rows - start), dim), dtype=np.float32)
        table[start : start + len(part)] = part
        first, second = (part @ directions).T
        clean[start : start + len(part)] = first + first * second
    table.flush()
    clean /= clean.std()
    np.save(folder / "clean.npy", clean)
    np.save(folder / "y.npy", clean + np.sqrt(NOISE) * generator.standard_normal(rows))


def make(name: str) -> Any:
    """A model by name."""
    if name == "giantstep":
        from giantstep.estimators import GiantStepRegressor

        return GiantStepRegressor(streaming=True)
    if name == "HGB":
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(random_state=0)
    if name == "Nystroem":
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import RidgeCV
        from sklearn.pipeline import make_pipeline

        features = Nystroem(n_components=LANDMARKS, random_state=0)
        return make_pipeline(features, RidgeCV(np.logspace(-4, 2, 7)))
    if name == "Ridge":
        from sklearn.linear_model import Ridge

        return Ridge()
    from benchmarks.peers import XRFM_SETTINGS, peers

    return peers()[name](settings=XRFM_SETTINGS[1:2], leaf=XRFM_LEAF)


def fit_one(folder: Path, name: str) -> dict[str, float]:
    """Seconds, peak memory in GiB, and R^2 of one model, measured in this process."""
    table = np.load(folder / "X.npy", mmap_mode="r")
    labels, clean = np.load(folder / "y.npy"), np.load(folder / "clean.npy")
    model = make(name)
    begin, wall = time.process_time(), time.perf_counter()
    model.fit(table[:-TEST_ROWS], labels[:-TEST_ROWS])
    spent, waited = time.process_time() - begin, time.perf_counter() - wall
    errors = clean[-TEST_ROWS:] - model.predict(table[-TEST_ROWS:])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    score = 1 - float(np.mean(errors**2)) / float(np.var(clean[-TEST_ROWS:]))
    return {"cpu": spent, "wall": waited, "memory": memory, "r2": score}


def main() -> None:
    """Draw the table, and fit every model in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=1000)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--most-seconds", type=float, default=1200.0)
    parser.add_argument("--fit", type=Path, help="folder of a table that was drawn already")
    given = parser.parse_args()
    if given.fit is not None:
        print(json.dumps(fit_one(given.fit, given.models)))
        return
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder), given.samples, given.dim)
        print(f"n = {given.samples}, d = {given.dim}, {NOISE:g} of noise")
        print(f"{'model':<12}{'CPU s':>9}{'wall s':>9}{'GiB':>7}{'R2':>8}", flush=True)
        for name in given.models.split(","):
            words = [sys.executable, "-m", "benchmarks.large", "--fit", folder, "--models", name]
            try:
                found = subprocess.run(
                    words, check=True, timeout=given.most_seconds, capture_output=True, text=True
                )
            except subprocess.TimeoutExpired:
                print(f"{name:<12} not done after {given.most_seconds:g} s", flush=True)
                continue
            except subprocess.CalledProcessError as ended:
                print(f"{name:<12} ended with code {ended.returncode}", flush=True)
                continue
            row = json.loads(found.stdout.splitlines()[-1])
            numbers = f"{row['cpu']:9.1f}{row['wall']:9.1f}{row['memory']:7.2f}{row['r2']:8.3f}"
            print(f"{name:<12}{numbers}", flush=True)


if __name__ == "__main__":
    main()
