"""Draw the gallery for the site, on every core there is: `python -m site_builder.draw`."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

import pandas
from PIL import Image

from giantstep.asking.workers.environment import worker_environment
from giantstep.gallery.figures import NAMES, figure_named
from giantstep.gallery.rendering import render_figure
from giantstep.gallery.style import house_style, save_figure
from site_builder.gallery import DRAWN, FOLDER
from site_builder.pictures import check

#: Pixels that a thumbnail is at most wide and high.
THUMBNAIL = (480, 320)


def _draw(name: str) -> dict[str, Any]:
    # A store of its own: two processes would wait for one another.
    folder = FOLDER / "work" / name
    figure = figure_named(name)
    drawn = render_figure(figure, "quick", folder, caption_inside=False)
    for path in drawn.files:
        path.replace(FOLDER / path.name)
    with house_style("single"):
        save_figure(
            figure.draw(pandas.read_csv(FOLDER / f"{name}.csv")), FOLDER / f"{name}-narrow.png"
        )
    with Image.open(FOLDER / f"{name}.png") as picture:
        picture.thumbnail(THUMBNAIL)
        picture.save(FOLDER / f"{name}-small.png")
    return {"caption": drawn.caption, "claims": dict(drawn.claims), "seconds": drawn.seconds}


def main() -> None:
    """Draw every figure; stop at the first that fails."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    # One thread for each: threads that wait for one another's core took most of the time.
    os.environ.update(worker_environment(1, os.environ))
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        # From the end, where the figures that take longest are: no core is left alone with one.
        waiting = {pool.submit(_draw, name): name for name in reversed(NAMES)}
        for done in as_completed(waiting):
            name = waiting[done]
            found[name] = done.result()
            print(
                f"{len(found)} of {len(NAMES)}: {name}, {found[name]['seconds']:.0f} s",
                file=sys.stderr,
            )
    (FOLDER / DRAWN).write_text(json.dumps(found, indent=1), encoding="utf-8")
    check(FOLDER)


if __name__ == "__main__":
    main()
