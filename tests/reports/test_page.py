"""The page of four kinds of targets: whole, self-contained, and its commands run as printed."""

from __future__ import annotations

import base64
import csv
import io
import re
import shlex
from pathlib import Path

import pytest
from page_reader import Page
from report_sizes import TINY
from typer.testing import CliRunner

from giantstep.cli.main import app
from giantstep.errors import GiantstepError, NoTheory
from giantstep.explanation.explain import explain
from giantstep.explanation.text import explanation_headline
from giantstep.gallery.style import COLOURS
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.reports import page
from giantstep.reports.mathematics import wrapping_mathml
from giantstep.reports.page import Report, write_report
from giantstep.reports.parts import Context, Picture, Section
from giantstep.reports.sections import SECTIONS
from giantstep.reports.symmetries import reported_symmetries
from giantstep.reports.verdict import typeset_verdict

KINDS = {
    "noisy label": ("sin(h1) + 0.3*h1*z1", 0.1),
    "parity of signs": ("sign(h1*h2)", 0.0),
    "four directions": ("h1 + h1*h2 + h1*h2*h3*h4", 0.0),
    "even": ("He2(h1)", 0.0),
}
#: Channels with a closed form; the others take many seconds, and their curve is tested elsewhere.
QUICK_CHANNELS = {"parity of signs", "even", "four directions"}
ARXIV = "https://arxiv.org/abs/"
#: Words of the reason that a page gives for a section it leaves out.
SKIPPED = {
    "noisy label": {"message-passing": "this takes long"},
    "four directions": {"message-passing": "message passing covers at most 3"},
    "even": {"features": "the first leap is 2"},
}
every_kind = pytest.mark.parametrize("written", KINDS, indirect=True)
#: Verb, learner and options of the commands that were run: the same for another target is as good.
RUN: set[tuple[str, ...]] = set()
CSV = "data:text/csv;base64,"


def long_to_wait_for(*_: object) -> None:
    raise NoTheory("this takes long")


@pytest.fixture(scope="module")
def written(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Report, Page]:
    """The kind of a page, and the page: each is written once, and tested before the next."""
    kind = request.param
    text, noise = KINDS[kind]
    path = tmp_path_factory.mktemp("page") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        if kind not in QUICK_CHANNELS:
            patch.setattr("giantstep.reports.sections.message_passing.predict", long_to_wait_for)
        report = write_report(Problem.of(text, noise=noise), path, scale=TINY)
    return kind, report, Page(path)


@every_kind
def test_the_page_is_whole(written: tuple[str, Report, Page]) -> None:
    _, report, read = written
    shown = [name for name in read.sections if name != "references"]
    assert shown == ["climbing", *(name for name in SECTIONS if name != "climbing")]
    said, text = (
        typeset_verdict(explanation_headline(explain(report.problem))).striptags(),
        " ".join(read.text.split()),
    )
    assert text.index(said) < text.index("What happens")
    assert len(read.ids) == len(set(read.ids))
    assert "math" in read.tags
    drawn = [picture for section in report.sections for picture in section.pictures]
    assert len(drawn) >= 5
    assert sorted(read.labels) == sorted(picture.alt for picture in drawn)
    for picture in drawn:
        assert picture.alt
        assert picture.caption
        assert set(picture.commands) <= set(read.commands)
    for reason in report.to_json()["skipped"].values():
        assert reason in read.text
        assert "Error" not in reason
        assert "\n" not in reason
    assert read.commands[-1].startswith("giantstep report ")
    assert "nan" not in read.text


@every_kind
def test_the_page_loads_nothing(written: tuple[str, Report, Page]) -> None:
    read = written[2]
    assert not {"link", "img", "iframe", "object"} & set(read.tags)
    assert read.tags.count("script") == 1
    assert read.loaded == []
    assert all(link.startswith(("#", ARXIV, CSV)) for link in read.links)
    assert any(link.startswith(ARXIV) for link in read.links)


