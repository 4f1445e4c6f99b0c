"""Study files that are wrong in ways people and programs get them wrong."""

from __future__ import annotations

import json
import math
import random
from typing import Any

#: A valid study of each kind, from which malformed ones are made.
VALID: tuple[dict[str, Any], ...] = (
    {
        "learner": "giant-step",
        "problem": {"target": "h1 + h1*h2", "noise": 0.1},
        "settings": {"dim": 50, "steps": 2},
        "axes": {"samples": "1d:4d:3", "step_size": ["1", "d^0.5"]},
        "seeds": 2,
        "verbs": ["simulate", "predict"],
    },
    {
        "learner": "sums",
        "problem": {"target": "h1"},
        "settings": {"dim": 4},
        "axes": {"centre": [1, 2.5], "trouble": ["none", "error"]},
        "seeds": 1,
    },
    {"learner": "kernel", "problem": "He2(h1)", "settings": {"samples": "1d"}, "seed": 3},
    {
        "learner": "random-features",
        "problem": {"target": "h1", "inputs": {"law": "spiked", "strength": "d^0.5"}},
        "axes": {"inputs": ["gaussian", "sphere", "spiked:2"], "noise": [0, 0.5]},
        "seeds": 2,
    },
    {
        "learner": {
            "name": "mine",
            "summary": "",
            "settings": "sums:Sums",
            "simulate": "sums:simulate",
            "predict": "sums:predict",
            "metrics": ["total"],
            "theory": "",
            "references": [],
            "example": "",
            "package": "cheap_learners",
        },
        "problem": {"target": "h1"},
        "axes": {"dim": [2, 3]},
        "seeds": 1,
    },
)


class Raw(str):
    """A value that is TOML already."""


#: Values of the wrong type, of the wrong size, or made of the wrong characters.
ODD: tuple[Any, ...] = (
    *(0, -1, 1, 7, 1.5, -0.0, True, False, "", " ", "x", [], {}, [[]], [0], {"a": 0}),
    *("h1", "sums:Sums", "sums:", ":", "json:loads", "1:2:3", "1d:2d:1e9", "1::2", "a:b:c"),
    *("\0", "\x1b[31mred", "a\nb", "line\u2028", "$x^{$", "[/red]", "../up", "-x", "é\U0001f600"),
    *("x" * 5000, [1] * 200, ["none"] * 3, [{"law": []}], {"law": "spiked"}, {"law": [1]}),
    *(math.inf, -math.inf, math.nan, 1e300, -1e300, 1e-320, 10**400, -(10**400), 2**63, "1e400"),
    *("9" * 90, "nan", "inf", "1_0", "4d^1e9", "d^-200", "sphere", "spiked:", "cube"),
    Raw("0x" + "f" * 5000),
    Raw("1979-05-27"),
    Raw("07:32:00"),
    Raw("[" * 40 + "]" * 40),
    Raw("1979-05-27T07:32:00Z"),
)
NAMES = (
    *("name", "learner", "problem", "settings", "axes", "seeds", "seed", "verbs", "together"),
    *("target", "noise", "inputs", "dim", "samples", "package", "predict", "metrics", "", "x y"),
)


def malformed(rng: random.Random) -> bytes:
    """The content of a study file with one to three things wrong; now and then with none."""
    study = json.loads(json.dumps(rng.choice(VALID)))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        _spoil(rng, study)
    content = _document(study).encode("utf-8", "surrogatepass")
    if rng.random() < 0.15:
        content = _damaged(rng, content)
    return content


def _spoil(rng: random.Random, study: dict[str, Any]) -> None:
    """Change one value, take one out, put one in, or call one by another name."""
    place: dict[str, Any] = study
    while rng.random() < 0.5:
        inside = [value for value in place.values() if isinstance(value, dict)]
        if not inside:
            break
        place = rng.choice(inside)
    kind = rng.random()
    name = rng.choice([*place]) if place else "x"
    if kind < 0.55 or not place:
        place[name] = rng.choice(ODD)
    elif kind < 0.65:
        del place[name]
    elif kind < 0.85:
        place[rng.choice(NAMES)] = rng.choice(ODD)
    elif isinstance(place[name], list) and place[name]:
        place[name][rng.randrange(len(place[name]))] = rng.choice(ODD)
    else:
        place[rng.choice(NAMES)] = place.pop(name)


def _document(study: dict[str, Any]) -> str:
    return "\n".join(f"{_text(name)} = {_toml(value)}" for name, value in study.items()) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(n)} = {_toml(v)}" for n, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else repr(value)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _damaged(rng: random.Random, content: bytes) -> bytes:
    """Some bytes changed, or the end cut off."""
    if rng.random() < 0.3:
        return content[: rng.randrange(len(content))]
    spoiled = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        spoiled[rng.randrange(len(spoiled))] = rng.randrange(256)
    return bytes(spoiled)
