"""Papers whose results are drawn in the gallery: settings in our units, and what is not covered."""

from __future__ import annotations

from typing import NamedTuple

from giantstep.bibliography import paper
from giantstep.errors import GiantstepError
from giantstep.gallery.figures import NAMES, figure_named


class Reproduction(NamedTuple):
    """How a figure of the gallery stands to a paper.

    ``settings`` says how the paper's quantities read in ours; ``missing`` what a reader of the
    paper may look for and not find in the figure.
    """

    settings: tuple[str, ...]
    missing: tuple[str, ...]


_STEP_2023 = (
    "step size: our step_size = eta / p, network (1/p) sum a sigma, a = +-1, rows of norm 1"
)
_STEP_2024 = "step size: our step_size = eta / p, network p^-1/2 sum a sigma, a = u / sqrt p"
_STEP_N = "step size: our step_size = eta / sqrt N, readouts a ~ N(0, 1/N)"

#: By paper and figure of the gallery.
REPRODUCTIONS: dict[tuple[str, str], Reproduction] = {
    ("Dandi et al. 2023, arXiv:2305.18270", "staircase"): Reproduction(
        (_STEP_2023, "examples 1, 2, 3a and 3b: our targets ex1, ex2, ex3a, ex3b"),
        ("networks of real vectors: simulations are exact in law instead",),
    ),
    ("Dandi et al. 2023, arXiv:2305.18270", "neuron-clouds"): Reproduction(
        (_STEP_2023, "one network, its neurons in the plane of h1 and h2"), ("other targets",)
    ),
    ("Dandi et al. 2023, arXiv:2305.18270", "phase-transition"): Reproduction(
        (_STEP_2023, "batch n = d^kappa; eta of order p d^((leap - 1)/2)"),
        ("leaps above 3",),
    ),
    ("Dandi et al. 2023, arXiv:2305.18270", "small-batch"): Reproduction(
        (_STEP_2023, "n below d^leap"), ("several steps, where it is a conjecture",)
    ),
    ("Dandi et al. 2023, arXiv:2305.18270", "floors"): Reproduction(
        (_STEP_2023, "readout: our ridge = n lambda"), ("widths that grow with d, on the right",)
    ),
    ("Dandi et al. 2024, arXiv:2402.03220", "reused-batch"): Reproduction(
        ("step size: our step_size = lr * n/d in the authors' code (a sum gradient)",),
        (
            "relu, which learns He3 too weakly to be seen: tanh instead",
            "more than two steps of theory",
        ),
    ),
    ("Cui et al. 2024, arXiv:2402.04980", "one-step-risk"): Reproduction(
        (_STEP_2024, "ridge: sum of squares + ridge |a|^2, as ours"),
        ("readouts of several values: see feature-spectrum",),
    ),
    ("Cui et al. 2024, arXiv:2402.04980", "one-step-batch"): Reproduction(
        (_STEP_2024,), ("other activations",)
    ),
    ("Cui et al. 2024, arXiv:2402.04980", "random-features-vs-giant-step"): Reproduction(
        (_STEP_2024, "ridge and step size at their best"), ("real data",)
    ),
    ("Dandi et al. 2024, arXiv:2410.18938", "risk-bounds"): Reproduction(
        (_STEP_2024, "spike 0.9, exactly along h1"), ("several spikes",)
    ),
    ("Moniri et al. 2023, arXiv:2310.07891", "feature-spikes"): Reproduction(
        (_STEP_N, "eta = n^alpha: our step_size = '1*n^alpha'"),
        ("train and test error over alpha: see settings-1-2",),
    ),
    ("Moniri et al. 2023, arXiv:2310.07891", "settings-1-2"): Reproduction(
        (_STEP_N, "ridge: our ridge = n lambda / p", "eta = n^alpha: our step_size = '1*n^alpha'"),
        ("dimensions above some hundreds, where the second stair would show",),
    ),
    ("Moniri et al. 2023, arXiv:2310.07891", "step-size"): Reproduction(
        (_STEP_N,), ("training error",)
    ),
    ("Ba et al. 2022, arXiv:2205.01445", "weight-spectrum"): Reproduction(
        (_STEP_N,), ("several steps",)
    ),
    ("Ba et al. 2022, arXiv:2205.01445", "step-size"): Reproduction(
        (_STEP_N,), ("kernel and linear ridge curves",)
    ),
    ("Troiani et al. 2024, arXiv:2405.15480", "amp-parity"): Reproduction(
        ("alpha = n/d, our samples",), ("parities of more directions",)
    ),
    ("Troiani et al. 2024, arXiv:2405.15480", "amp-staircase"): Reproduction(
        ("alpha = n/d, our samples",), ()
    ),
    ("Troiani et al. 2024, arXiv:2405.15480", "classification"): Reproduction((), ()),
    ("Defilippis et al. 2024, arXiv:2405.15699", "scaling-laws"): Reproduction(
        ("source r and capacity a as theirs; ridge: our ridge = lambda",), ("real data",)
    ),
    ("Dandi et al. 2025, arXiv:2502.13961", "depth-scenarios"): Reproduction(
        (
            "theirs is tanh(3 h) with Var h = 2/3: tree-authors; ours divides by the variance of y",
            "layers trained by Gauss-Newton steps: theirs is --scenario authors",
        ),
        ("several branches",),
    ),
    ("Defilippis et al. 2024, arXiv:2405.15699", "scaling-plane"): Reproduction(
        ("ridge: our ridge = n lambda with lambda = n^-l; p = n^q",), ("real data",)
    ),
    ("Dandi et al. 2024, arXiv:2410.18938", "growing-basis"): Reproduction(
        (_STEP_2024, "spikes of the neurons, exactly along h1"), ("a real gradient step",)
    ),
    ("Dandi et al. 2023, arXiv:2305.18270", "equivalence"): Reproduction(
        (_STEP_2023, "a = 1"), ("several steps",)
    ),
    ("Troiani et al. 2024, arXiv:2405.15480", "iterations"): Reproduction(
        ("alpha = n/d, our samples",), ("spectral starts",)
    ),
    ("Mei, Montanari 2019, arXiv:1908.05355", "double-descent"): Reproduction(
        ("ridge: sum of squares + ridge |a|^2, as ours",), ("purely nonlinear targets",)
    ),
    ("Ghorbani et al. 2019, arXiv:1904.12191", "polynomial-staircase"): Reproduction(
        ("n = d^kappa",), ("neural tangent kernels",)
    ),
}


