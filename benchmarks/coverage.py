"""Do errors bound what a user sees? Random settings of every learner with a prediction, simulated.

``python -m benchmarks.coverage COUNT [FIRST]`` asks COUNT random questions at two dimensions each
and prints, for each learner, how many numbers lie within 3 combined errors of the prediction, and
how many stated errors exceed half of the value. Questions that are refused, take too long or
measure nothing are counted too.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from giantstep.asking.stated_errors import NOTHING
from giantstep.asking.table import learner_to_ask
from giantstep.asking.verbs import compare
from giantstep.errors import GiantstepError
from giantstep.language.problem import Problem

#: The two dimensions of each question, and the runs at each.
DIMS, SEEDS = (60, 120), 6
#: Those of a tree, whose dimension is a square.
TREES = (25, 49)
#: What all questions are drawn from.
SEED = 2026
#: Seconds of processor time that a question may take.
SECONDS = 20.0
#: Two-sided chance of a deviation beyond 3 standard errors of a Gaussian.
RARE = 0.0027
#: A simulated standard error above this share of the value tests nothing.
USEFUL = 0.2

Settings = dict[str, Any]


class Number(NamedTuple):
    """One number that was measured and predicted."""

    learner: str
    question: int
    size: int
    metric: str
    value: float
    error: float
    mean: float
    sem: float

    @property
    def covered(self) -> bool:
        """Whether the mean lies within 3 combined errors, Student's quantile for that of runs."""
        from scipy.stats import t

        reach = np.hypot(t.isf(RARE / 2, SEEDS - 1) * self.sem, 3 * self.error)
        return bool(abs(self.mean - self.value) <= reach + 1e-9 * abs(self.value))

    @property
    def vague(self) -> bool:
        """Whether the stated error exceeds half of the value."""
        return self.error > max(abs(self.value) / 2, NOTHING)


def _target(rng: np.random.Generator, rank: int = 2) -> str:
    c = rng.uniform(0.3, 1.5)
    one = [
        "sin({c:.2f}*h1)",
        "h1 + {c:.2f}*He2(h1)/2",
        "tanh({c:.2f}*h1)",
        "relu(h1) - {c:.2f}*h1/2",
        "abs(h1) + {c:.2f}*h1",
        "h1 + {c:.2f}*He3(h1)/3",
    ]
    two = ["h1 + {c:.2f}*h1*h2", "h1 + {c:.2f}*h2", "tanh(h1 + {c:.2f}*h2)", "h1 + {c:.2f}*abs(h2)"]
    choices = one + (two if rank > 1 else [])
    return str(rng.choice(choices)).format(c=c)


def _size(rng: np.random.Generator, low: float, high: float) -> str:
    return f"{rng.uniform(low, high):.2f}d"


