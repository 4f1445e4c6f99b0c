"""Pages that are written from the package's tables hold everything that is in them."""

from __future__ import annotations

import html
import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pandas
import pytest

import giantstep
from giantstep.asking.table import LEARNERS
from giantstep.gallery.figures import NAMES
from giantstep.gallery.style import new_figure
from giantstep.language.targets.catalogue import catalogue
from giantstep.talks.claims import TALKS, talk

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def the_builder_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])


def builder(name: str) -> Any:
    return importlib.import_module(f"site_builder.{name}")


def test_learners_have_all_settings_and_metrics() -> None:
    page = builder("learners").page()
    for row in LEARNERS:
        assert f"## {row.name}\n" in page
        assert all(f"`{metric.name}`" in page for metric in row.metrics)


def test_every_figure_and_every_target_is_there() -> None:
    gallery, targets = builder("gallery"), builder("targets").page()
    assert all(f"(gallery/{name}.md)" in gallery.page() for name in NAMES)
    pages = gallery.pages()
    assert set(pages) == {f"gallery/{name}.md" for name in NAMES}
    for name in NAMES:
        text = pages[f"gallery/{name}.md"]
        assert f"giantstep figure {name}\n" in text
        assert "def draw(table: DataFrame)" in text
    assert (
        "[arXiv:2402.04980](https://arxiv.org/abs/2402.04980)" in pages["gallery/one-step-risk.md"]
    )
    assert all(f"| `{entry.name}` |" in targets for entry in catalogue())


def test_pages_of_what_is_gone_go(tmp_path: Path) -> None:
    old, own = tmp_path / "gallery" / "gone.md", tmp_path / "tutorials" / "kept.md"
    for path in (old, own):
        path.parent.mkdir()
        path.write_text("")
    builder("pages").write(tmp_path)
    assert not old.exists()
    assert own.exists()
    assert (tmp_path / "gallery" / "hero.md").exists()


def test_the_gallery_can_be_drawn() -> None:
    """What `make docs` begins with is there: nothing else in this suite runs it."""
    assert builder("draw").main


def test_papers_are_links() -> None:
    from docutils.core import publish_doctree

    tree = publish_doctree(
        "Cui 2024, arXiv:2402.04980, as ``arXiv:2402.04980``; (arXiv:1908.05355)."
    )
    builder("papers").link_papers(tree)
    found = [
        node["refuri"] for node in tree.findall() if "refuri" in getattr(node, "attributes", {})
    ]
    assert found == ["https://arxiv.org/abs/2402.04980", "https://arxiv.org/abs/1908.05355"]
    assert tree.astext() == "Cui 2024, arXiv:2402.04980, as arXiv:2402.04980; (arXiv:1908.05355)."


@pytest.mark.parametrize("page", ["../README.md", "index.md"])
def test_the_answer_on_the_first_page_is_what_explain_says(page: str) -> None:
    target, _, rest = (DOCS / page).read_text().partition('$ giantstep explain "')[2].partition('"')
    shown = re.split(r"\n +\.\.\.\n", rest.partition("```")[2])[0]
    words = " ".join(giantstep.explain(target).report().split())
    assert shown.startswith("\n\n    Giant steps on fresh samples")
    assert " ".join(shown.split()) in words


def test_the_comparison_of_the_first_page_is_what_predict_says() -> None:
    text = (DOCS / "../README.md").read_text()
    rows = re.findall(r"^ +(\d)d +\d+ +h(\d) .* (0\.\d+) ± (0\.\d+) +-?[\d.]+$", text, re.MULTILINE)
    assert len(rows) == 6
    settings = giantstep.GiantStep(dim=500, samples=["2d", "4d", "8d"], step_size=2, steps=2)
    laws = dict(zip("248", giantstep.predict(settings, "h1 + h1*h2").predictions, strict=True))
    for samples, direction, *shown in rows:
        found = laws[samples]
        values = (found.metrics["overlap"], found.errors["overlap"])
        for each, digits in zip(values, shown, strict=True):
            # Rounded to the last place that is shown.
            place = 10.0 ** -len(digits.partition(".")[2])
            own = each[-1, int(direction) - 1]
            assert float(digits) == pytest.approx(own, abs=0.51 * place), (samples, direction)


def test_what_is_scrolled_on_a_phone_is_reached_by_keyboard() -> None:
    from sphinx_gallery import gen_rst

    accessible = builder("accessibility").accessible
    written = {
        '<div class="math">': (DOCS / "site_builder" / "mathml.py").read_text(),
        '<div class="output_subarea ': gen_rst.HTML_HEADER,
    }
    for page in (*written, "<pre><span></span>"):
        assert 'tabindex="0"' in accessible(page)
    # As the parts are written that are to be found.
    assert all(part in text for part, text in written.items())
    styles = (DOCS / "static" / "site.css").read_text()
    assert ".math, .table-wrapper, .output_subarea { overflow-x: auto; }" in styles


