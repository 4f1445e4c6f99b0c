"""The page: every section built, none able to stop the others, then written as one HTML file."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from giantstep import __version__
from giantstep.errors import GiantstepError, error_in_one_line, one_line
from giantstep.explanation.explain import explain
from giantstep.files import PAGES, check_file_place, write_text_file
from giantstep.language.problem import GivenInputs, Problem
from giantstep.language.targets import Target
from giantstep.learners.seeds import run_part
from giantstep.reports.experiment import report_problem_words
from giantstep.reports.mathematics import wrapping_mathml
from giantstep.reports.parts import Builder, Context, Section, Words
from giantstep.reports.scale import FULL, QUICK, Scale
from giantstep.reports.sections import SECTIONS
from giantstep.reports.verdict import report_with_hero

Progress = Callable[[float], None]

#: A section that fails in one of these ways must not take the page with it: it says what happened.
FAULTS = (ArithmeticError, AssertionError, LookupError, MemoryError, TypeError, ValueError)

#: The share of the time that the explanation takes, beside those of the sections.
EXPLAINED = 2

#: The number of a paper, and after it the theorem or figure that is cited.
_ARXIV = re.compile(r"\b(\d{4}\.\d{4,5})\b.*")
_OPTION = re.compile(r"(?<= )--[a-z-]+")


@dataclass(frozen=True)
class Page:
    """What a page shows: its title, a heading and a line under it, sections, its own command."""

    title: str
    heading: Words
    source: str
    sections: tuple[Section, ...]
    command: str
    verdict: Words = ""


@dataclass(frozen=True)
class Report:
    """A page that was written."""

    problem: Problem
    path: Path
    sections: tuple[Section, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The object that ``report --json`` prints."""
        return {
            "target": self.problem.target.text,
            "noise": self.problem.noise,
            "path": str(self.path),
            "seconds": round(self.seconds, 2),
            "version": __version__,
            "sections": [section.to_json() for section in self.sections],
            "skipped": {s.key: s.skipped for s in self.sections if s.skipped is not None},
        }


def write_report(
    problem: Problem,
    path: Path,
    *,
    scale: Scale = FULL,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Compute every section and write the page; ``scale`` says at which sizes."""
    begin = time.perf_counter()
    path = Path(path)
    check_file_place(path, endings=PAGES)
    found = explain(problem, floors=True)
    total = EXPLAINED + sum(weight for _, _, weight in SECTIONS.values())
    done = EXPLAINED / total
    if progress is not None:
        progress(done)
    sections = []
    for key, (title, build, weight) in SECTIONS.items():
        advance = run_part(progress, done, weight / total) or (lambda fraction: None)
        context = Context(problem, found, scale, seed, advance)
        sections.append(_built_report_section(key, title, build, context))
        done += weight / total
        advance(1.0)
    words = ["giantstep", "report", *report_problem_words(problem), *["--quick"] * (scale is QUICK)]
    words += ["--seed", str(seed)] * (seed != 0) + ["--out", path.name]
    verdict, sections = report_with_hero(found, sections)
    text = problem.target.text
    source = f"{text} · label noise of variance {problem.noise}" if problem.noise else text
    formula = wrapping_mathml("y = " + problem.target.latex)
    page = Page(f"y = {text}", formula, source, tuple(sections), shlex.join(words), verdict)
    write_report_page(page, path)
    return Report(problem, path, tuple(sections), time.perf_counter() - begin)


def _built_report_section(key: str, title: str, build: Builder, context: Context) -> Section:
    """The section, or one that says in a line why it has no answer."""
    begin = time.perf_counter()
    try:
        section = build(context)
    except GiantstepError as error:
        section = Section(skipped=one_line(str(error)))
    except FAULTS as error:
        section = Section(skipped=error_in_one_line(error))
    return replace(section, key=key, title=title, seconds=time.perf_counter() - begin)


def write_report_page(page: Page, path: Path) -> None:
    """One self-contained HTML file: it loads nothing, and reads well without its script."""
    from jinja2 import Environment, StrictUndefined

    room = resources.files("giantstep.reports")
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters["whole_options"] = _report_command_lines
    template = environment.from_string((room / "page.html").read_text(encoding="utf-8"))
    text = template.render(
        style=(room / "page.css").read_text(encoding="utf-8"),
        version=__version__,
        page=page,
        script=(room / "page.js").read_text(encoding="utf-8"),
        references=_report_references(page.sections),
    )
    try:
        write_text_file(path, text)
    except OSError as error:
        raise GiantstepError(f"out = {str(path)!r} cannot be written: {error.strerror}") from None


def _report_command_lines(command: str) -> Markup:
    """A command whose lines never break inside the name of an option.

    >>> str(_report_command_lines("explain h1 --seed 2"))
    'explain h1 <span class="option">--seed</span> 2'
    """
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', str(escape(command))))


def _report_references(sections: Sequence[Section]) -> list[tuple[str, str | None]]:
    """Every paper once, whatever was cited of it, with its address where it has one."""
    papers = dict.fromkeys(_ARXIV.sub(r"\1", p) for s in sections for p in s.references)
    return [(paper, _report_paper_address(paper)) for paper in papers]


def _report_paper_address(paper: str) -> str | None:
    number = _ARXIV.search(paper)
    return f"https://arxiv.org/abs/{number[1]}" if number else None


def report(
    problem: Problem | Target | str,
    out: str | Path = "report.html",
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    quick: bool = False,
    seed: int = 0,
) -> Report:
    """Write one page about a target: what it is and how it is learned, theory and simulation.

    ``problem`` is a target or its expression; ``quick`` takes small sizes and few seeds.
    """
    given = Problem.of(problem, noise=noise, inputs=inputs)
    return write_report(given, Path(out), scale=QUICK if quick else FULL, seed=seed)
