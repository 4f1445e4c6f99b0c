"""One row per learner: its settings, its simulation, its prediction, its metrics, its papers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from giantstep.errors import GiantstepError, in_one_line, shown
from giantstep.twins import metrics
from giantstep.twins.metrics import Metric


@dataclass(frozen=True)
class Twin:
    """A learner and its theory. Code is named as ``module:attribute`` and imported when used.

    ``metrics`` lists exactly what simulation, theory and their comparison return, over all
    settings. ``optimisable`` are the settings for which ``predict`` finds the best value.
    ``has_target`` is False where the settings say what is to be learned, ``has_tree`` True where
    the target is a tree. ``package`` is where the modules live; a learner of one's own names its
    own package, and may name its metrics by texts. ``cost`` estimates what a simulation needs;
    without it, nothing is refused or announced.
    """

    name: str
    summary: str
    settings: str
    simulate: str
    predict: str
    metrics: tuple[Metric, ...]
    theory: str
    references: tuple[str, ...]
    example: str
    optimisable: tuple[str, ...] = ()
    has_target: bool = True
    has_tree: bool = False
    package: str = "giantstep"
    cost: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", tuple(Metric.of(given) for given in self.metrics))

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of each metric, after the seed."""
        return {metric.name: metric.axes for metric in self.metrics}

    def module(self, role: str) -> str:
        """The full name of the module behind a role: settings, simulate, predict or cost."""
        return f"{self.package}.{getattr(self, role).split(':')[0]}"

    def load(self, role: str) -> Callable[..., Any]:
        """The object behind a role: settings, simulate, predict or cost."""
        attribute = getattr(self, role).split(":")[1]
        try:
            return getattr(importlib.import_module(self.module(role)), attribute)
        except (Exception, SystemExit) as error:
            if self in TWINS:
                raise
            raise GiantstepError(
                f"learner {self.name!r}: its {role}, {attribute} in {self.module(role)}, cannot be "
                f"imported ({in_one_line(error)}): mend it, or put its folder into PYTHONPATH"
            ) from error


