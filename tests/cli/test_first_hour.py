"""What stopped people in their first hour: refused early, drawn whole, said plainly."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

import giantstep as gs
from giantstep.answer import Answer
from giantstep.answer.words import answer_notes, merged_notes
from giantstep.asking.curves import ask_theory_between
from giantstep.asking.table import LEARNERS
from giantstep.cli.main import app
from giantstep.cli.output import PATIENCE_SECONDS, say, terminal_bar
from giantstep.errors import GiantstepError
from giantstep.estimators.fitting import Score, save_fitted_model
from giantstep.estimators.regressor import GiantStepRegressor
from giantstep.estimators.tables import prepare_table_to_fit, save_fitted_table
from giantstep.files import check_file_place, write_text_file
from giantstep.gallery.result import draw, draw_picture


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def nothing_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(*_: Any, **__: Any) -> None:
        raise AssertionError("this was computed before the words were read")

    for place in (
        "asking.verbs.ask",
        "asking.spectra.compare_spectra",
        "explanation.explain.explain",
        "estimators.tables.read_table_to_fit",
        "reports.page.write_report",
        "asking.studies.kept.KeptStudy.answer",
        "gallery.rendering.render_figure",
    ):
        monkeypatch.setattr(f"giantstep.{place}", computed)


STEP = ("giant-step", "--target", "h1", "--dim", "50")


@pytest.mark.usefixtures("nothing_computed")
@pytest.mark.parametrize(
    "words",
    [
        ("simulate", *STEP, "--out", "x.jpg"),
        ("predict", *STEP, "--out", "x.jpg"),
        ("compare", *STEP, "--out", "x.jpg"),
        ("spectrum", "weights", "--target", "h1", "--dim", "50", "--out", "x.jpg"),
        ("study", "plot", "phase", "--out", "x.jpg"),
        ("explain", "h1", "--picture", "x.jpg"),
        ("report", "h1", "--out", "x.jpg"),
        ("fit", "data.csv", "--label", "y", "--out", "x.jpg"),
        ("figure", "staircase", "--out", "x.jpg"),
        ("simulate", *STEP, "--metric", "nonsense"),
        ("predict", *STEP, "--metric", "overlap,nonsense"),
        ("compare", *STEP, "--metric", "nonsense"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_written_or_shown_is_refused_first(words: tuple[str, ...]) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "end the name in" in err or "'nonsense' is unknown" in err


def test_a_picture_is_drawn_only_where_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "compare.png").write_text("mine")
    assert run("compare", *STEP, "--seeds", "2")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["compare.png"]
    assert (tmp_path / "compare.png").read_text() == "mine"
    assert run("compare", *STEP, "--seeds", "2", "--out", "new/folder/x.png")[0] == 0
    assert (tmp_path / "new" / "folder" / "x.png").is_file()


def test_folders_are_made_by_whatever_writes(tmp_path: Path) -> None:
    path = tmp_path / "new" / "page.html"
    check_file_place(path)
    write_text_file(path, "a page")
    assert path.read_text() == "a page"
    save_fitted_table(pandas.DataFrame({"a": [1]}), tmp_path / "rows" / "x.csv")
    assert (tmp_path / "rows" / "x.csv").read_text() == "a\n1\n"
    fitted: Any = SimpleNamespace(pipeline=[1.0], inputs=["a"])
    save_fitted_model(fitted, tmp_path / "models" / "x.skops")
    assert (tmp_path / "models" / "x.skops").stat().st_size > 0
    with pytest.raises(GiantstepError, match="is no folder"):
        check_file_place(path / "page.html")


def test_a_metric_that_is_not_there_says_what_to_give() -> None:
    law = gs.predict(gs.GiantStep(), "h1")
    for ask in (lambda: law.metrics["test_error"], lambda: law.table("test_error")):
        with pytest.raises(GiantstepError, match="'test_error' is there with a ridge") as caught:
            ask()
        assert not str(caught.value).startswith('"')
    with pytest.raises(KeyError):
        law.metrics["nonsense"]
    runs = gs.simulate(gs.GiantStep(dim=50), "h1", seeds=2)
    with pytest.raises(GiantstepError, match="'nonsense' is not in this answer: use overlap"):
        runs.mean("nonsense")


@pytest.fixture(scope="module")
def both() -> Answer:
    settings = gs.GiantStep(dim=64, samples="1d:8d:4")
    return gs.compare(settings, "h1 + h1*h2", seeds=2)


def test_an_overlap_is_drawn_over_chance(both: Answer) -> None:
    axes = draw(both, metric="overlap", patience=0.0)
    named = {line.get_label(): line for line in axes.get_lines()}
    level = named["chance, $1/\\sqrt{d}$"]
    assert np.allclose(level.get_ydata(), 1 / 8)
    assert draw(both, metric="overlap", x="direction").get_legend() is not None


def test_theory_is_drawn_between_the_points_however_little_time_there_is(
    both: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("giantstep.asking.curves.POINTS", 9)
    hurried = ask_theory_between(both, "samples", patience=-1.0)
    line = ask_theory_between(both, "samples")
    assert hurried is not None
    assert line is not None
    assert hurried.axes["samples"].numbers == both.axes["samples"].numbers
    assert len(line) == 9 + 2  # the two points inside lie between those of the line
    assert np.all(np.diff(line.axes["samples"].numbers) > 0)
    own = [law.metrics["overlap"][1, 0] for law in both.predictions if law is not None]
    found = dict(zip(line.axes["samples"].numbers, line.predictions, strict=True))
    at = [found[number] for number in both.axes["samples"].numbers]
    assert [law.metrics["overlap"][1, 0] for law in at if law is not None] == own


def test_legends_and_tables_have_short_sizes(both: Answer) -> None:
    assert "3.33d" in both.table()
    assert "3.333" not in both.table()
    legend = draw(both, x="direction", metric="overlap").get_legend()
    texts = [text.get_text() for text in legend.get_texts()]
    assert "samples = 3.33d" in texts


def test_few_seeds_are_said_to_be_few(both: Answer) -> None:
    note = "few seeds: a 95 % interval is ± 12.7 standard errors, not ± 2"
    assert note in " ".join(both.table().split())
    assert note in both._repr_html_()
    assert answer_notes(dataclasses.replace(both, seeds=tuple(range(6)))) == merged_notes(
        both.notes
    )


def test_a_comparison_shows_no_angle_unless_asked(both: Answer) -> None:
    assert "angle" in both.table().partition("also there, with --metric or --all:")[2]
    assert "angle" not in both.table().partition("also there")[0]
    assert "angle" in both.table("angle")


def test_a_transition_without_a_jump_has_no_two_sides() -> None:
    table = gs.predict(gs.Amp(phases=True), "sign(h1*h2)").table()
    shown = table.partition("also there, with --metric or --all:")[0]
    assert "overlap_squared_" not in shown
    assert "transitions" in shown
    jumps = gs.predict(gs.Amp(phases=True), "abs(h1)").table().splitlines()
    sides = [line.split() for line in jumps if line.startswith("overlap_squared_")]
    assert [row[:2] for row in sides] == [
        ["overlap_squared_before", "2"],
        ["overlap_squared_before", "3"],
        ["overlap_squared_after", "2"],
        ["overlap_squared_after", "3"],
    ]


def test_the_optimum_comes_first() -> None:
    code, out, _ = run("predict", "kernel", "--target", "h1", "--optimise", "ridge")
    assert code == 0
    assert out.startswith("best ridge ")


def test_a_panel_without_numbers_is_a_sentence(both: Answer, tmp_path: Path) -> None:
    nothing = {"overlap": np.full((2, 2, 2), np.nan)}
    runs = tuple(type(run)(run.learner, run.settings, nothing) for run in both.runs if run)
    empty = Answer(both.learner, both.axes, both.questions, both.metric_axes, runs, (), (0, 1))
    path = draw_picture(empty, tmp_path / "empty.svg", metric="overlap")
    assert "there is no finite number here" in path.read_text(encoding="utf-8")


def test_settings_explain_themselves_in_python() -> None:
    for row in LEARNERS:
        settings: Any = row.load("settings")
        fields = [field for field in dataclasses.fields(settings) if field.metadata]
        assert len(fields) > 2
        for field in fields:
            assert f"\n{field.name} : default {field.default!r}\n" in settings.__doc__
            assert field.metadata["help"] in settings.__doc__
    step = gs.GiantStep(samples="4d", ridge=[0.1, 1])
    assert "samples='4d'" in repr(step)
    assert eval(repr(step), vars(gs)) == step


def test_errors_name_arguments_in_python_and_options_at_the_prompt() -> None:
    with pytest.raises(GiantstepError, match="a simulation needs dim, the dimension"):
        gs.simulate(gs.Kernel(), "h1")
    code, _, err = run("simulate", "kernel", "--target", "h1")
    assert code == 2
    assert "a simulation needs --dim, the dimension" in err


@pytest.mark.parametrize(
    "given",
    ["silu", "swish", "elu", "leaky_relu(z, .1)", "mish", "hardtanh", np.tanh, jax.nn.silu],
    ids=lambda given: getattr(given, "__name__", given),
)
def test_activations_that_people_use(given: Any) -> None:
    overlap = gs.predict(gs.GiantStep(activation=given), "h1").metrics["overlap"]
    assert 0.1 < overlap[1, 0] < 1


def test_a_prediction_tells_how_far_it_is() -> None:
    told: list[float] = []
    gs.predict(gs.GiantStep(samples=["1d", "2d"]), "h1", progress=told.append)
    assert told == [0.5, 1.0]


@pytest.mark.parametrize("words", ["explain", "report", "reproduce", "fit", "apply", "fit x.csv"])
def test_a_word_that_is_missing_is_shown_in_an_example(words: str) -> None:
    code, _, err = run(*words.split())
    assert code == 2
    assert f"is missing: as in giantstep {words.split()[0]} " in err


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["fit", "my.csv", "price"], "--label is missing: give 'price' as --label price;"),
        (["predict", "kernel", "--dim", "50", "sin(h1)"], "give 'sin(h1)' as --target 'sin(h1)';"),
        (["explain", "h1", "-h2", "--json"], "one word, in quotes: giantstep explain 'h1 -h2'"),
        (["explain", "--target", "h1"], "--target is no option of explain: see giantstep explain"),
        (
            ["fit", "my.csv", "--target", "price"],
            "--target is no option of fit: do you mean --label",
        ),
        (["report", "h1", "--pdf"], "--pdf is no option of report: see giantstep report --help"),
        (["report", "h1", "-o", "x.html"], "-o is no option of report: do you mean --out?"),
    ],
)
def test_a_word_that_lacks_its_option_is_given_it(words: list[str], remedy: str) -> None:
    code, _, err = run(*words)
    assert code == 2
    assert remedy in err


def test_the_nearest_name_is_offered() -> None:
    assert "do you mean staircase? use one of" in run("figure", "stiarcase")[2]
    like = run("figure", "spectrum")[2]
    assert like.endswith("unknown: use one of weight-spectrum, spectrum-over-steps\n")


def test_commands_of_a_study_are_summed_up_in_whole_sentences() -> None:
    out = run("study", "--help")[1]
    assert "..." not in out.partition("Commands:")[2]


def test_long_lines_end_where_the_terminal_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    say("  shown: each dot is within five standard errors", "short")
    assert capsys.readouterr().out.splitlines() == [
        "  shown: each dot is within",
        "    five standard errors",
        "short",
    ]


def test_an_explanation_opens_with_numbers_that_predict_gives() -> None:
    found = gs.explain("h1 + h1*h2")
    step = gs.GiantStep(samples="8d", step_size=2, readout="sign", width="1d", ridge=1, steps=2)
    law = gs.predict(step, "h1 + h1*h2")
    _, one, two = law.metrics["test_error"]
    opening = " ".join(found.report().partition("It depends")[0].split())
    assert f"{one:.3g}, two {two:.3g}, of the variance 2, where the floor of one is 0" in opening
    first, second = law.metrics["overlap"][2]
    assert opening.endswith(f"the cosines of these neurons are h1 {first:.2g}, h2 {second:.2g}.")
    # Two steps on a function with kinks of two directions would take long.
    opening = " ".join(gs.explain("max(h1, h2)").report().partition("It depends")[0].split())
    assert re.search(r"a ridge fit leaves [0-9.]+ of the variance .* of 20 neurons", opening)
    # A direction that steps do not find has the cosine 0, not what rounding left of it.
    opening = " ".join(gs.explain("h1*h2").report().partition("It depends")[0].split())
    assert opening.endswith("the cosines of these neurons are h1 0, h2 0.")
    assert "In numbers" not in gs.explain("h1", inputs="spiked:d^0.5").report()
    assert "In numbers" not in gs.explain("h1 + h2 + h3 + h4 + h5").report()


def test_sizes_in_sentences_stay_in_one_piece() -> None:
    text = gs.explain("h1 + h1*h2")
    for width in range(60, 100, 7):
        assert not re.search(r"(\bn|n [~=])$", text.report(width=width), re.MULTILINE)


def test_an_attribute_that_is_a_metric_says_where_it_is() -> None:
    law = gs.predict(gs.GiantStep(), "h1")
    with pytest.raises(AttributeError, match=r"take metrics\['overlap'\]"):
        law.overlap  # noqa: B018
    assert not hasattr(law, "nonsense")


@pytest.mark.parametrize(("X", "y"), [([["red", 1.0]] * 9, range(9)), (np.eye(9), ["a", "b"] * 4)])
def test_words_in_a_table_are_refused_with_what_to_do(X: Any, y: Any) -> None:
    X = pandas.DataFrame(X)[: len(y)]
    with pytest.raises(ValueError, match=r"as pandas.get_dummies\(X\) does; labels that are words"):
        GiantStepRegressor().fit(X, y)


def test_a_score_shows_its_error() -> None:
    assert str(Score("ours", 0.98401, 0.00223)) == "0.984 +- 0.002"
    assert str(Score("ours", 0.581, 0.034)) == "0.58 +- 0.03"
    assert str(Score("ours", 1.0, 0.0)) == "1.00 +- 0.00"


def test_one_row_and_one_column_are_one() -> None:
    rows = 12
    frame = pandas.DataFrame(
        {
            "a": np.arange(rows) ** 2 / 7,
            "colour": ["red", "blue", "green"] * 4,
            "y": [np.nan, *np.linspace(0, 1, rows - 1) ** 2],
        }
    )
    notes = prepare_table_to_fit(frame, "y").notes
    assert "left out 1 row without a label" in notes
    assert any(note.startswith("turned 1 column of categories") for note in notes)
    frame["shape"] = ["round", "square"] * 6
    assert any("turned 2 columns" in note for note in prepare_table_to_fit(frame[1:], "y").notes)
    with pytest.raises(GiantstepError, match=r"is left to learn from: .*'a': constant"):
        prepare_table_to_fit(frame[["y"]].assign(a=1.0), "y")


def test_a_bar_appears_only_when_its_time_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    did: list[Any] = []

    class Clock:
        def __init__(self, seconds: float, ring: Any) -> None:
            self.seconds, self.ring = seconds, ring
            clocks.append(self)

        def start(self) -> None:
            did.append("wait")

        def cancel(self) -> None:
            did.append("cancel")

        def join(self) -> None:
            pass

    class Bar:
        def __init__(self, **_: Any) -> None: ...

        def add_task(self, label: str, total: float | None) -> str:
            assert total is None  # it moves by itself
            return label

        def start(self) -> None:
            did.append("start")

        def stop(self) -> None:
            did.append("stop")

        def update(self, task: str, *, total: float, completed: float) -> None:
            did.append((task, completed / total))

    clocks: list[Clock] = []
    monkeypatch.setattr("threading.Timer", Clock)
    monkeypatch.setattr("rich.progress.Progress", Bar)
    monkeypatch.setattr("sys.stderr", SimpleNamespace(isatty=lambda: True))
    with terminal_bar("short") as tell:
        assert tell is not None
        tell(0.5)
    assert did == ["wait", ("short", 0.5), "cancel", "stop"]
    did.clear()
    with terminal_bar("long"):
        assert clocks[1].seconds == PATIENCE_SECONDS == 2
        clocks[1].ring()
    assert did == ["wait", "start", "cancel", "stop"]
    monkeypatch.setattr("sys.stderr", SimpleNamespace(isatty=lambda: False))
    with terminal_bar("unseen") as tell:
        assert tell is None
