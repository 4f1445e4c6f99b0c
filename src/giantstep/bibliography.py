"""The papers behind the results: one entry each, one way to cite it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from giantstep.errors import GiantstepError


@dataclass(frozen=True)
class Paper:
    """A paper; ``key`` is its arXiv number, or a word where it has none."""

    key: str
    authors: tuple[str, ...]
    year: int
    title: str
    venue: str = ""
    doi: str = ""

    @property
    def link(self) -> str:
        """Where to read it; empty where nobody wrote that down.

        >>> cited_paper("2305.18270").link
        'https://doi.org/10.48550/arXiv.2305.18270'
        """
        doi = f"10.48550/arXiv.{self.key}" if self.on_arxiv else self.doi
        return f"https://doi.org/{doi}" if doi else ""

    @property
    def short(self) -> str:
        """How the paper is cited in text and in results.

        >>> cited_paper("2405.15480").short, cited_paper("2101.10588").short
        ('Troiani et al. 2024, arXiv:2405.15480', 'Mei et al. 2021, arXiv:2101.10588')
        >>> cited_paper("saad-solla-1995").short
        'Saad, Solla 1995, Physical Review E 52'
        """
        names = [author.rpartition(" ")[2] for author in self.authors]
        who = f"{names[0]} et al." if len(names) > 2 else ", ".join(names)
        where = f"arXiv:{self.key}" if self.on_arxiv else self.venue
        return f"{who} {self.year}, {where}"

    @property
    def on_arxiv(self) -> bool:
        """Whether the key is an arXiv number."""
        return self.key.replace(".", "").isdigit()

    @property
    def bibtex(self) -> str:
        """The paper as a BibTeX entry."""
        name = self.authors[0].rpartition(" ")[2].lower().replace("-", "")
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",
            "year": str(self.year),
        }
        if self.on_arxiv:
            fields |= {"eprint": self.key, "archivePrefix": "arXiv"}
        else:
            fields["journal"] = self.venue
        inside = ",\n".join(f"  {field} = {{{value}}}" for field, value in fields.items())
        last = self.key[-5:] if self.on_arxiv else self.title.split()[0].lower()
        return f"@article{{{name}{self.year}{last},\n{inside}\n}}"


def _papers() -> dict[str, Paper]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {
        key: Paper(key, tuple(entry.pop("authors").split(", ")), **entry)
        for key, entry in tomllib.loads(text).items()
    }


#: Every paper that the project cites, by key; the entries are in bibliography.toml.
PAPERS = _papers()


def cited_paper(key: str) -> Paper:
    """The entry of that key."""
    if key not in PAPERS:
        raise GiantstepError(f"paper = {key!r} is not in the bibliography: {', '.join(PAPERS)}")
    return PAPERS[key]


def cite(*keys: str) -> tuple[str, ...]:
    """The papers of these keys, as results cite them.

    >>> cite("2305.18270", "2402.04980")
    ('Dandi et al. 2023, arXiv:2305.18270', 'Cui et al. 2024, arXiv:2402.04980')
    """
    return tuple(cited_paper(key).short for key in keys)


#: How to cite giantstep itself; CITATION.cff says the same.
GIANTSTEP = """@software{giantstep,
  author = {{The giantstep developers}},
  title = {{giantstep: how neural networks learn the few directions that matter}},
  year = {2026},
  version = {0.1.0}
}"""


def bibtex_entries(papers: Iterable[str]) -> str:
    """BibTeX entries of papers as results cite them, in that order.

    >>> print(bibtex_entries(["Saad, Solla 1995, Physical Review E 52"]).splitlines()[0])
    @article{saad1995on-line,
    """
    return "\n\n".join(entry.bibtex for entry in dict.fromkeys(map(_paper_of_reference, papers)))


def _paper_of_reference(reference: str) -> Paper:
    """The paper of a reference, which may go on: ", examples 1-3"."""
    for entry in PAPERS.values():
        if reference.startswith(entry.short):
            return entry
    raise GiantstepError(f"paper = {reference!r} is not in the bibliography")