@pytest.mark.parametrize(
    "written", ["noisy label", "parity of signs", "four directions", "even"], indirect=True
)
def test_commands_run_as_printed(
    written: tuple[str, Report, Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = written[1]
    # The page's own command, at the size and with the section that a test can wait for.
    monkeypatch.setattr("giantstep.reports.scale.FULL", TINY)
    monkeypatch.setattr(page, "SECTIONS", {"target": SECTIONS["target"]})
    commands = dict.fromkeys(written[2].commands)
    assert {c for section in report.sections for c in section.commands} < set(commands)
    assert len(commands) >= 5
    for command in commands:
        first, *words = shlex.split(command)
        assert first == "giantstep"
        form = (*words[:2], *(word for word in words[2:] if word.startswith("--")))
        if form in RUN:
            continue
        RUN.add(form)
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, f"{command}: {done.stderr or done.exception}"


@every_kind
def test_a_section_without_an_answer_says_why(written: tuple[str, Report, Page]) -> None:
    kind, report, _ = written
    skipped = report.to_json()["skipped"]
    for section, why in SKIPPED.get(kind, {}).items():
        assert why in skipped[section]
    if kind in QUICK_CHANNELS - {"four directions"}:
        assert "message-passing" not in skipped


@pytest.mark.parametrize("written", ["noisy label", "even"], indirect=True)
def test_the_climb_tells_what_it_saw(written: tuple[str, Report, Page]) -> None:
    kind, report, _ = written
    climb = next(section for section in report.sections if section.key == "climbing")
    if kind == "noisy label":
        assert re.fullmatch(
            r"Rises clearly above chance, 0\.\d\d: <math.*</math> \(0\.\d\d\) after 1 step\.",
            str(climb.lead[0]),
        )
    else:
        assert any("the first step alone" in note for note in climb.notes)
        assert climb.commands[0].startswith("giantstep simulate")


@every_kind
def test_captions_name_only_what_is_drawn(written: tuple[str, Report, Page]) -> None:
    """A dotted line, a colour, a level: each is said where it is to be seen, and nowhere else."""
    report = written[1]
    pictures = {p.key: p for section in report.sections for p in section.pictures}
    floors = pictures["floors"]
    for power, colour, name in (("1", COLOURS[0], "Blue"), ("2", COLOURS[5], "Orange")):
        widths = [float(row["floor"]) for row in rows(floors) if row["power of d in n"] == power]
        assert (name in str(floors.caption)) == (max(widths, default=0.0) > 1e-3)
        if name in str(floors.caption):
            assert colour.lower() in floors.svg.lower()
    if "message-passing" in pictures:
        amp = pictures["message-passing"]
        assert ("Dotted" in str(amp.caption)) == ("stroke-dasharray: 1.2" in amp.svg)
    climb = next(section for section in report.sections if section.key == "climbing")
    assert "chance level" not in climb.lead[0]
    # A number is drawn as a bar or written in a table, not both.
    table = next(section for section in report.sections if section.key == "floors").tables[0]
    assert "floor" not in table.head


def rows(picture: Picture) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(picture.data)))


@every_kind
def test_data_come_with_the_page(written: tuple[str, Report, Page]) -> None:
    _, report, read = written
    pictures = [p for section in report.sections for p in section.pictures if p.data]
    links = [link for link in read.links if link.startswith(CSV)]
    saved = [base64.b64decode(link.removeprefix(CSV)).decode() for link in links]
    assert saved == [picture.data for picture in pictures]
    assert len(saved) >= 3


def test_the_verdict_says_what_is_hard() -> None:
    hard = explanation_headline(explain("sign(h1*h2*h3)"))
    assert "no fast algorithm is known to find" in hard
    easy = explanation_headline(explain("sign(h1*h2)"))
    assert "beyond n = 2.47 d" in easy
    assert explanation_headline(explain("h1 + h1*h2")).startswith(
        "Giant steps on fresh samples learn h1, then h2 from n ~ d;"
    )
    six = explanation_headline(explain("h1 + h1*h2 + h2*h3 + h3*h4 + h4*h5 + h5*h6"))
    assert "learn h1, h2, h3, h4, h5, h6 one after another from n ~ d;" in six
    assert "h1 beyond a multiple of d that is not known" in explanation_headline(
        explain("exp(-h1**2)*h2")
    )


def test_long_sums_may_break_between_terms() -> None:
    assert str(wrapping_mathml(Target("h1 + (h2 + h3)**3 - h2").latex)).count("<math") >= 3


def test_a_section_that_fails_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Context) -> Section:
        raise ZeroDivisionError("by\nnothing")

    only = {"target": SECTIONS["target"], "floors": ("Floors", broken, 1)}
    monkeypatch.setattr(page, "SECTIONS", only)
    heard: list[float] = []
    report = write_report(Problem.of("<h1"[1:]), tmp_path / "x.html", progress=heard.append)
    assert report.to_json()["skipped"] == {"floors": "ZeroDivisionError: by nothing"}
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert "Not shown: ZeroDivisionError" in Page(report.path).text


def test_text_cannot_become_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "SECTIONS", {"target": SECTIONS["target"]})
    report = write_report(Problem.of("(|h1| < 1)*h1"), tmp_path / "a<b.html")
    assert "<h1|" not in report.path.read_text()
    assert Page(report.path).commands[-1].endswith("'a<b.html'")


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GiantstepError, match="no folder"):
        write_report(Problem.of("h1"), tmp_path / "file" / "x.html")
    with pytest.raises(GiantstepError, match="is a folder"):
        write_report(Problem.of("h1"), tmp_path)


def test_a_paper_is_listed_once_whatever_is_cited_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cited = ("Dandi et al. 2023, arXiv:2305.18270", "Dandi et al. 2023, arXiv:2305.18270, lemma 3")
    section = Section("x", "A section", references=cited)
    monkeypatch.setattr(page, "SECTIONS", {"x": ("A section", lambda context: section, 1)})
    text = write_report(Problem.of("h1"), tmp_path / "x.html").path.read_text()
    assert text.count("https://arxiv.org/abs/2305.18270") == 1
    assert "lemma 3" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h1", ("odd in h1",)),
        ("h1 + He2(h2)", ("even in h2",)),
        ("h1 + h2", ("odd as a whole", "the same when h1 and h2 are exchanged")),
        (
            "h1 + sign(h2*h3*h4)",
            ("odd as a whole", "the same when h2, h3 and h4 are put in any order"),
        ),
        ("h1 + h1**2", ()),
    ],
)
def test_symmetries(text: str, expected: tuple[str, ...]) -> None:
    assert reported_symmetries(Target(text)) == expected
