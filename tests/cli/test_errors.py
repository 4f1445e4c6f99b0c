"""Bad input at the command line: one clear line, exit code 2, never a traceback, never a hang."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from giantstep.cli.main import app, main

BAD_TARGETS = {
    "foo(h1)": "foo",
    "tnah(h1)": "tanh",
    "h1 + h3": "h2",
    "": "empty",
    "(h1": "parenthes",
    "h1/0": "zero",
    "9**9**9": "",
    "h1+" * 4000 + "h1": "long",
    "(" * 500 + "h1" + ")" * 500: "deep",
    "exp(h1**2)": "second moment",
    "log(h1)": "",
    "1/h1": "",
    "__import__('os').system('true')": "",
    "h1.real": "",
    "3": "",
}


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("target", BAD_TARGETS, ids=lambda t: t[:20] or "empty")
def test_a_bad_target_gets_one_line(target: str) -> None:
    code, out, err = run("explain", target)
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert len(err) < 400
    assert BAD_TARGETS[target] in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--width", "0"), "width"),
        (("--width", "many"), "width"),
        (("--dim", "-3"), "dim"),
        (("--dim", "nan"), "dim"),
        (("--step-size", "n^2"), "step_size"),
        (("--activation", "rleu"), "activation"),
        (("--readout", "1:2:3:4"), "readout"),
        (("--noise", "-1"), "noise"),
        (("--seeds", "0"), "seeds"),
        (("--samples", "1d:4n:3"), "samples"),
        (("--dim", "1000000", "--width", "1000000", "--method", "direct"), "memory"),
    ],
)
def test_a_bad_setting_gets_one_line(words: tuple[str, ...], expected: str) -> None:
    given = {"--target": "h1", "--dim": "50", "--seeds": "1"}
    given |= dict(zip(words[::2], words[1::2], strict=True))
    code, out, err = run("simulate", "giant-step", *[w for pair in given.items() for w in pair])
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert expected in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("spectrum weights --target h1 --samples 1d,2d", "samples has several values"),
        ("layer-risk --target h1 --dim 50 --ridge 0.1,1", "ridge has several values"),
        ("lab --target foo(h1) --no-browser", "the name 'foo' is unknown"),
        ("predict amp --target h1 --seeds 3", "--seeds is no option of predict amp: nothing is"),
        ("simulate amp --target h1 --seeds 2.5", "giantstep: --seeds: "),
        ("figure hero amp", "'amp' is more than figure takes"),
        ("predict langevin --target h1 --dim 9", "such as --inputs hypercube:boost=d^0.5"),
        ("explain h1*h2*h3 --inputs spiked:d^0.5", "leave --inputs out"),
        ("simulate amp --target h1 --start far", "use zero, random, spectral or informed"),
    ],
)
def test_one_line_says_what_would_work(words: str, expected: str) -> None:
    code, out, err = run(*words.split())
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert expected in err


def test_no_theory_is_an_answer() -> None:
    words = ("--target", "h1", "--step-size", "d^0.5", "--steps", "5", "--batches", "reused")
    code, _, err = run("predict", "giant-step", *words)
    assert code == 2
    assert "steps on one batch are predicted at fixed step size" in err


def test_json_is_one_object_and_nothing_else() -> None:
    code, out, _ = run("predict", "giant-step", "--target", "h1", "--step-size", "2", "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["learner"] == "giant-step"
    assert answer["problem"] == {"target": "h1", "noise": 0, "inputs": {"law": "gaussian"}}
    assert answer["metrics"]["overlap"][1][0] == pytest.approx(0.632456, abs=1e-6)
    assert answer["status"] == "theorem"


def test_a_sweep_returns_lists() -> None:
    words = ("--target", "h1", "--step-size", "2", "--samples", "1d:4d:4", "--json")
    code, out, _ = run("predict", "giant-step", *words)
    assert code == 0
    answer = json.loads(out)
    assert answer["settings"]["samples"] == ["d", "2d", "3d", "4d"]
    cosines = [step[1][0] for step in answer["metrics"]["overlap"]]
    assert cosines == sorted(cosines)
    assert len(cosines) == 4


def test_an_interrupted_run_stops_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("giantstep.asking.verbs.simulate", interrupted)
    code, out, err = run("simulate", "giant-step", "--target", "h1", "--dim", "50")
    assert code == 130
    assert out == ""
    assert err == "giantstep: stopped\n"


#: A library that drops Ctrl-C, as a callback of its own would.
DEAF = """
import signal, time
from giantstep.cli import output

def deaf():
    while True:
        try:
            print("begun", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            pass

signal.signal(signal.SIGINT, signal.default_int_handler)
output.GRACE_SECONDS = 0.2
output.run_command_line(deaf)
"""


def test_ctrl_c_ends_what_does_not_hear_it() -> None:
    with subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130


def test_a_picture_into_what_is_no_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, out, err = run("explain", "h1", "--picture", str(tmp_path / "file" / "x.png"))
    assert (code, out) == (2, "")
    assert err.startswith("giantstep: picture = ")
    assert "is no folder" in err


def test_another_notation_is_read_and_said() -> None:
    code, out, err = run("explain", r"$\mathrm{He}_2(x_1) x_2$", "--json")
    assert code == 0
    assert err == "read as He2(h1)*h2\n"
    assert json.loads(out)["target"] == "He2(h1)*h2"
    words = ("--samples", "2d", "--json")
    code, out, err = run("predict", "amp", "--target", "sgn(x[0])", *words)
    assert code == 0
    assert "read as sign(h1)\n" in err
    assert json.loads(out)["problem"]["target"] == "sign(h1)"
    assert run("explain", "h1*h2")[2] == ""


def test_a_target_alone_is_explained_and_a_learner_is_asked_for(capsys, monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", ["giantstep", "h1*h2"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.splitlines()[0] == "y = h1*h2"
    monkeypatch.setattr(sys, "argv", ["giantstep", "predict", "sin(h1)"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "give the learner first: predict giant-step --target 'sin(h1)'" in said
