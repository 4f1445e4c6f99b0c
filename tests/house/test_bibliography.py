"""Every paper is cited as the bibliography cites it, wherever it is cited."""

from __future__ import annotations

import re
from collections.abc import Iterator

from house.rooms import ROOT, sources

from giantstep.bibliography import PAPERS

NUMBER = re.compile(r"\b\d{4}\.\d{5}\b")
#: Commands and calls name a paper by its number alone.
CALLS = re.compile(
    r"(cite|example|figures_of|number_of|arxiv_number|paper|reproduction)\([^)]*\)"
    r"|reproduce_command, \"[^\"]*\""
)


def misspelled(text: str) -> Iterator[str]:
    """What is wrong with the citations of a text."""
    text = re.sub(r'"\s*\n\s*"', "", text)
    text = " ".join(CALLS.sub("", text).split())
    for found in NUMBER.finditer(text):
        key, before = found.group(), text[: found.end()]
        if key not in PAPERS:
            yield f"{key} is not in the bibliography"
        elif not before.endswith(PAPERS[key].short):
            yield f"{before[-60:]!r} should read {PAPERS[key].short!r}"


def test_papers_are_cited_in_one_spelling() -> None:
    files = [path for path in sources() if path.name != "bibliography.py"]
    wrong = {str(path.relative_to(ROOT)): list(misspelled(path.read_text())) for path in files}
    assert not {name: said for name, said in wrong.items() if said}


def test_another_spelling_is_seen() -> None:
    right = PAPERS["2305.18270"].short
    assert not list(misspelled(f"As in {right} and in cite('2305.18270')."))
    assert list(misspelled("As in Dandi 2305.18270."))
    assert list(misspelled("As in 1111.11111."))


def test_bibtex_names_authors_title_and_number() -> None:
    entry = PAPERS["2305.18270"].bibtex
    assert entry.startswith("@article{dandi2023")
    assert "Ludovic Stephan" in entry
    assert "eprint = {2305.18270}" in entry


def test_no_two_entries_have_one_citation_key() -> None:
    keys = [paper.bibtex.splitlines()[0] for paper in PAPERS.values()]
    assert len(set(keys)) == len(keys)
