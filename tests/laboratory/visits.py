"""Clients that talk to a lab, as the page does."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import httpx

from giantstep.laboratory.launch import Lab

RANDOM_FEATURES = {
    "learner": "random-features",
    "settings": {"dim": "40", "samples": "1d:4d:4", "width": "1d", "ridge": "0.1"},
    "problem": {"target": "h1 + He2(h1)"},
}


@contextlib.contextmanager
def visitor(lab: Lab) -> Iterator[httpx.Client]:
    """Somebody who has opened the page."""
    with httpx.Client(base_url=f"http://127.0.0.1:{lab.port}", timeout=120) as found:
        assert found.get("/", params={"token": lab.keys.token}).status_code == 200
        yield found


def events(client: httpx.Client, path: str, question: dict[str, Any]) -> list[tuple[str, Any]]:
    """Every event of a stream."""
    with client.stream("POST", path, json=question) as response:
        if response.status_code != 200:
            return [("status", (response.status_code, json.loads(response.read())))]
        return list(read_events(response))


def told_of(told: list[tuple[str, Any]], kind: str) -> list[Any]:
    """Every point, or every dot as often as it has changed, of the events of a stream."""
    found = [data for name, data in told if name == kind]
    return [each for data in found for each in (data["dots"] if kind == "dots" else data)]


def read_events(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    """The events of a response as they come."""
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
