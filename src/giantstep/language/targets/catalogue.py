"""Named targets: the examples that the literature keeps returning to, with what each one shows.

A name stands wherever an expression does; none of them is a valid expression itself.
"""

from __future__ import annotations

import functools
from typing import NamedTuple


class Entry(NamedTuple):
    """A named target."""

    name: str
    expression: str
    shows: str


_ENTRIES = (
    # Giant steps and staircases: Dandi et al. 2023, arXiv:2305.18270.
    Entry(
        "ex1",
        "h1 + He2(h1) + h2 - He2(h2)",
        "one giant step learns h1+h2, the next one h1-h2: a staircase of leap 1",
    ),
    Entry(
        "ex2",
        "h1 + He2(h1) + h2 + He2(h2)",
        "equal links: h1+h2 is learned in one step, h1-h2 never at n = O(d) without repetition",
    ),
    Entry(
        "ex3a",
        "h1 + h1*h2 + h1*h3",
        "after h1 only h2+h3 is learned: the target has three directions but dimension two",
    ),
    Entry(
        "ex3b",
        "h1 + h1*h2 + He3(h1)*h3",
        "links h1 and He3(h1) are independent: the second step learns both h2 and h3",
    ),
    Entry(
        "ex-floors",
        "h1 + He2(h2) + He2(h1)*h2 + He4(h1)*He2(h2)*h3 + He2(h2)*He2(h3)",
        "what the second layer can fit depends on the directions learned and on min(n, p)",
    ),
    Entry(
        "staircase-three",
        "h1 + He3(h1)*h2 + He3(h2)*h3",
        "three stairs of leap 1, one giant step each; message passing takes them all at once",
    ),
    Entry(
        "staircase-even",
        "h1 + He2(h1)*h2",
        "the second stair has an even link: relu without biases cannot climb it",
    ),
    Entry("staircase-two", "h1 + h1*h2", "the shortest staircase: h1 first, then h2"),
    # Grand staircases: Troiani et al. 2024, arXiv:2405.15480.
    Entry(
        "standard-staircase",
        "h1**2 + sign(h1*h2*h3)",
        "h1 beyond n/d = 0.575, then h2 and h3 beyond pi^2/4, with and without repetition",
    ),
    Entry(
        "standard-staircase-centred",
        "He2(h1) + sign(h1*h2*h3)",
        "the same with a centred first stair: leaps 2 and 2",
    ),
    Entry(
        "grand-staircase",
        "He4(h1) + sign(h1*h2*h3)",
        "easy for label transformations (leap 2), of leap 3 for one-pass gradient descent",
    ),
    Entry(
        "standard-staircase-weighted",
        "He2(h1) + 5*sign(h1*h2*h3)",
        "the standard staircase with a heavier parity, as gradient descent needs it",
    ),
    Entry(
        "grand-staircase-weighted",
        "He4(h1) + 5*sign(h1*h2*h3)",
        "the grand staircase with a heavier parity, as extragradient steps need it",
    ),
    # Parities and products.
    Entry("parity-two", "sign(h1*h2)", "easy: learned beyond n/d = pi^2/4"),
    Entry("parity-three", "sign(h1*h2*h3)", "hard: no linear number of samples is enough"),
    Entry("parity-four", "sign(h1*h2*h3*h4)", "harder still: leap 4 and generative exponent 4"),
    Entry(
        "product-two", "h1*h2", "a continuous label helps: threshold 0.594, parity-two has 2.467"
    ),
    Entry(
        "product-three",
        "h1*h2*h3",
        "leap 3 for gradient descent, yet easy for message passing: its label is continuous",
    ),
    Entry("circle", "h1**2 + h2**2", "rotation invariant: both directions at n/d = 1"),
    # One direction: Ben Arous et al. 2021, Damian et al. 2024, arXiv:2403.05529.
    Entry("linear", "h1", "information exponent 1: the easiest target there is"),
    Entry("absolute-value", "|h1|", "phase retrieval: nothing is learned below n/d = 1/2"),
    Entry("square", "h1**2", "phase retrieval with squared labels: the same threshold 1/2"),
    Entry("noisy-sign", "sign(h1 + 0.5*z1)", "a perceptron whose noise sits inside the sign"),
    Entry("sign", "sign(h1)", "a noiseless perceptron: information exponent 1, a discrete label"),
    Entry("relu-target", "relu(h1)", "information exponent 1, with energy at every even degree"),
    Entry("sine", "sin(h1)", "odd: a linear part and 6 % of the energy beyond degree 2"),
    Entry("tanh-target", "tanh(h1)", "a smooth odd link, close to linear"),
    Entry("hermite-two", "He2(h1)", "information exponent 2: d log d samples for one-pass descent"),
    Entry(
        "hermite-three",
        "He3(h1)",
        "information exponent 3, generative exponent 1: reusing the batch pays",
    ),
    Entry("hermite-four", "He4(h1)", "information exponent 4, easy beyond n/d = 0.645"),
    Entry("hermite-five", "He5(h1)", "information exponent 5, generative exponent 1"),
    Entry(
        "generative-four",
        "h1**2*exp(-h1**2)",
        "generative exponent 4: hard even for transformed labels",
    ),
    Entry("window", "(|h1| < 1)", "a binary even label: threshold 0.925"),
    Entry("cosine", "cos(h1)", "even and almost injective in |h1|: threshold 0.509"),
    Entry("cosine-three", "cos(3*h1)", "a fast oscillation hides the direction: threshold 50"),
    Entry("linear-and-quadratic", "h1 + He2(h1)/sqrt(2)", "equal energy at degrees 1 and 2"),
    Entry("linear-and-cubic", "h1 + He3(h1)", "information exponent 1, but cubic energy beyond it"),
    Entry("quadratic-and-cubic", "He2(h1) + He3(h1)", "information exponent 2, degree 3"),
    Entry(
        "three-degrees",
        "(h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(3)",
        "a third of the energy at degrees 1, 2 and 3: the plateaus of kernel regression",
    ),
    # Several directions.
    Entry("linear-and-absolute", "h1 + |h2|", "trivial in h1, easy in h2"),
    Entry(
        "quadratic-mixture",
        "h1 + 2*h2 + h1*h2 + 3*h2**2",
        "a quadratic form with a linear part: both directions at n = O(d)",
    ),
    Entry(
        "tanh-committee",
        "tanh(h1) + tanh(h2)",
        "a committee of equal neurons: h1+h2 with leap 1, h1-h2 with leap 2",
    ),
    Entry(
        "relu-committee",
        "relu(h1) + relu(h2)",
        "the same staircase as any committee of equal neurons",
    ),
    Entry(
        "noisy-committee",
        "(relu(h1) + relu(h2) + relu(h3))/3 + 0.5*z1",
        "the mean of three equal neurons with additive noise in the label",
    ),
    Entry("relu-product", "relu(h1)*relu(h2)", "energy at every degree: the floors fall slowly"),
    Entry("sine-and-absolute", "sin(h1) + |h2|", "an odd and an even direction side by side"),
)