def test_axes_are_shown_as_pictures_alone() -> None:
    configured = (DOCS / "conf.py").read_text()
    pattern = re.search(r'"ignore_repr_types": r"(.*)"', configured)
    assert pattern
    figure, axes = new_figure()
    assert all(re.search(pattern[1], str(type(drawn))) for drawn in (figure, axes))


def test_every_command_is_there() -> None:
    pages = builder("commands").pages()
    for verb in ("explain", "predict giant-step", "study run", "cite", "talks"):
        name = verb.partition(" ")[0]
        assert f"# giantstep {verb}\n" in pages[f"commands/{name}.md"]
        assert f"\ncommands/{name}\n" in pages["commands.md"]


def test_every_public_name_is_there() -> None:
    pages = builder("interface").pages()
    page = "".join(pages.values())
    assert pages["api/GiantStep.md"].startswith("# GiantStep\n")
    assert "\napi/predict\n" in pages["api.md"]
    for name in giantstep.__all__:
        own = getattr(getattr(giantstep, name), "__name__", name).rpartition(".")[2]
        assert f".{own}\n" in page, name


@pytest.mark.parametrize(
    ("plain", "shown"),
    [
        ("eta = p d^((l-1)/2) at n >= d^leap", "η = p d{sup}`(l-1)/2` at n ≥ d{sup}`leap`"),
        ("sum_j a_j sigma(<w_j, x>)", "∑{sub}`j` a{sub}`j` σ(⟨w{sub}`j`, x⟩)"),
        ("mu*_{k,1} w*_k", r"μ\*{sub}`k,1` w\*{sub}`k`"),
        ("theta = d^gamma2 and k^-(2ar+1)", "θ = d{sup}`γ₂` and k{sup}`-(2ar+1)`"),
        ("E f^2, sqrt(d/n), sqrt(2)", "E f{sup}`2`, √(d/n), √2"),
        ("A sum of links; step_size of h1*h2", r"A sum of links; step\_size of h1\*h2"),
    ],
)
def test_formulas_in_sentences_are_typeset(plain: str, shown: str) -> None:
    assert builder("typesetting").typeset(plain) == shown


def test_every_letter_of_a_formula_is_in_the_font_of_the_site() -> None:
    from fontTools.ttLib import TTFont
    from latex2mathml.converter import convert

    font = TTFont(DOCS / "static" / "stix-two-math.woff")
    assert "MATH" in font  # browsers take sizes of roots and brackets from it
    pages = [path.read_text() for path in (*DOCS.glob("*.md"), *DOCS.glob("methods/*.md"))]
    found = [each for page in pages for each in re.findall(r"\$\$?([^$]+)\$\$?", page)]
    assert len(found) > 100
    shown = html.unescape(re.sub("<[^>]*>", "", "".join(map(convert, found))))
    assert {letter for letter in shown if ord(letter) not in font.getBestCmap()} <= {"\n"}


def test_every_claim_of_the_talks_has_its_verdict() -> None:
    page = builder("talks").page()
    claims = [claim for name in TALKS for claim in talk(name)[1]]
    assert page.count("**Verdict: ") == len(claims)
    assert "not run" not in page
    assert "metrics/overlap/1/0` = 0.4714 (0.4714 within 0.003)" in page


def test_lengths_in_docstrings_are_no_substitutions() -> None:
    prepared = builder("docstrings").prepared
    lines = [
        "Length |b| of ``|x|``, q_+.",
        "",
        "Assumes: one",
        "    two |c|.",
        ">>> abs(-1) | 2",
        "3",
    ]
    assert prepared(lines) == [
        *(r"Length \|b\| of ``|x|``, q\_+.", "", "", "**Assumes:** one", r"two \|c\|."),
        *(">>> abs(-1) | 2", "3"),
    ]


def test_a_picture_that_has_changed_is_noticed() -> None:
    pictures = builder("pictures")
    for name in pictures.PICTURES:
        kept = pandas.read_csv(pictures.FOLDER / f"{name}.csv")
        assert (pictures.FOLDER / f"{name}.png").exists()
        assert not pictures.differences(kept, kept)
        numbers = kept.select_dtypes("number").columns
        assert pictures.differences(kept, kept.assign(**{numbers[-1]: kept[numbers[-1]] + 1}))
        assert pictures.differences(kept, kept.iloc[1:]) == ["another shape"]
