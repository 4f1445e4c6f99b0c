"""Connections that say nothing are closed, oldest first, before they fill the server."""

from __future__ import annotations

from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from giantstep.laboratory.limits import LabLimits


class PatientProtocol(H11Protocol):
    """HTTP that waits for a request for so long, on so many connections, and no more."""

    limits: ClassVar[LabLimits] = LabLimits()
    #: Connections without a request, oldest first.
    silent: ClassVar[dict[PatientProtocol, None]] = {}

    def connection_made(self, transport: Any) -> None:
        """Count a connection, which has said nothing yet."""
        super().connection_made(transport)
        self.silent[self] = None
        self.loop.call_later(self.limits.silent_seconds, self._close_if_silent)
        while len(self.silent) > self.limits.silent_connections:
            oldest = next(iter(self.silent))
            del self.silent[oldest]
            if oldest.cycle is None or oldest.cycle.response_complete:
                oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """A whole request ends the silence; part of one does not."""
        super().data_received(data)
        if self.cycle is not None:
            self.silent.pop(self, None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self.silent.pop(self, None)
        super().connection_lost(exc)

    def _close_if_silent(self) -> None:
        if self.silent.pop(self, self) is None:
            self.transport.abort()
