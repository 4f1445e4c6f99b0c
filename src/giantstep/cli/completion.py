"""Words that a shell completes: figures, papers, targets, activations."""

from __future__ import annotations

from collections.abc import Iterable


def figures(incomplete: str) -> list[str]:
    """Figures of the gallery."""
    from giantstep.gallery.figures import NAMES

    return _beginning(incomplete, NAMES)


def papers(incomplete: str) -> list[str]:
    """arXiv numbers of the papers that the gallery is matched with."""
    from giantstep.gallery.papers import papers

    return _beginning(incomplete, papers())


def targets(incomplete: str) -> list[str]:
    """Named targets and trees."""
    from giantstep.language.targets.catalogue import catalogue, tree_catalogue

    return _beginning(incomplete, (entry.name for entry in (*catalogue(), *tree_catalogue())))


def activations(incomplete: str) -> list[str]:
    """Names of activations."""
    from giantstep.language.activations.activation import NAMED

    return _beginning(incomplete, NAMED)


def sources(incomplete: str) -> list[str]:
    """What can be cited."""
    from giantstep.asking.table import LEARNERS
    from giantstep.bibliography import PAPERS

    known = (row.name for row in LEARNERS)
    return [*_beginning(incomplete, (*known, *PAPERS)), *figures(incomplete)]


def _beginning(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