#: Trees: Dandi et al. 2025, arXiv:2502.13961. The variance of the argument of tanh is 6 in each.
_TREES = (
    Entry(
        "tree-he2",
        "tree(tanh(2.449*u), He2(z)/sqrt(2), branches=1, leaves=d^0.5)",
        "a third layer helps, and the first one needs the fewest samples",
    ),
    Entry(
        "tree-authors",
        "tree(tanh(3*u), He2(z)/2 + He3(z)/6, branches=1, leaves=d^0.5)",
        "the example of the authors' program: a cubic part in each leaf",
    ),
    Entry(
        "tree-slides",
        "tree(tanh(0.866*u), He2(z) + He3(z), branches=1, leaves=d^0.5)",
        "mostly cubic: the first layer needs five times the samples of tree-he2",
    ),
)


def catalogue() -> tuple[Entry, ...]:
    """Every named target that is an expression, in the order of the catalogue.

    >>> catalogue()[0].name, catalogue()[0].expression
    ('ex1', 'h1 + He2(h1) + h2 - He2(h2)')
    """
    return _ENTRIES


@functools.cache
def expressions() -> dict[str, str]:
    """From name to expression."""
    return {entry.name: entry.expression for entry in _ENTRIES}


def tree_catalogue() -> tuple[Entry, ...]:
    """Every named tree.

    >>> [entry.name for entry in tree_catalogue()]
    ['tree-he2', 'tree-authors', 'tree-slides']
    """
    return _TREES


@functools.cache
def trees() -> dict[str, str]:
    """From the name of a tree to its text."""
    return {entry.name: entry.expression for entry in _TREES}
