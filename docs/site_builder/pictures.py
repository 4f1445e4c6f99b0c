"""The pictures of README: drawn by the gallery, and still what the code computes?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas

#: Pictures that are kept in the repository, each with the table behind it.
PICTURES = ("staircase", "one-step-risk", "amp-staircase")
FOLDER = Path(__file__).parents[1] / "pictures"
#: Simulations on another CPU round otherwise, and a chain of steps makes that larger.
TOLERANCE = 0.02


def differences(kept: pandas.DataFrame, fresh: pandas.DataFrame) -> list[str]:
    """What a table has become since it was kept: columns by name, and how far they are off.

    >>> kept = pandas.DataFrame({"x": [1.0, 2.0], "theory": [0.5, 0.7]})
    >>> differences(kept, kept.assign(theory=[0.5, 0.8]))
    ['theory: off by 0.1']
    """
    if list(kept.columns) != list(fresh.columns) or len(kept) != len(fresh):
        return ["another shape"]
    found = []
    for name in kept.columns:
        old, new = kept[name], fresh[name]
        if old.dtype.kind in "fi" and new.dtype.kind in "fi":
            scale = max(1.0, float(np.nanmax(np.abs(old), initial=0.0)))
            gap = float(np.nanmax(np.abs(old - new), initial=0.0))
            if gap > TOLERANCE * scale or (old.isna() != new.isna()).any():
                found.append(f"{name}: off by {gap:.2g}")
        elif not old.astype(str).equals(new.astype(str)):
            found.append(f"{name}: other words")
    return found


def check(drawn: Path) -> None:
    """Stop where a picture of README shows something else than a fresh run."""
    for name in PICTURES:
        kept, fresh = (pandas.read_csv(place / f"{name}.csv") for place in (FOLDER, drawn))
        if found := differences(kept, fresh):
            raise SystemExit(
                f"docs/pictures/{name}.png is not what the code computes ({'; '.join(found)}): "
                f"draw it again, giantstep figure {name} --out docs/pictures"
            )
