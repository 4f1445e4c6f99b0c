"""The front door: every noun, verb and error under one name, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import types
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

import giantstep as gs
from giantstep import errors
from giantstep.asking.table import LEARNERS
from giantstep.language.inputs import Inputs


def test_every_settings_class_law_and_error_has_a_name_here() -> None:
    here = [getattr(gs, name) for name in dir(gs)]
    for row in LEARNERS:
        assert row.load("settings") in here, row.name
    for law in (law for law in Inputs.__subclasses__() if law.__module__ == Inputs.__module__):
        assert law in here, law
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, Exception):
            assert getattr(gs, name) is value


def test_dir_lists_names_and_no_modules() -> None:
    assert gs.__all__ == sorted(gs.__all__)
    assert set(gs.__all__) <= set(dir(gs))
    assert not [name for name in dir(gs) if isinstance(getattr(gs, name), types.ModuleType)]
    # No room has the name of a verb, so that importing it hides nothing.
    rooms = {path.stem for path in Path(gs.__file__).parent.iterdir()}
    assert not rooms & set(gs.__all__)


def test_settings_take_ranges_and_lists() -> None:
    for samples in ("1d:4d:4", ["1d", "2d", "3d", "4d"], "1d,2d,3d,4d"):
        laws = gs.predict(gs.Kernel(samples=samples), "h1")
        assert laws.axes["samples"].labels == ("d", "2d", "3d", "4d")
    ridges = gs.predict(gs.Kernel(ridge=np.array([0.1, 1.0])), "h1")
    assert ridges.axes["ridge"].values == (0.1, 1.0)
    assert gs.predict(gs.Kernel(samples="1d,2d,3d", ridge=[0.1, 1]), "h1").shape == (3, 2)
    with pytest.raises(gs.SettingsError, match="1d:8d:8"):
        gs.Kernel(samples="1d:8d")
    with pytest.raises(gs.SettingsError, match="damping"):
        gs.Amp(damping=[0.5, 1.5])


def test_targets_are_functions_and_problems_take_noise() -> None:
    assert gs.Target("h1*h2")([[1.0, 2.0]]).tolist() == [2.0]
    assert gs.Target("h1**2")(3.0) == 9.0
    with pytest.raises(gs.TargetError, match="2 directions"):
        gs.Target("h1*h2")([1.0, 2.0, 3.0])
    assert gs.Problem("h1", noise=0.1).noise == 0.1


def test_a_plot_is_axes(whole_line: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    monkeypatch.setattr("giantstep.asking.curves.POINTS", whole_line)

    laws = gs.predict(gs.Kernel(samples="1d,2d,4d"), "h1")
    axes = Figure().subplots()
    assert laws.plot(metric="norm", ax=axes) is axes
    assert axes.get_ylabel() == "norm"
    assert axes.get_xlabel() == "samples $n/d$"
    # The line is dense, whatever the number of points.
    assert len(axes.lines[0].get_xdata()) >= 60
    with pytest.raises(gs.GiantstepError, match="use samples"):
        laws.plot(x="depth", ax=axes)
    assert "data:image/png" in laws._repr_html_()


def test_an_explanation_shows_itself() -> None:
    found = gs.explain("h1 + h1*h2")
    assert "h1 (leap 1), then h2 (leap 1)" in repr(found)
    assert len(repr(gs.explain("h1 + h1*h2 + h2*h3 + h4 + h4*h5 + h6")).splitlines()) <= 15
    assert "data:image/png" in found._repr_html_()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of packages of an environment into which the wheel was unpacked."""
    pytest.importorskip("hatchling", reason="make test installs what builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=Path(__file__).parents[1], check=True, capture_output=True)
    venv.create(folder / "python", symlinks=True)
    (packages,) = (folder / "python").rglob("site-packages")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(packages)
    return packages


@pytest.mark.slow
def test_the_wheel_has_every_file(installed: Path) -> None:
    def files(folder: Path) -> set[Path]:
        found = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
        return {path.relative_to(folder) for path in found if path.is_file()}

    own = files(Path(gs.__file__).parent)
    assert {Path("py.typed"), Path("__init__.pyi"), Path("bibliography.toml")} <= own
    assert files(installed / "giantstep") == own


@pytest.mark.slow
def test_a_setting_that_does_not_exist_is_an_error_of_types(
    installed: Path, tmp_path: Path
) -> None:
    """The stub and py.typed of the wheel tell a type checker what the settings are."""
    lines = ["import giantstep as gs", "gs.OnlineSgd(step_size=0.1)", "gs.OnlineSgd(nonsense=3)"]
    (tmp_path / "script.py").write_text("\n".join(lines), encoding="utf-8")
    python = installed.parents[2] / "bin" / "python"
    options = ["--config-file=", f"--python-executable={python}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "script.py"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "PYTHON" not in name},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1, done.stdout
    assert errors[0].startswith("script.py:3:")
    assert '"nonsense"' in errors[0]
