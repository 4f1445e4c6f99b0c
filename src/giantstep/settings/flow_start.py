"""Where a gradient flow begins under a spike: what simulation and theory must agree on."""

from __future__ import annotations

import math

from giantstep.errors import SettingsError
from giantstep.language.activations.activation import Activation
from giantstep.language.inputs import Gaussian, Spiked, checked_input_law
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.expansion import target_series
from giantstep.settings.gradient_flow import GradientFlow


def flow_setting_degree(sigma: Activation, target: Target) -> int | None:
    """The first degree of a polynomial link of h1, where the activation has no such coefficient."""
    series = target_series(target) if target.rank == 1 and not target.is_random else None
    first = min((k for k, *_ in series.terms if k), default=0) if series else 0
    return first if first and first not in sigma.degrees(first) else None


def spike_setting(problem: Problem, dim: int | None) -> tuple[float, float]:
    """Strength theta and cosine c of the spike; isotropic inputs have a spike of strength 0."""
    law = problem.inputs
    checked_input_law(law, (Gaussian, Spiked), "gradient flows are known", SettingsError)
    if law.spike is None:
        return 0.0, 1.0
    if dim is None and law.spike.depends_on_dim:
        raise SettingsError(f"dim is missing: inputs = {law} depend on d, give --dim")
    return law.spike.numbers(1.0 if dim is None else dim)


def setting_overlaps(settings: GradientFlow, theta: float, cosine: float) -> tuple[float, float]:
    """m = <w, mu> and b = <w, u> of a given start.

    With the spike along the target, or none, one number says all.
    """
    m, b = settings.start_spike_overlap, settings.start_target_overlap
    if cosine == 1:
        if settings.start_overlap is not None:
            omega = settings.start_overlap
            m = b = omega / math.sqrt(1 + theta - theta * omega**2)
        both = [number for number in (m, b) if number is not None]
        if max(both) - min(both) > 1e-9:
            raise SettingsError(
                f"start_spike_overlap = {m:g} and start_target_overlap = {b:g} differ, and the "
                "spike lies along the target: give one of them"
            )
        return both[0], both[0]
    if m is None or b is None:
        raise SettingsError(
            f"geometry = {settings.geometry!r} with a spike beside the target starts from two "
            "numbers: give --start-spike-overlap and --start-target-overlap"
        )
    if (b - cosine * m) ** 2 > (1 - cosine**2) * (1 - m**2) + 1e-12:
        raise SettingsError(
            f"start_spike_overlap = {m:g} and start_target_overlap = {b:g}: no unit vector has "
            f"both where spike and target have the cosine {cosine:.4g}"
        )
    return m, b
