"""One lab for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from laboratory.visits import visitor

from giantstep.laboratory.launch import Lab


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    opened = Lab(simulators=1, theorists=1, embeddable=True).start()
    yield opened
    opened.close()


@pytest.fixture
def client(lab: Lab) -> Iterator[httpx.Client]:
    with visitor(lab) as found:
        yield found
