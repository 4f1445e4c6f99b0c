"""The sections of the page, one file each, in the order of the page."""

from __future__ import annotations

from giantstep.reports.sections import (
    climbing,
    features,
    floors,
    message_passing,
    staircases,
    target,
)

#: Title, how it is built, and its share of the time.
SECTIONS = {
    "target": ("The target", target.build_section, 1),
    "staircases": ("What is learned first, next, never", staircases.build_section, 1),
    "floors": ("What each method can reach at best", floors.build_section, 1),
    "climbing": ("Giant steps climb the stairs", climbing.build_section, 10),
    "features": ("Random features against one giant step", features.build_section, 10),
    "message-passing": ("Message passing", message_passing.build_section, 10),
}
