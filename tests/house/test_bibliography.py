"""Every paper is cited as the bibliography cites it, wherever it is cited."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import giantstep
from giantstep.bibliography import PAPERS

ROOT = Path(giantstep.__file__).parent
NUMBER = re.compile(r"\b\d{4}\.\d{5}\b")
SOURCES = [p for p in sorted(ROOT.rglob("*.py")) if p.name != "bibliography.py"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_papers_are_cited_in_one_spelling(path: Path) -> None:
    text = re.sub(r'"\s*\n\s*"', "", path.read_text())
    # Commands and calls name a paper by its number alone.
    calls = r"(cite|example|figures_of|reproduction)\([^)]*\)"
    text = " ".join(re.sub(calls, "", text).split())
    for found in NUMBER.finditer(text):
        key = found.group()
        assert key in PAPERS, f"{key} is not in the bibliography"
        before = text[: found.end()]
        assert before.endswith(PAPERS[key].short), (
            f"{before[-60:]!r} should read {PAPERS[key].short!r}"
        )


def test_bibtex_names_authors_title_and_number() -> None:
    entry = PAPERS["2305.18270"].bibtex
    assert entry.startswith("@article{dandi2023")
    assert "Ludovic Stephan" in entry
    assert "eprint = {2305.18270}" in entry


def test_no_two_entries_have_one_citation_key() -> None:
    keys = [paper.bibtex.splitlines()[0] for paper in PAPERS.values()]
    assert len(set(keys)) == len(keys)
