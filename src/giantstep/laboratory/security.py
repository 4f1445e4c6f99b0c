"""Who is heard: the right token, from this house's own page, with a small request.

A page of another site can send requests to a local server, under a name of its own choosing if it
controls a domain (DNS rebinding). So every request needs a token that only the person who started
the lab has seen; the Host must be an address of this machine; and an Origin must be our own.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any

from giantstep.laboratory.limits import LabLimits

Scope = dict[str, Any]
Application = Callable[[Any, Any, Any], Awaitable[None]]

HEADER = b"x-giantstep-token"
#: How long the body of a request that is refused may take to arrive.
_DRAIN_SECONDS = 1.0
#: Plotly writes its rules into a style element that is empty at first: that one, and no other.
_EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {_EMPTY_STYLE}; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
#: Where a notebook may show the page inside of itself.
NOTEBOOKS = "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"


class LabKeys:
    """The token of this lab, and the sealed names of the clients that have shown it."""

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        # Cookies do not know ports: two labs on one machine must not take each other's.
        self.cookie = f"giantstep-lab-{port}"

    def is_token(self, given: str) -> bool:
        """Whether it is the token; takes as long for a wrong one as for a right one."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    def new_client(self) -> str:
        """A cookie value for somebody who has shown the token."""
        name = secrets.token_hex(8)
        return f"{name}.{self._seal(name)}"

    def client_of(self, headers: list[tuple[bytes, bytes]]) -> str | None:
        """Who asks, by cookie or by token in a header; None for a stranger."""
        for name, value in headers:
            if name == HEADER and self.is_token(value.decode("latin-1")):
                return "header"
        for name, value in headers:
            if name == b"cookie" and (client := self._sealed(value.decode("latin-1"))):
                return client
        return None

    def _sealed(self, cookies: str) -> str | None:
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return None
        name, _, seal = (found.value if found else "").partition(".")
        is_ours = hmac.compare_digest(seal.encode(), self._seal(name).encode())
        return name if name and is_ours else None

    def _seal(self, name: str) -> str:
        return hmac.new(self.token.encode(), name.encode(), "sha256").hexdigest()


def is_loopback_host(host: str) -> bool:
    """Whether only this machine reaches a server that is bound there.

    >>> is_loopback_host("127.0.0.1"), is_loopback_host("localhost"), is_loopback_host("0.0.0.0")
    (True, True, False)
    """
    return host == "localhost" or bool((address := _address(host)) and address.is_loopback)


def _is_own_host(given: str, bound: str) -> bool:
    """Whether a Host header names this machine in a way that no foreign domain can.

    Any port will do: a tunnel has its own. A server that is bound to the network is also reached
    by the number of its address, which a domain name cannot pretend to be, or by its name.

    >>> _is_own_host("localhost:8000", "127.0.0.1"), _is_own_host("evil.example", "127.0.0.1")
    (True, False)
    >>> _is_own_host("192.168.1.5:8000", "127.0.0.1"), _is_own_host("192.168.1.5:8000", "0.0.0.0")
    (False, True)
    """
    name = _without_port(given).lower()
    if is_loopback_host(name):
        return True
    if is_loopback_host(bound):
        return False
    return _address(name) is not None or name in {bound.lower(), socket.gethostname().lower()}


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


class LabGuard:
    """An ASGI application that passes on what may be heard, and answers the rest itself."""

    def __init__(
        self, inner: Application, keys: LabKeys, limits: LabLimits, bound: str, embeddable: bool
    ) -> None:
        self.inner, self.keys, self.limits, self.bound = inner, keys, limits, bound
        frames = NOTEBOOKS if embeddable else "frame-ancestors 'none'"
        self._headers = [
            (b"content-security-policy", f"{POLICY}; {frames}".encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cache-control", b"no-store"),
        ]

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Serve one request; see :class:`LabGuard`."""
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            # A connection that is closed with bytes unread is reset, and the answer lost with it.
            with contextlib.suppress(RequestTooLarge, TimeoutError):
                await asyncio.wait_for(self._body(receive), _DRAIN_SECONDS)
            await self._refuse(send, *refusal)
            return
        try:
            body = await asyncio.wait_for(self._body(receive), self.limits.body_seconds)
        except (RequestTooLarge, TimeoutError) as problem:
            large = isinstance(problem, RequestTooLarge)
            words = "the request is too large" if large else "the request did not arrive in time"
            await self._refuse(send, 413 if large else 408, words)
            return
        if body is not None:
            await self.inner(scope, _lab_request_again(body, receive), self._with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason where a request is not to be heard."""
        headers = scope["headers"]
        named = {name: value.decode("latin-1") for name, value in headers}
        if [name for name, _ in headers].count(b"host") != 1:
            return 400, "one Host is needed"
        if b"content-length" in named and b"transfer-encoding" in named:
            return 400, "give Content-Length or Transfer-Encoding, not both"
        if not _is_own_host(named[b"host"], self.bound):
            return 403, "this Host is not the lab's: open it by the address it printed"
        origin = named.get(b"origin")
        if origin is not None and origin != f"{scope['scheme']}://{named[b'host']}":
            return 403, "this Origin is not the lab's"
        if named.get(b"sec-fetch-site", "same-origin") == "cross-site" and origin is not None:
            return 403, "requests from other sites are not answered"
        client = self.keys.client_of(headers)
        if client is None and scope["path"] == "/" and scope["method"] == "GET":
            query = scope["query_string"].decode("latin-1")
            if query.startswith("token=") and self.keys.is_token(query.removeprefix("token=")):
                client = "new"
        if client is None:
            return 401, "open the lab by the address that giantstep lab printed: it has the token"
        scope.setdefault("state", {})["client"] = client
        length = named.get(b"content-length", "0")
        if not length.isdigit() or int(length) > self.limits.body_bytes:
            return 413, f"the request is too large: at most {self.limits.body_bytes} bytes"
        is_post = scope["method"] == "POST"
        if is_post and named.get(b"content-type", "").partition(";")[0] != "application/json":
            return 415, "send application/json"
        return None

    async def _body(self, receive: Any) -> bytes | None:
        """The whole body; None if the client has gone."""
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.limits.body_bytes:
                raise RequestTooLarge
            more = message.get("more_body", False)
        return b"".join(parts)

    def _with_headers(self, send: Any) -> Any:
        async def guarded(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                ours = [header for header in self._headers if header[0] not in own]
                message = {**message, "headers": [*message["headers"], *ours]}
            await send(message)

        return guarded

    async def _refuse(self, send: Any, status: int, words: str) -> None:
        content = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        headers = [*self._headers, *content]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": f"giantstep lab: {words}\n".encode()})


class RequestTooLarge(Exception):
    """More bytes than a request may have."""


def _lab_request_again(body: bytes, receive: Any) -> Any:
    """A ``receive`` that gives the body that was read, and then whatever comes."""
    given = False

    async def again() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