TWINS = (
    Twin(
        name="giant-step",
        summary="a two-layer network takes a few giant gradient steps, then fits its readout",
        settings="settings.giant_step:GiantStep",
        simulate="learners.giant_step.simulation:simulate",
        predict="theory.giant_step.prediction:predict",
        cost="learners.giant_step.cost:cost",
        metrics=metrics.GIANT_STEP,
        theory="subspaces learned at every step; overlaps; the risk after one step",
        references=("Dandi et al. 2023, arXiv:2305.18270", "Cui et al. 2024, arXiv:2402.04980"),
        example="--target 'h1 + h1*h2' --dim 1000 --samples 8d --steps 3 --step-size 2",
        optimisable=("step_size", "ridge"),
    ),
    Twin(
        name="online-sgd",
        summary="a first layer that sees every sample once, plain, in batches or looking ahead",
        settings="settings.online_sgd:OnlineSgd",
        simulate="learners.dynamics.simulation:simulate",
        predict="theory.dynamics.prediction:predict",
        cost="learners.dynamics.cost:cost",
        metrics=metrics.ONLINE_SGD,
        theory="equations of motion of overlaps and norms; exit times; signs that go wrong",
        references=(
            "Saad, Solla 1995, Physical Review E 52",
            "Ben-Arous et al. 2020, arXiv:2003.10409",
            "Arnaboldi et al. 2024, arXiv:2405.15459",
        ),
        example="--target 'He3(h1)' --activation tanh --loss correlation --step-size 0.2 "
        "--lookahead 0.5 --start-overlap 0 --times 2,5,10 --dim 1000",
    ),
    Twin(
        name="mean-field",
        summary="a wide network that follows the gradient of the population risk",
        settings="settings.mean_field:MeanField",
        simulate="learners.dynamics.mean_field:simulate",
        predict="theory.dynamics.mean_field:predict",
        cost="learners.dynamics.mean_field:cost",
        metrics=metrics.MEAN_FIELD,
        theory="particles in the flow of the risk, in the limit of a wide network",
        references=("Mei et al. 2018, arXiv:1804.06561",),
        example="--target 'tanh(2*h1)' --activation erf2 --times 1,2,5 --width 20 --dim 200",
    ),
    Twin(
        name="repetition",
        summary="the first moves of a neuron that looks ahead along a sample before it moves",
        settings="settings.repetition:Repetition",
        simulate="learners.dynamics.first_moves:simulate",
        predict="theory.dynamics.repetition:predict",
        cost="learners.dynamics.first_moves:cost",
        metrics=metrics.REPETITION,
        theory="force, growth and noise of small overlaps; the best step and how fast one learns",
        references=(
            "Arnaboldi et al. 2024, arXiv:2405.15459",
            "Dandi et al. 2024, arXiv:2402.03220",
        ),
        example="--target 'He4(h1)' --activation relu --lookahead 0.3 --readout -1 --dim 1000",
    ),
    Twin(
        name="spiked-random-features",
        summary="ridge regression on the features that one giant step leaves, spike and bulk given",
        settings="settings.spiked_random_features:SpikedRandomFeatures",
        simulate="learners.ridge.spiked_random_features:simulate",
        predict="theory.spiked_features.prediction:predict",
        cost="learners.ridge.cost:spiked_random_features",
        metrics=metrics.SPIKED_RANDOM_FEATURES,
        theory="the exact risk, with corrections of order 1/d; bounds on the best risk",
        references=("Cui et al. 2024, arXiv:2402.04980", "Dandi et al. 2024, arXiv:2410.18938"),
        example="--target 'sin(h1)' --activation tanh --spike 1.2 --alignment 0.85 "
        "--readout-samples 3d --width 2d --ridge 0.1 --dim 100",
    ),
    Twin(
        name="random-features",
        summary="a two-layer network whose first layer stays random; only its readout is fitted",
        settings="settings.random_features:RandomFeatures",
        simulate="learners.ridge.random_features:simulate",
        predict="theory.ridge.random_features:predict",
        cost="learners.ridge.cost:random_features",
        metrics=metrics.RANDOM_FEATURES,
        theory="proportional and polynomial regimes; square, logistic and hinge loss; finite d",
        references=(
            "Mei, Montanari 2019, arXiv:1908.05355",
            "Gerace et al. 2020, arXiv:2002.09339",
            "Defilippis et al. 2024, arXiv:2405.15699",
        ),
        example="--target 'h1 + He2(h1)' --samples 2d --width 1d --ridge 0.1 --dim 200",
        optimisable=("ridge",),
    ),
    Twin(
        name="kernel",
        summary="ridge regression with an inner-product kernel",
        settings="settings.kernel:KernelRidge",
        simulate="learners.ridge.kernel:simulate",
        predict="theory.ridge.kernel:predict",
        cost="learners.ridge.cost:kernel",
        metrics=metrics.KERNEL,
        theory="proportional and polynomial regimes; spiked inputs; finite d",
        references=(
            "Mei et al. 2021, arXiv:2101.10588",
            "Ba et al. 2023, Advances in Neural Information Processing Systems 36",
        ),
        example="--target 'He2(h1)' --kernel exp --samples 1d --dim 300 --inputs spiked:d^0.5",
        optimisable=("ridge",),
    ),
    Twin(
        name="gradient-flow",
        summary="one neuron follows its gradient under a spike, in one of three geometries",
        settings="settings.gradient_flow:GradientFlow",
        simulate="learners.structured.gradient_flow:simulate",
        predict="theory.structured.gradient_flow:predict",
        cost="learners.structured.cost:gradient_flow",
        metrics=metrics.GRADIENT_FLOW,
        theory="the population flow of the overlaps, exactly, and its hitting times",
        references=("Mousavi-Hosseini et al. 2023, arXiv:2309.03843",),
        example="--target 'He3(h1)/sqrt(6)' --activation 'relu(z-1)' --dim 20 --samples 500d "
        "--inputs spiked:strength=8,alignment=0.5 --geometry normalised --start-spike-overlap 0.3 "
        "--start-target-overlap 0.4 --times 0.3 --step 0.02 --starts 2",
    ),
    Twin(
        name="pca",
        summary="the top principal component of the inputs, and a polynomial fitted along it",
        settings="settings.pca:Pca",
        simulate="learners.structured.pca:simulate",
        predict="theory.structured.principal_component:predict",
        cost="learners.structured.cost:pca",
        metrics=metrics.PCA,
        theory="eigenvalue and overlap beyond the threshold of the spike; the test error",
        references=(
            "Baik et al. 2005, Annals of Probability 33",
            "Ba et al. 2023, Advances in Neural Information Processing Systems 36",
        ),
        example="--target 'He2(h1)/sqrt(2)' --samples 4d --dim 200 --inputs spiked:2",
    ),
    Twin(
        name="langevin",
        summary="noisy gradient descent of many tanh particles on a parity (mean field)",
        settings="settings.langevin:Langevin",
        simulate="learners.structured.langevin:simulate",
        predict="theory.structured.langevin:predict",
        cost="learners.structured.cost:langevin",
        metrics=metrics.LANGEVIN,
        theory="rates in d, and the stationary law without a loss; no exact curve",
        references=(
            "Suzuki et al. 2023, Advances in Neural Information Processing Systems 36",
            "Suzuki et al. 2023, arXiv:2306.07221",
        ),
        example="--target 'sign(h1*h2)' --inputs hypercube:boost=d^0.5 --dim 20 --samples 100",
    ),
    Twin(
        name="amp",
        summary="Bayes-optimal message passing, which knows the target and seeks its directions",
        settings="settings.amp:Amp",
        simulate="learners.message_passing.amp:simulate",
        predict="theory.message_passing.amp:predict",
        cost="learners.message_passing.cost:amp",
        metrics=metrics.AMP,
        theory="state evolution, free entropy, and with --phases the transitions in n/d",
        references=(
            "Troiani et al. 2024, arXiv:2405.15480",
            "Aubin et al. 2018, arXiv:1806.05451",
            "Barbier et al. 2017, arXiv:1708.03395",
        ),
        example="--target 'sign(h1*h2)' --samples 6d --dim 300",
    ),
    Twin(
        name="spectral",
        summary="top eigenvectors of a matrix weighted by a function of the labels",
        settings="settings.spectral:Spectral",
        simulate="learners.message_passing.spectral:simulate",
        predict="theory.message_passing.spectral:predict",
        cost="learners.message_passing.cost:spectral",
        metrics=metrics.SPECTRAL,
        theory="outlier, edge of the bulk and overlap; with --phases the transition in n/d",
        references=(
            "Lu, Li 2017, arXiv:1702.06435",
            "Mondelli, Montanari 2017, arXiv:1708.05932",
            "Defilippis et al. 2025, arXiv:2502.02545",
        ),
        example="--target 'abs(h1)' --samples 1.5d --dim 500",
    ),
    Twin(
        name="three-layer",
        summary="networks of two and three layers on a tree, trained layer by layer or by AdamW",
        settings="settings.three_layer:ThreeLayer",
        simulate="learners.depth.simulation:simulate",
        predict="theory.depth.prediction:predict",
        cost="learners.depth.cost:cost",
        metrics=metrics.THREE_LAYER,
        theory="the span of the leaves in second moments, samples for it, floors, rates in d",
        references=("Dandi et al. 2025, arXiv:2502.13961",),
        example="--target tree-he2 --dim 36 --samples 1296",
        has_tree=True,
    ),
    Twin(
        name="power-law",
        summary="ridge regression on features whose spectrum and target decay as powers",
        settings="settings.power_law:PowerLaw",
        simulate="learners.ridge.power_law:simulate",
        predict="theory.ridge.power_law:predict",
        cost="learners.ridge.cost:power_law",
        metrics=metrics.POWER_LAW,
        theory="deterministic equivalent; the map of exponents",
        references=("Defilippis et al. 2024, arXiv:2405.15699",),
        example="--capacity 1.5 --source 0.4 --samples 200 --width 100 --ridge 0.01 --noise 0.01",
        optimisable=("ridge",),
        has_target=False,
    ),
)


def twin(name: str) -> Twin:
    """The row of that learner."""
    for row in TWINS:
        if row.name == name:
            return row
    known = ", ".join(row.name for row in TWINS)
    raise GiantstepError(f"learner = {shown(name)} is unknown: use one of {known}")
