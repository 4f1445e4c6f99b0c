"""Debian's Chromium, without a window; installed where it is missing and that is permitted."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
#: Seconds for the package lists and for the browser; a registry out of reach must not cost more.
INSTALL_SECONDS = (60, 240)
PAGE_SECONDS = 60


@functools.cache
def browser() -> str:
    """Where the browser is; skips the test, saying why, if it cannot be had."""
    if (found := _found()) is not None:
        return found
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("apt-get") is None:
        pytest.skip("no chromium on the PATH, and no right to install one")
    # Two processes run the tests: whoever comes second waits for the browser of the first.
    with (Path(tempfile.gettempdir()) / "giantstep-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _found() is None:
            _install()
    found = _found()
    assert found is not None, "chromium was installed but is not on the PATH"
    return found


def _install() -> None:
    commands = (("update",), ("install", "--yes", "--no-install-recommends", "chromium"))
    for words, seconds in zip(commands, INSTALL_SECONDS, strict=True):
        try:
            done = subprocess.run(
                ["apt-get", "--quiet", *words],
                capture_output=True,
                text=True,
                timeout=seconds,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"chromium is missing, and apt-get {words[0]} took over {seconds} s")
        if done.returncode:
            pytest.skip(f"chromium is missing, and apt-get {words[0]} failed: {done.stderr[-200:]}")


def rendered(page: Path, folder: Path) -> str:
    """The page's text as HTML after the browser has read it."""
    return _browse(folder, "--dump-dom", page.as_uri()).stdout


def screenshot(page: Path, picture: Path, width: int = 900, height: int = 1400) -> Path:
    """What a person would see of the page's top."""
    words = (f"--screenshot={picture}", f"--window-size={width},{height}", page.as_uri())
    _browse(picture.parent, *words)
    return picture


def _browse(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    profile = f"--user-data-dir={folder / 'profile'}"
    return subprocess.run(
        [browser(), *FLAGS, profile, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=PAGE_SECONDS,
    )


def _found() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)