def _log(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{np.exp(rng.uniform(np.log(low), np.log(high))):.3g}")


def _smooth(rng: np.random.Generator) -> str:
    return str(rng.choice(["tanh", "relu", "erf2", "gelu", "softplus", "z*sigmoid(z)"]))


def _narrow(rng: np.random.Generator) -> Settings:
    given: Settings = {
        "activation": _smooth(rng),
        "samples": _size(rng, 1, 8),
        "step_size": _log(rng, 0.5, 3),
        "width": int(rng.choice([2, 4, 8, 16])),
        "steps": int(rng.integers(1, 4)),
        "readout": str(rng.choice(["symmetric-sign", "ones", "normal"])),
        "loss": str(rng.choice(["square", "correlation"])),
    }
    if rng.random() < 0.3:
        given |= {"biases": "normal"}
    return given


def _even(given: Settings) -> Settings:
    """The same with a width that pairs of neurons can have at both dimensions."""
    if given["readout"] != "symmetric-sign":
        return given
    return given | {"width": f"{float(given['width'][:-1]):.1f}d"}


def _wide(rng: np.random.Generator) -> Settings:
    return _even(_narrow(rng) | {"width": _size(rng, 0.5, 2), "steps": 1, "biases": "none"})


def _reused(rng: np.random.Generator) -> Settings:
    return {
        "activation": str(rng.choice(["tanh", "erf2", "softplus"])),
        "samples": _size(rng, 1, 6),
        "step_size": _log(rng, 0.5, 2),
        "width": int(rng.choice([1, 2])),
        "steps": 2,
        "batches": "reused",
        "readout": "ones",
    }


def _risk(rng: np.random.Generator) -> Settings:
    given = {
        "activation": _smooth(rng),
        "samples": _size(rng, 2, 10),
        "readout_samples": _size(rng, 1, 4),
        "step_size": _log(rng, 0.5, 2),
        "width": _size(rng, 0.5, 2),
        "readout": str(rng.choice(["ones", "symmetric-sign"])),
        "ridge": _log(rng, 0.03, 3),
        "test_samples": 2000,
    }
    return _even(given)


def _later_risk(rng: np.random.Generator) -> Settings:
    return _risk(rng) | {"steps": 2, "readout": "ones"}


def _few_neurons(rng: np.random.Generator) -> Settings:
    return _risk(rng) | {"width": int(rng.choice([1, 2, 4, 6]))}


def _online(rng: np.random.Generator) -> Settings:
    return {
        "activation": _smooth(rng),
        "step_size": _log(rng, 0.2, 1),
        "times": "1,3",
        "start_overlap": "0.3",
        "loss": str(rng.choice(["square", "correlation"])),
    }


def _mean_field(rng: np.random.Generator) -> Settings:
    return {"activation": _smooth(rng), "times": "0.5,1.5", "width": 10, "samples": "30d"}


def _repetition(rng: np.random.Generator) -> Settings:
    return {"activation": _smooth(rng), "lookahead": rng.uniform(-0.5, 0.5)}


def _features(rng: np.random.Generator) -> Settings:
    return {
        "activation": str(rng.choice(["tanh", "relu", "erf2", "sign", "gelu"])),
        "samples": _size(rng, 0.5, 4),
        "width": _size(rng, 0.5, 3),
        "ridge": _log(rng, 0.03, 3),
        "test_samples": 1000,
    }


def _classes(rng: np.random.Generator) -> Settings:
    return _features(rng) | {"loss": str(rng.choice(["logistic", "hinge"])), "activation": "erf2"}


def _kernel(rng: np.random.Generator) -> Settings:
    return {
        "samples": _size(rng, 0.5, 4),
        "ridge": _log(rng, 0.03, 3),
        "kernel": str(rng.choice(["exp", "1 + t + t**2"])),
        "test_samples": 1000,
    }


def _spiked(rng: np.random.Generator) -> Settings:
    given = _features(rng) | {"activation": str(rng.choice(["tanh", "relu", "erf2"]))}
    del given["test_samples"]
    given["readout_samples"] = given.pop("samples")
    return given | {"spike": rng.uniform(0.5, 2), "alignment": rng.uniform(0.3, 0.95)}


def _pca(rng: np.random.Generator) -> Settings:
    return {"samples": _size(rng, 1, 6), "degree": int(rng.integers(1, 7)), "test_samples": 1000}


def _spectral(rng: np.random.Generator) -> Settings:
    return {"samples": _size(rng, 2, 6)}


def _amp(rng: np.random.Generator) -> Settings:
    return {"samples": _size(rng, 1, 4)}


def _flow(rng: np.random.Generator) -> Settings:
    return {
        "activation": "relu(z-1)",
        "samples": "100d",
        "geometry": str(rng.choice(["normalised", "spherical"])),
        "start_spike_overlap": rng.uniform(0.2, 0.4),
        "start_target_overlap": rng.uniform(0.2, 0.4),
        "times": 0.3,
        "step": 0.02,
        "starts": 2,
        "test_samples": 500,
    }


def _power_law(rng: np.random.Generator) -> Settings:
    return {
        "capacity": rng.uniform(1.2, 2.5),
        "source": rng.uniform(0.2, 1.2),
        "width": int(rng.integers(30, 200)),
        "ridge": _log(rng, 0.003, 0.3),
    }


def _tree(rng: np.random.Generator) -> Settings:
    return {"samples": f"d^{rng.uniform(1.6, 2):.2f}", "test_samples": 500}


#: For each learner, and each of its theories: settings, the rank of its target or the target
#: itself, and its inputs.
SPIKED = "spiked:strength=3,alignment=0.8"
QUESTIONS: dict[str, tuple[Callable[[np.random.Generator], Settings], int | str, str]] = {
    "giant-step": (_narrow, 2, "gaussian"),
    "giant-step, wide": (_wide, 2, "gaussian"),
    "giant-step, reused": (_reused, 1, "gaussian"),
    "giant-step, risk": (_risk, 2, "gaussian"),
    "giant-step, later risk": (_later_risk, 1, "gaussian"),
    "giant-step, few neurons": (_few_neurons, 1, "gaussian"),
    "online-sgd": (_online, 1, "gaussian"),
    "mean-field": (_mean_field, 1, "gaussian"),
    "repetition": (_repetition, 1, "gaussian"),
    "random-features": (_features, 2, "gaussian"),
    "random-features, classes": (_classes, "sign(h1)", "gaussian"),
    "spiked-random-features": (_spiked, 1, "gaussian"),
    "kernel": (_kernel, 2, "gaussian"),
    "kernel, spiked": (_kernel, 1, "spiked:d^0.5"),
    "pca": (_pca, 1, SPIKED),
    "spectral": (_spectral, 1, "gaussian"),
    "amp": (_amp, 1, "gaussian"),
    "gradient-flow": (_flow, 1, "spiked:strength=8,alignment=0.5"),
    "three-layer": (_tree, "tree-he2", "gaussian"),
    "power-law": (_power_law, 0, "gaussian"),
}


def question(number: int) -> tuple[str, list[Any], Problem | str | None]:
    """The random question of that number: its kind, its settings at two sizes, its problem."""
    rng = np.random.default_rng([SEED, number])
    name = list(QUESTIONS)[number % len(QUESTIONS)]
    draw, target, inputs = QUESTIONS[name]
    row = learner_to_ask(name.split(",")[0])
    given = draw(rng)
    kind = row.load("settings")
    if not row.has_target:
        return name, [kind(samples=size, **given) for size in DIMS], None
    if row.has_tree:
        return name, [kind(dim=dim, **given) for dim in TREES], str(target)
    sizes = [kind(dim=dim, **given) for dim in DIMS]
    if isinstance(target, str):
        return name, sizes, Problem(target, inputs=inputs)
    noise = float(rng.choice([0.0, 0.1, 0.5]))
    return name, sizes, Problem(_target(rng, target), noise=noise, inputs=inputs)


def numbers(number: int) -> Iterator[Number]:
    """Every number of that question that is measured and predicted, at both sizes."""
    name, sizes, problem = question(number)
    for size, settings in enumerate(sizes):
        laid = compare(settings, problem, seeds=SEEDS, seed=1000 * number)
        for line in laid.compared():
            scale = max(abs(line.theory), line.error)
            if np.isfinite(line.mean) and line.sem <= USEFUL * max(scale, 1e-300):
                yield Number(
                    name, number, size, line.metric, line.theory, line.error, line.mean, line.sem
                )


class _TooSlow(BaseException):
    """More than `SECONDS` of processor time; no handler of errors catches it."""


def answered(number: int) -> tuple[str, list[Number]]:
    """What became of a question: its numbers, or why there are none."""

    def stop(*_: object) -> None:
        raise _TooSlow

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        found = list(numbers(number))
    except _TooSlow:
        return "too slow", []
    except GiantstepError as error:
        return f"refused: {str(error)[:150]}", []
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "answered" if found else "blind", found


def main() -> int:
    """Ask, and print one line for each learner."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found: list[Number] = []
    fates: list[tuple[str, str]] = []
    for number in range(first, first + count):
        began = time.process_time()
        fate, own = answered(number)
        found += own
        fates.append((list(QUESTIONS)[number % len(QUESTIONS)], fate.split(":")[0]))
        if not own:
            print(f"# {number} {fates[-1][0]}: {fate}", flush=True)
        for each in own:
            if not each.covered or each.vague:
                print(f"# {'vague' if each.vague else 'off'} {each}", flush=True)
        spent = time.process_time() - began
        print(f"# {number} {len(own)} {spent:.1f} s", file=sys.stderr, flush=True)
    columns = ("answered", "blind", "refused", "too slow")
    print(f"| learner | {' | '.join(columns)} | numbers | within 3 errors | errors above half |")
    print("|---" * 8 + "|")
    for name in [*QUESTIONS, "all"]:
        counts = [
            sum(fate == (kind, word) or (name == "all" and fate[1] == word) for fate in fates)
            for kind, word in ((name, word) for word in columns)
        ]
        own = [each for each in found if name in (each.learner, "all")]
        inside = np.mean([each.covered for each in own] or [1])
        vague = np.mean([each.vague for each in own] or [0])
        cells = " | ".join(map(str, counts))
        print(f"| {name} | {cells} | {len(own)} | {inside:.1%} | {vague:.1%} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
