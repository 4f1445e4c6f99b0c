"""Tests that read thousands of expressions switch off the type checks at every call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jaxtyping import config


@pytest.fixture(scope="module")
def unchecked_types() -> Iterator[None]:
    """Without the checks, reading an expression is twenty times faster."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)
