"""Settings of the learner `amp`: Bayes-optimal approximate message passing."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.errors import SettingsError
from giantstep.settings.options import Settings, number, option, size, switch, whole
from giantstep.settings.types import (
    NumberField,
    OptionalNumberField,
    OptionalWholeField,
    SizeField,
    WholeField,
)

#: Damping for one direction: a few wrong preimages must not make V collapse before the error does.
_ONE_DIRECTION = 0.1
#: Damping for several directions: their signs can alternate from step to step, and grow as fast
#: as what is sought (the map M -> E[G M G] has negative eigenvalues too).
_SEVERAL_DIRECTIONS = 0.3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Amp(Settings):
    """Message passing that knows the target and the noise, and looks for the directions.

    What it reaches from an uninformed start in n = alpha d samples is the best known for any fast
    algorithm; from an informed start it shows what the data contain.
    """

    learner: ClassVar[str] = "amp"

    dim: OptionalWholeField = whole(None, "dimension d of the inputs", low=1)
    samples: SizeField = size("4d", "samples n")
    start: str = option(
        "random",
        "first estimate: nothing, a small random one, the spectral one, or one near the truth",
        choices=("zero", "random", "spectral", "informed"),
    )
    start_size: NumberField = number(1e-3, "size of the entries of a random start", above=0)
    start_overlap: NumberField = number(0.9, "overlap of an informed start", above=0)
    damping: OptionalNumberField = number(
        None,
        "share of the last state that is kept; by default 0.1 for one direction, 0.3 for several, "
        "and more once estimates swing",
        low=0,
    )
    iterations: WholeField = whole(400, "most iterations", low=1)
    tolerance: NumberField = number(1e-6, "stop once entries change by less", above=0)
    form: str = option(
        "auto",
        "estimate of the precision: its Hessian form, the guarded average, or the second where "
        "the first does not converge",
        choices=("auto", "hessian", "guarded"),
        only="simulate",
    )
    phases: bool = switch("predict: list the transitions in n/d instead", only="predict")
    dtype: str = option(
        "auto",
        "precision of the matrix products; auto takes float32 for large data",
        choices=("auto", "float32", "float64"),
        only="simulate",
    )

    def damping_for(self, directions: int) -> float:
        """The damping as given, or its default for this number of directions."""
        if self.damping is not None:
            return self.damping
        return _ONE_DIRECTION if directions == 1 else _SEVERAL_DIRECTIONS

    def check(self) -> None:
        """Shares below one; see :class:`Settings`."""
        for name in ("damping", "start_overlap"):
            if (getattr(self, name) or 0) >= 1:
                raise SettingsError(f"{name} = {getattr(self, name)!r} must be below 1")
