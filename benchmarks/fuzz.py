"""`python -m benchmarks.fuzz COUNT`: hostile texts of targets, activations, losses and settings.

Each is accepted or refused by one line of our own within `SECONDS`; long runs of every character,
mutated expressions, nested brackets and random characters are tried in turn. Every third case is
instead a learner's settings, with up to four fields replaced by such texts and by odd values.
"""

from __future__ import annotations

import dataclasses
import random
import sys
import time
from collections.abc import Callable, Iterator

from giantstep.asking.table import LEARNERS
from giantstep.errors import GiantstepError
from giantstep.language.activations.activation import activation
from giantstep.language.activations.kernels import kernel
from giantstep.language.expressions.language import FUNCTIONS, SPELLINGS
from giantstep.language.inputs import read_inputs
from giantstep.language.losses import loss_from_text
from giantstep.language.sizes import Size, StepInSamples
from giantstep.language.targets import any_target
from giantstep.settings.sweeps import setting_range_values

SECONDS = 1.0
COUNT = 200_000
CHARACTERS = [*map(chr, range(1, 127)), *"₀₁²³⁻×·−≤π\u00a0\u2009\u200b", "\U0001f600"]
PIECES = (
    *("h1", "h2", "h_1", "x[0]", "X[:, 1]", "h₁", "z1", "2", ".5", "1e5", "pi", "d", "n", "t"),
    *("+", "-", "*", "/", "^", "**", "<", "|", "(", ")", ",", " ", "=", ":", "{", "}", "[", "]"),
    *("sign(", "relu(", "He3(", "max(", "exp(", "sqrt(", "np.", "np.tanh(", "tree(", "huber("),
    *("\\frac{", "\\sqrt{", "^{", "\\mathrm{He}_3(", "$", "\\(", "y = ", "spiked:", "strength="),
)
NESTS = tuple(
    f"{front}{name}("
    for name in (*FUNCTIONS, *SPELLINGS, "")
    for front in ("", "-", "h1*", "h1 + ", "1/", "2**", "max(h2, 1)*")
)


def texts(count: int) -> Iterator[str]:
    """The texts, the same every time."""
    draw = random.Random(0)
    for number in range(count):
        kind = number % 4
        if kind == 0:
            front, back = ("".join(draw.choices(PIECES, k=draw.randrange(4))) for _ in range(2))
            run = draw.choice((*CHARACTERS, *PIECES)) * draw.choice((50, 900, 3990, 20_000))
            yield front + run + back
        elif kind == 1:
            yield "".join(draw.choices(PIECES, k=draw.randrange(1, 30)))
        elif kind == 2:
            yield "".join(draw.choices(CHARACTERS, k=draw.randrange(1, 60)))
        else:
            # Nests, balanced or nearly so, of one function or of several in turn.
            count = draw.randrange(1, 60)
            names = draw.choices(NESTS, k=draw.randrange(1, 4))
            opened = "".join(names[level % len(names)] for level in range(count))
            inside = draw.choice(("h1", "|h1|", "h1 + h2", "2"))
            yield opened + inside + ")" * (count - draw.choice((0, 0, 0, 1, -1)))


#: Values of settings that no text is.
ODD = (None, True, 0, -1, 1, 10**30, -(10**400), 0.5, 1e308, float("nan"), float("inf"), 1j)
ODD += ("", "relu", "1d", "d^9999", "8d/2d", "ones", "gcv", b"4d", [], ["1d"], (1, 2), {}, object())


def _settings(draw: random.Random, text: str) -> None:
    """Make some learner's settings with up to four of its fields replaced."""
    kind = draw.choice(LEARNERS).load("settings")
    names = [field.name for field in dataclasses.fields(kind) if field.init]
    kind(**{name: draw.choice((*ODD, text)) for name in draw.sample(names, min(4, len(names)))})


READERS: dict[str, Callable[[str], object]] = {
    "target": any_target,
    "activation": activation,
    "loss": loss_from_text,
    "size": Size.parse,
    "step in n": lambda text: StepInSamples.read(text, "step_size"),
    "kernel": kernel,
    "inputs": read_inputs,
    "range": lambda text: setting_range_values(text, "samples"),
}


def main() -> int:
    """Try ``COUNT`` texts, or as many as the command line says; each by one reader in turn."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    draw = random.Random(1)
    accepted, slow, foreign = 0, [], []
    names = list(READERS)
    for number, text in enumerate(texts(count)):
        # Every other text is read as a target, the others by each of the other readers in turn.
        name = names[0] if number % 8 < 4 else names[1 + number // 8 % (len(names) - 1)]
        begin = time.process_time()
        try:
            if number % 3 == 0:
                name = "settings"
                _settings(draw, text)
            else:
                READERS[name](text)
            accepted += 1
        except GiantstepError:
            pass
        except Exception as error:
            foreign.append((name, text[:60], repr(error)))
        spent = time.process_time() - begin
        if spent > SECONDS:
            slow.append((spent, name, len(text), text[:60]))
    print(f"{count} texts, {accepted} accepted, {len(slow)} slower than {SECONDS} s")
    for line in (*sorted(slow, reverse=True)[:20], *foreign[:20]):
        print(line)
    return int(bool(slow or foreign))


if __name__ == "__main__":
    sys.exit(main())
