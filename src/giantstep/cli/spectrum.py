"""`giantstep spectrum`: the spectrum of the weights or of the features after giant steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from giantstep.asking.table import learner_to_ask
from giantstep.cli.options import command_option, picture_command_options, settings_command
from giantstep.cli.output import note, print_json, terminal_bar, use_compilation_cache
from giantstep.cli.usage import command_example, command_group

_STEP = "--target 'sin(h1)' --activation tanh --readout sign --samples 4d --width 1d --dim 500"
#: Name of the sub-command: which spectrum, of which learner, what it says, an example.
COMMANDS: dict[str, tuple[str, str, str, str]] = {
    "weights": (
        "weights",
        "giant-step",
        "Singular values of the first layer W after giant steps: bulk, outliers, overlaps.",
        f"{_STEP} --step-size 0.3",
    ),
    "features": (
        "features",
        "giant-step",
        "Eigenvalues of Phi^T Phi / d, Phi = sigma(X W^T), on fresh samples after giant steps.",
        f"{_STEP} --step-size 2 --readout-samples 2d",
    ),
    "spiked-features": (
        "features",
        "spiked-random-features",
        "Eigenvalues of Phi^T Phi / d for features whose spike and bulk are given.",
        "--target 'sin(h1)' --activation tanh --spike '-1.5:0.5,3:0.5' --readout-samples 2d "
        "--width 1d --dim 400",
    ),
}
#: Defaults of a giant step that its spectrum does not cover, and what stands in for them here.
_OTHER_DEFAULTS = {"readout": "sign", "width": "1d"}
#: Settings that a spectrum does not depend on.
_IRRELEVANT = ("ridge", "method", "dtype", "normalise", "test_samples")


def register_spectrum_commands(app: typer.Typer, asked: bool = True) -> None:
    """Add the group of commands; without them unless ``asked``, since settings take time."""
    summary = "Spectrum after giant steps: simulated values over predicted bulk and outliers."
    group = command_group(summary)
    for name, (_, _, words, words_of_example) in COMMANDS.items() if asked else ():
        epilog = command_example(f"giantstep spectrum {name} {words_of_example}")
        group.command(name, help=words, short_help=words, epilog=epilog)(_spectrum_command(name))
    app.add_typer(group, name="spectrum", short_help=summary)


def _spectrum_command(name: str) -> Callable[..., None]:
    kind, learner, *_ = COMMANDS[name]
    settings_class: Any = learner_to_ask(learner).load("settings")
    is_step = learner == "giant-step"

    def answer(chosen: dict[str, Any], given: dict[str, Any]) -> None:
        if kind == "features" and is_step:
            chosen.setdefault("readout_samples", chosen.get("samples", settings_class.samples))
        _print_spectrum(kind, settings_class(**chosen), given)

    more = [
        command_option("seeds", int, "number of simulated spectra; 0 predicts alone", 4),
        command_option("seed", int, "seed of the first", 0),
        *picture_command_options(),
    ]
    return settings_command(
        settings_class,
        answer,
        more,
        without=(*_IRRELEVANT, *(["readout_samples"] if kind == "weights" else [])),
        defaults=_OTHER_DEFAULTS if is_step else {},
    )


def _print_spectrum(kind: Any, settings: Any, given: dict[str, Any]) -> None:
    from giantstep.language.problem import Problem

    problem = Problem(given["target"], given["noise"], given["inputs"])
    use_compilation_cache()
    from giantstep.asking.spectra import compare_spectra
    from giantstep.gallery.spectrum import draw_spectrum

    with terminal_bar(f"spectrum {kind}") as progress:
        found = compare_spectra(
            kind, problem, settings, seeds=given["seeds"], seed=given["seed"], progress=progress
        )
    if settings.dim is None:
        note("no --dim: predicted alone, nothing simulated")
    if given["out"] is not None:
        draw_spectrum(found, given["out"], with_caption=given["caption"], size=given["size"])
    if given["json"]:
        print_json(found.to_json())
        return
    typer.echo(found.table())
    if given["out"] is not None:
        note(f"wrote {given['out']}")
