"""The command: one address, a clean end, and no worker left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from laboratory.visits import RANDOM_FEATURES
from typer.testing import CliRunner

from giantstep.cli.main import app


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="lists processes by /proc")
def test_the_lab_prints_its_address_and_ends_with_its_workers() -> None:
    # A shell lets what it runs in the background ignore Ctrl-C, and so would the lab.
    hearing = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{hearing}; from giantstep.cli.main import main; main()"
    words = [sys.executable, "-c", code, "lab", "--no-browser", "--target", "h1*h2"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as lab:
        url = lab.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}#target=h1%2Ah2", url)
        page = httpx.get(url, timeout=60)
        assert page.status_code == 200
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        threads = Path(f"/proc/{lab.pid}/task")
        begun = {int(c) for t in threads.iterdir() for c in (t / "children").read_text().split()}
        assert begun
        address = url.partition("?")[0] + "simulate"
        headers = {"x-giantstep-token": url.partition("token=")[2].partition("#")[0]}
        question = {**RANDOM_FEATURES, "seeds": 64}
        with httpx.stream("POST", address, json=question, headers=headers, timeout=60) as dots:
            assert next(dots.iter_lines()) == "event: outline"
            # Somebody stops it while a page is being served.
            lab.send_signal(signal.SIGINT)
        out, err = lab.communicate(timeout=120)
        assert lab.returncode == 130
        assert err.splitlines() == ["Ctrl-C stops the lab", "giantstep: stopped"]
        assert out == ""
    end = time.monotonic() + 60
    while alive := [pid for pid in begun if _runs(pid)]:
        assert time.monotonic() < end, f"still running: {alive}"
        time.sleep(0.05)


def test_a_port_in_use_and_a_wide_host_are_told() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = CliRunner().invoke(app, ["lab", "--port", port, "--no-browser"])
    assert told.exit_code == 2
    assert f"port = {port}" in told.stderr
    assert len(told.stderr.splitlines()) == 1


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
