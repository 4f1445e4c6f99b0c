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
from typer.testing import CliRunner

from giantstep.cli.main import app


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="lists processes by /proc")
def test_the_lab_prints_its_address_and_ends_with_its_workers() -> None:
    code = "import sys; from giantstep.cli.main import main; main()"
    words = [sys.executable, "-c", code, "lab", "--no-browser", "--target", "h1*h2"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as lab:
        url = lab.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}#target=h1%2Ah2", url)
        assert httpx.get(url).status_code == 200
        threads = Path(f"/proc/{lab.pid}/task")
        begun = {int(c) for t in threads.iterdir() for c in (t / "children").read_text().split()}
        assert begun
        lab.send_signal(signal.SIGINT)
        out, err = lab.communicate(timeout=30)
        assert lab.returncode in (0, 130)
        assert "Traceback" not in err
        assert out == ""
    end = time.monotonic() + 10
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
