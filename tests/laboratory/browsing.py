"""A browser that uses the page as a visitor would, and what a test may wait for in it.

The page says in attributes of its body what is under way, and takes them back before it asks anew,
so that nothing waits for the state before.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

#: After so long nothing will come any more, however busy the machine is.
PATIENCE_MS = 600_000
#: Adds up every move of something on the page that no key or click has caused.
SHIFTS = """
globalThis.shifted = 0;
new PerformanceObserver((list) => {
  const own = list.getEntries().filter((entry) => !entry.hadRecentInput);
  for (const entry of own) globalThis.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@contextlib.contextmanager
def browsing(chromium: Any, **how: Any) -> Iterator[Any]:
    """A browser of one person, who has been nowhere yet."""
    how.setdefault("viewport", {"width": 1600, "height": 1000})
    context = chromium.new_context(accept_downloads=True, **how)
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(SHIFTS)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context
    context.close()


def listened_to(page: Any) -> Any:
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda said: said.type == "error" and page.complaints.append(said.text))
    return page


def complaints(page: Any) -> list[str]:
    """What the browser complains of, but for texts that were refused (422) as they should be.

    Playwright's own style for screenshots is not the page's.
    """
    fine = ("Applying inline style", "status of 422")
    return [text for text in page.complaints if not any(words in text for words in fine)]


def until(page: Any, expression: str, arg: Any = None) -> Any:
    """The value of an expression once it is true.

    Playwright's own `wait_for_function` looks once, and then by `eval` inside the page, which the
    page's policy forbids.
    """
    end = time.monotonic() + PATIENCE_MS / 1000
    while not (value := page.evaluate(expression, arg)):
        assert time.monotonic() < end, f"never: {expression}"
        page.wait_for_timeout(20)
    return value


def target_is_read(page: Any, text: str) -> None:
    """Waits for the page to take the target; until then it may draw the line of the one before."""
    state = "JSON.parse(new URLSearchParams(location.hash.slice(1)).get('s'))"
    until(page, f"(text) => {state}?.target === text", text)


def line_is_there(page: Any) -> int:
    """Waits for the line that was asked for last; milliseconds that it took."""
    return int(until(page, "document.body.dataset.lineMs"))


def dots_are_there(page: Any) -> None:
    page.wait_for_selector("body[data-dots=done]")


def setting(name: str) -> str:
    return f".control[data-name={name}] input[type=text]"


def traces(page: Any, name: str) -> list[float]:
    """The heights of what is drawn under a name."""
    return page.evaluate(
        "(name) => [...(document.getElementById('plot').data ?? [])]"
        ".find((trace) => trace.name === name)?.y ?? []",
        name,
    )


def downloaded(page: Any, button: str) -> bytes:
    with page.expect_download() as taken:
        page.click(button)
    return Path(taken.value.path()).read_bytes()


def expect(locator: Any) -> Any:
    return pytest.importorskip("playwright.sync_api").expect(locator)
