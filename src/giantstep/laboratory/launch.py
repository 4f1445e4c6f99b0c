"""Starting and stopping a lab: for a terminal, and inside a notebook."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from html import escape
from typing import Any
from urllib.parse import quote

from giantstep.asking.workers.environment import use_compilation_cache
from giantstep.errors import GiantstepError
from giantstep.laboratory.limits import LabLimits
from giantstep.language.targets import any_target

#: How long a server may take to listen.
_START_SECONDS = 20.0
_MISSING = "the lab needs starlette, uvicorn and plotly: pip install '.[lab]' in giantstep's folder"


class Lab:
    """A lab that is open; ``url`` shows it, :meth:`close` ends it and its workers."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        embeddable: bool = False,
        limits: LabLimits | None = None,
        **sizes: int,
    ) -> None:
        use_compilation_cache()
        try:
            import plotly  # noqa: F401
            import uvicorn

            from giantstep.laboratory.connections import PatientProtocol
            from giantstep.laboratory.server import lab_application
        except ModuleNotFoundError:
            raise GiantstepError(_MISSING) from None
        from giantstep.laboratory.experiment import LabDesk
        from giantstep.laboratory.security import LabKeys

        self._socket = _listen(host, port)
        self.host, self.port = host, self._socket.getsockname()[1]
        self.keys, limits = LabKeys(self.port), limits or LabLimits()
        sizes.setdefault("simulators", max(1, (os.cpu_count() or 2) - 1))
        self.desk = LabDesk(limits, **sizes)
        app = lab_application(self.desk, self.keys, limits, bound=host, embeddable=embeddable)
        config = uvicorn.Config(
            app,
            http=PatientProtocol,
            ws="none",
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_keep_alive=20,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        # Whoever ends a lab ends the streams of its pages too: that is no error to be told of.
        errors = logging.getLogger("uvicorn.error")
        errors.addFilter(lambda _: not self._server.should_exit)

    @property
    def url(self) -> str:
        """The address of the page, with the token that opens it."""
        name = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        name = f"[{name}]" if ":" in name else name
        return f"http://{name}:{self.port}/?token={self.keys.token}"

    def __repr__(self) -> str:
        return f"Lab at {self.url}; close() ends it"

    def serve(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until Ctrl-C; ``ready`` is called once the page can be opened."""
        threading.Thread(target=self._call_when_ready, args=(ready,), daemon=True).start()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self.desk.close()

    def start(self) -> Lab:
        """Serve in the background, and return once the page can be opened."""
        # Signals belong to the main thread: uvicorn leaves them alone in any other.
        threading.Thread(target=self._server.run, args=([self._socket],), daemon=True).start()
        self._wait()
        return self

    def close(self) -> None:
        """Stop serving and end the workers."""
        self._server.should_exit = True
        self.desk.close()

    def _call_when_ready(self, ready: Callable[[], None]) -> None:
        self._wait()
        ready()

    def _wait(self) -> None:
        end = time.monotonic() + _START_SECONDS
        while not self._server.started and time.monotonic() < end:
            time.sleep(0.02)


def lab_address(url: str, **state: str) -> str:
    """The address of a page that begins with that target.

    >>> lab_address("http://127.0.0.1:1/?token=t", target="h1*h2")
    'http://127.0.0.1:1/?token=t#target=h1%2Ah2'
    """
    given = "&".join(f"{name}={quote(value, safe='')}" for name, value in state.items() if value)
    return f"{url}#{given}" if given else url


def open_browser(url: str) -> None:
    """Show the page; a machine without a browser is none of our business."""
    webbrowser.open(url)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise GiantstepError(
            f"port = {port} at host = {host!r} cannot be used ({reason}): give another, or none"
        ) from None
    return listener


def lab(target: str | None = None, *, port: int = 0) -> Any:
    """Open the lab from Python: inside a notebook if this is one, else in the browser.

    ``target`` is what the page begins with. The lab runs in the background until this process
    ends, or until its ``close()``.
    """
    if target:
        any_target(target)
    opened = Lab(port=port, embeddable=True).start()
    url = lab_address(opened.url, target=target or "")
    if not _in_notebook():
        open_browser(url)
        print(url)
        return opened
    from IPython.display import HTML, display

    display(HTML(lab_in_notebook(url, opened.port)))
    return opened


def lab_in_notebook(url: str, port: int) -> str:
    """The page inside a notebook that is open at localhost or at 127.0.0.1.

    Browsers keep the cookie of the lab from a page inside one of another name, and the name under
    which the notebook is open is known to the browser alone: so that is where it is chosen.
    """
    name, address = f"giantstep-lab-{port}", escape(url)
    return f"""<iframe id="{name}" data-address="{address}" title="giantstep lab" width="100%"
 height="900" style="border: 0" allow="clipboard-write"></iframe>
<a href="{address}" target="_blank" rel="noopener">open the lab in a tab</a>
<script>
{{
  const frame = document.getElementById("{name}");
  const local = location.hostname === "127.0.0.1" ? "127.0.0.1" : "localhost";
  frame.src = frame.dataset.address.replace("127.0.0.1", local);
}}
</script>"""


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython
    except ModuleNotFoundError:
        return False
    shell = get_ipython()
    return shell is not None and "IPKernelApp" in shell.config
