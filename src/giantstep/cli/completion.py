"""Words that a shell completes: figures, papers, targets, activations."""

from __future__ import annotations

from collections.abc import Iterable


def complete_figure(incomplete: str) -> list[str]:
    """Figures of the gallery."""
    from giantstep.gallery.figures import NAMES

    return _completed(incomplete, NAMES)


def complete_paper(incomplete: str) -> list[str]:
    """arXiv numbers of the papers that the gallery is matched with."""
    from giantstep.gallery.papers import reproduced_papers

    return _completed(incomplete, reproduced_papers())


def complete_target(incomplete: str) -> list[str]:
    """Named targets and trees."""
    from giantstep.language.targets.catalogue import catalogue, tree_catalogue

    return _completed(incomplete, (entry.name for entry in (*catalogue(), *tree_catalogue())))


def complete_activation(incomplete: str) -> list[str]:
    """Names of activations."""
    from giantstep.language.activations.activation import NAMED

    return _completed(incomplete, NAMED)


def complete_source(incomplete: str) -> list[str]:
    """What can be cited."""
    from giantstep.asking.table import LEARNERS
    from giantstep.bibliography import PAPERS

    known = (row.name for row in LEARNERS)
    return [*_completed(incomplete, (*known, *PAPERS)), *complete_figure(incomplete)]


def _completed(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
