"""One row per learner: its settings, its simulation, its prediction, its metrics, its papers."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from giantstep.asking import metrics
from giantstep.asking.metrics import Metric
from giantstep.bibliography import cite
from giantstep.errors import GiantstepError, error_in_one_line, unknown_name_error

if TYPE_CHECKING:
    from giantstep.answer import Question
    from giantstep.numerics.cost import Cost

_SOURCE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Learner:
    """A learner and its theory. Code is named as ``module:attribute`` and imported when used.

    A learner of giantstep names no code: its settings are in settings/NAME.py, its simulation and
    its cost in learners/NAME.py, or learners/NAME/simulation.py where that is a folder, and its
    prediction in theory/NAME.py or theory/NAME/prediction.py.

    ``metrics`` lists exactly what simulation, theory and their comparison return, over all
    settings. ``optimisable`` are the settings for which ``predict`` finds the best value;
    ``along``: the one of which it takes all values of a curve, to solve them together.
    ``has_target`` is False where the settings say what is to be learned, ``has_tree`` True where
    the target is a tree. ``package`` is where the modules live; a learner of one's own names its
    own package, and may name its metrics by texts. ``cost`` estimates what a simulation needs;
    without it, nothing is refused or announced. A theory whose work grows with its settings has a
    function ``cost`` beside ``predict``. ``smallest`` are options, written as those of
    ``example``, that take a moment to run and together give every simulated metric: generic tests
    run them.
    """

    name: str
    summary: str
    metrics: tuple[Metric, ...]
    theory: str
    references: tuple[str, ...]
    example: str
    settings: str = ""
    simulate: str = ""
    predict: str = ""
    cost: str = ""
    optimisable: tuple[str, ...] = ()
    along: str = ""
    has_target: bool = True
    has_tree: bool = False
    package: str = "giantstep"
    smallest: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", tuple(Metric.of(given) for given in self.metrics))
        if self.package == "giantstep":
            for role, code in _code_by_name(self.name).items():
                object.__setattr__(self, role, code)

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of each metric, after the seed."""
        return {metric.name: metric.axes for metric in self.metrics}

    @property
    def whens(self) -> dict[str, str]:
        """For which settings each metric is there."""
        return {metric.name: metric.when for metric in self.metrics}

    def check_metrics(self, given: str | None) -> None:
        """Refuse metrics that this learner has at no settings."""
        from giantstep.answer.selection import wanted_metrics

        for want in wanted_metrics(given):
            if want.metric not in self.axes:
                raise GiantstepError(
                    f"metric = {want.metric!r} is unknown: use {', '.join(self.axes)}"
                )

    def options(self, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Settings and problem that options of the command line give.

        >>> learner_to_ask("kernel").options("--target 'He2(h1)' --dim 300 --seeds 2")
        ({'dim': '300'}, {'target': 'He2(h1)'})
        """
        from giantstep.language.problem import FIELDS

        words = shlex.split(text)
        given: dict[str, Any] = {}
        for word, after in zip(words, [*words[1:], "--"], strict=True):
            if word.startswith("--"):
                given[word[2:].replace("-", "_")] = True if after.startswith("--") else after
        problem = {name: given[name] for name in FIELDS if name in given}
        # An example may say how many seeds to run, which is no setting.
        known = {f.name for f in fields(cast("Any", self.load("settings"))) if f.metadata}
        return {name: given[name] for name in given if name in known}, problem

    def cost_of(self, verb: str, question: Question) -> Cost | None:
        """What ``simulate``, once, or ``predict`` needs for a question; None where no one knows."""
        estimate: Callable[..., Cost] | None
        if verb == "predict":
            self.load(verb)
            estimate = getattr(sys.modules[self.module(verb)], "cost", None)
        else:
            estimate = self.load("cost") if self.cost else None
        return estimate(question.problem, question.settings) if estimate else None

    def module(self, role: str) -> str:
        """The full name of the module behind a role: settings, simulate, predict or cost."""
        return f"{self.package}.{getattr(self, role).split(':')[0]}"

    def load(self, role: str) -> Callable[..., Any]:
        """The object behind a role: settings, simulate, predict or cost."""
        attribute = getattr(self, role).split(":")[1]
        try:
            return getattr(importlib.import_module(self.module(role)), attribute)
        except (Exception, SystemExit) as error:
            if self in LEARNERS:
                raise
            raise GiantstepError(
                f"learner {self.name!r}: its {role}, {attribute} in {self.module(role)}, cannot be "
                f"imported ({error_in_one_line(error)}): mend it, or put its folder into PYTHONPATH"
            ) from error


def _code_by_name(name: str) -> dict[str, str]:
    """Where the code of one of giantstep's learners is.

    >>> _code_by_name("online-sgd")["predict"]
    'theory.online_sgd.prediction:predict'
    """
    file = name.replace("-", "_")
    rooms = {"learners": "simulation", "theory": "prediction"}
    module = {
        room: f"{room}.{file}.{inside}" if (_SOURCE / room / file).is_dir() else f"{room}.{file}"
        for room, inside in rooms.items()
    }
    return {
        "settings": f"settings.{file}:{name.title().replace('-', '')}",
        "simulate": f"{module['learners']}:simulate",
        "cost": f"{module['learners']}:cost",
        "predict": f"{module['theory']}:predict",
    }


LEARNERS = (
    Learner(
        name="giant-step",
        summary="a two-layer network takes a few giant gradient steps, then fits its readout",
        metrics=metrics.GIANT_STEP,
        theory="subspaces learned at every step; overlaps; the risk after each step",
        references=cite("2305.18270", "2402.04980"),
        example="--target 'h1 + h1*h2' --dim 1000 --samples 8d --steps 3 --step-size 2",
        optimisable=("step_size", "ridge"),
        along="ridge",
        smallest=(
            "--target 'h1 + h1*h2' --dim 30 --width 4 --ridge 0.1",
            "--target 'sin(h1)' --dim 40 --width 1d --samples 4d --readout-samples 2d "
            "--test-samples 50 --ridge 0.1 --activation tanh --readout ones",
            "--target 'h1 + h1*h2' --dim 40 --width 3 --readout 1,-1,0.5 --steps 2 "
            "--activation tanh",
            "--target 'h1 + h1*h2' --dim 40 --width 3 --readout 1,-1,0.5 --steps 2 "
            "--activation tanh --batches reused --samples 2d",
            "--target h1 --dim 20 --width 4 --recipe spiked-network",
        ),
    ),
    Learner(
        name="online-sgd",
        summary="a first layer that sees every sample once, plain, in batches or looking ahead",
        metrics=metrics.ONLINE_SGD,
        theory="equations of motion of overlaps and norms; exit times; signs that go wrong",
        references=cite("saad-solla-1995", "2003.10409", "2405.15459"),
        example="--target 'He3(h1)' --activation tanh --loss correlation --step-size 0.2 "
        "--lookahead 0.5 --start-overlap 0 --times 2,5,10 --dim 1000",
        smallest=(
            "--target h1 --dim 20 --times 1,2 --until 0.9 --test-samples 20",
            "--target 'h1 + h1*h2' --dim 20 --times 1,2 --width 2 --test-samples 20",
        ),
    ),
    Learner(
        name="mean-field",
        summary="a wide network that follows the gradient of the population risk",
        metrics=metrics.MEAN_FIELD,
        theory="particles in the flow of the risk, in the limit of a wide network",
        references=cite("1804.06561"),
        example="--target 'tanh(2*h1)' --activation erf2 --times 1,2,5 --width 20 --dim 200",
        smallest=("--target h1 --dim 20 --times 0.2,0.4 --width 4",),
    ),
    Learner(
        name="repetition",
        summary="the first moves of a neuron that looks ahead along a sample before it moves",
        metrics=metrics.REPETITION,
        theory="force, growth and noise of small overlaps; the best step and how fast one learns",
        references=cite("2405.15459", "2402.03220"),
        example="--target 'He4(h1)' --activation relu --lookahead 0.3 --readout -1 --dim 1000",
        smallest=("--target 'He3(h1)' --dim 20 --samples 50",),
    ),
    Learner(
        name="spiked-random-features",
        summary="ridge regression on the features that one giant step leaves, spike and bulk given",
        metrics=metrics.SPIKED_RANDOM_FEATURES,
        theory="the exact risk, with corrections of order 1/d; bounds on the best risk",
        references=cite("2402.04980", "2410.18938"),
        example="--target 'sin(h1)' --activation tanh --spike 1.2 --alignment 0.85 "
        "--readout-samples 3d --width 2d --ridge 0.1 --dim 100",
        smallest=("--target 'sin(h1)' --dim 20",),
    ),
    Learner(
        name="random-features",
        summary="a two-layer network whose first layer stays random; only its readout is fitted",
        metrics=metrics.RANDOM_FEATURES,
        theory="proportional and polynomial regimes; square, logistic and hinge loss; finite d",
        references=cite("1908.05355", "2002.09339", "2405.15699"),
        example="--target 'h1 + He2(h1)' --samples 2d --width 1d --ridge 0.1 --dim 200",
        optimisable=("ridge",),
        smallest=(
            "--target h1 --dim 20 --test-samples 20",
            "--target 'sign(h1 + h2)' --dim 20 --test-samples 20 --loss logistic",
        ),
    ),
    Learner(
        name="kernel",
        summary="ridge regression with an inner-product kernel",
        metrics=metrics.KERNEL,
        theory="proportional and polynomial regimes; spiked inputs; finite d",
        references=cite("2101.10588", "ba-2023"),
        example="--target 'He2(h1)' --kernel exp --samples 1d --dim 300 --inputs spiked:d^0.5",
        optimisable=("ridge",),
        smallest=("--target h1 --dim 20 --test-samples 20",),
    ),
    Learner(
        name="gradient-flow",
        summary="one neuron follows its gradient under a spike, in one of three geometries",
        metrics=metrics.GRADIENT_FLOW,
        theory="the population flow of the overlaps, exactly, and its hitting times",
        references=cite("2309.03843"),
        example="--target 'He3(h1)/sqrt(6)' --activation 'relu(z-1)' --dim 20 --samples 500d "
        "--inputs spiked:strength=8,alignment=0.5 --geometry normalised --start-spike-overlap 0.3 "
        "--start-target-overlap 0.4 --times 0.3 --step 0.02 --starts 2",
        smallest=(
            "--target h1 --dim 20 --times 1 --until 0.1 --starts 1 --test-samples 20",
            "--target 'He2(h1)' --inputs spiked:strength=8,alignment=0.5 --geometry normalised "
            "--start-spike-overlap 0.3 --start-target-overlap 0.4 --dim 20 --times 0.3 "
            "--step 0.02 --starts 2 --test-samples 20",
        ),
    ),
    Learner(
        name="pca",
        summary="the top principal component of the inputs, and a polynomial fitted along it",
        metrics=metrics.PCA,
        theory="eigenvalue and overlap beyond the threshold of the spike; the test error",
        references=cite("baik-2005", "ba-2023"),
        example="--target 'He2(h1)/sqrt(2)' --samples 4d --dim 200 --inputs spiked:2",
        smallest=("--target h1 --dim 20 --test-samples 20 --inputs spiked:3",),
    ),
    Learner(
        name="langevin",
        summary="noisy gradient descent of many tanh particles on a parity (mean field)",
        metrics=metrics.LANGEVIN,
        theory="rates in d, and the stationary law without a loss; no exact curve",
        references=cite("suzuki-2023", "2306.07221"),
        example="--target 'sign(h1*h2)' --inputs hypercube:boost=d^0.5 --dim 20 --samples 100",
        smallest=(
            "--target 'sign(h1*h2)' --inputs hypercube --dim 10 --steps 3 --width 5 "
            "--test-samples 20",
        ),
    ),
    Learner(
        name="amp",
        summary="Bayes-optimal message passing, which knows the target and seeks its directions",
        metrics=metrics.AMP,
        theory="state evolution, free entropy, and with --phases the transitions in n/d",
        references=cite("2405.15480", "1806.05451", "1708.03395"),
        example="--target 'sign(h1*h2)' --samples 6d --dim 300",
        smallest=(
            "--target 'sign(h1)' --dim 20 --iterations 2",
            "--target 'sign(h1*h2)' --dim 20 --iterations 2",
        ),
    ),
    Learner(
        name="spectral",
        summary="top eigenvectors of a matrix weighted by a function of the labels",
        metrics=metrics.SPECTRAL,
        theory="outlier, edge of the bulk and overlap; with --phases the transition in n/d",
        references=cite("1702.06435", "1708.05932", "2502.02545"),
        example="--target 'abs(h1)' --samples 1.5d --dim 500",
        smallest=(
            "--target 'abs(h1)' --dim 20",
            "--target 'sign(h1*h2)' --dim 20 --samples 6d",
        ),
    ),
    Learner(
        name="three-layer",
        summary="networks of two and three layers on a tree, trained layer by layer or by AdamW",
        metrics=metrics.THREE_LAYER,
        theory="the span of the leaves in second moments, samples for it, floors, rates in d",
        references=cite("2502.13961"),
        example="--target tree-he2 --dim 36 --samples 1296",
        has_tree=True,
        smallest=(
            "--target tree-he2 --dim 25 --samples 400 --width 20 --second-width 10 "
            "--test-samples 20",
        ),
    ),
    Learner(
        name="power-law",
        summary="ridge regression on features whose spectrum and target decay as powers",
        metrics=metrics.POWER_LAW,
        theory="deterministic equivalent; the map of exponents",
        references=cite("2405.15699"),
        example="--capacity 1.5 --source 0.4 --samples 200 --width 100 --ridge 0.01 --noise 0.01",
        optimisable=("ridge",),
        has_target=False,
        smallest=("--samples 20 --width 10",),
    ),
)


def learner_to_ask(name: str) -> Learner:
    """The row of that learner."""
    for row in LEARNERS:
        if row.name == name:
            return row
    raise unknown_name_error("learner", name, (row.name for row in LEARNERS))