def figures_of(arxiv: str) -> tuple[str, ...]:
    """The figures of the gallery that draw results of a paper, by its arXiv number.

    >>> figures_of("2402.03220")
    ('staircases', 'reused-batch')
    """
    found = tuple(
        name
        for name in NAMES
        if any(_number(reference) == arxiv for reference in figure_named(name).references)
    )
    if not found:
        numbers = sorted({_number(cited) for cited, _ in REPRODUCTIONS})
        raise GiantstepError(
            f"paper = {arxiv!r}: no figure of the gallery draws it; known: {', '.join(numbers)}"
        )
    return found


def reproduction(arxiv: str, name: str) -> Reproduction:
    """How that figure of the gallery stands to that paper.

    >>> reproduction("2402.04980", "one-step-batch").missing
    ('other activations',)
    """
    known = {figure: map_ for (cited, figure), map_ in REPRODUCTIONS.items() if arxiv in cited}
    if name not in known:
        figures_of(arxiv)
        there = ", ".join(known) or "none"
        raise GiantstepError(
            f"figure = {name!r}: the gallery has no map to {arxiv} for it; it has {there}"
        )
    return known[name]


def described(arxiv: str, name: str) -> list[str]:
    """The paper, its settings in ours, and what is not covered, a line each."""
    known = reproduction(arxiv, name)
    settings = [f"in our units: {line}" for line in known.settings]
    missing = [f"not covered: {line}" for line in known.missing]
    return [f"{paper(arxiv).short}, {paper(arxiv).title}", *settings, *missing]


def _number(reference: str) -> str:
    """The arXiv number in a reference; an empty text if there is none."""
    return reference.partition("arXiv:")[2].partition(",")[0].partition(" ")[0]
