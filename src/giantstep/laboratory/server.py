"""The addresses of the lab: the page and its files, and the questions that it asks."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from giantstep.asking.workers.backlog import Busy
from giantstep.laboratory import asked
from giantstep.laboratory.describe import lab_controls
from giantstep.laboratory.experiment import Events, LabDesk, Refused
from giantstep.laboratory.limits import LabLimits
from giantstep.laboratory.security import LabGuard, LabKeys

#: Every file of the page, by name: no address holds a path.
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
#: A line of nothing now and then shows whether the reader is still there.
_HEARTBEAT_SECONDS = 5.0

Handler = Callable[[Request], Awaitable[Response]]


def lab_application(
    desk: LabDesk,
    keys: LabKeys,
    limits: LabLimits,
    *,
    bound: str = "127.0.0.1",
    embeddable: bool = False,
) -> LabGuard:
    """The whole lab as one ASGI application; ``bound`` is the host that it is served at."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        desk.start()
        try:
            yield
        finally:
            desk.close()

    async def index(request: Request) -> Response:
        response = Response(_lab_file_text("index.html"), media_type="text/html")
        if request.scope["state"]["client"] == "new":
            cookie = keys.new_client()
            response.set_cookie(keys.cookie, cookie, httponly=True, samesite="strict")
        return response

    async def health(_: Request) -> Response:
        return JSONResponse({name: crew.backlog.counts() for name, crew in desk.crews.items()})

    async def learners(_: Request) -> Response:
        return JSONResponse({**lab_controls(), "seconds": dict(limits.seconds)})

    def answer(ask: Callable[[str, asked.Given], Awaitable[Any]]) -> Handler:
        async def handler(request: Request) -> Response:
            return await _answered(request, limits, ask)

        return handler

    def stream(ask: Callable[[str, asked.Given], Events]) -> Handler:
        async def handler(request: Request) -> Response:
            return await _streamed(request, limits, ask)

        return handler

    routes = [
        Route("/", index),
        Route("/health", health),
        Route("/learners", learners),
        *[Route(f"/{name}", _lab_file_handler(name)) for name in _lab_files()],
        Route("/plotly.min.js", _plotly),
        Route("/target", answer(lambda c, g: desk.read(c, g.target())), methods=["POST"]),
        Route("/explain", answer(lambda c, g: desk.explain(c, g.problem())), methods=["POST"]),
        Route("/theory", stream(lambda c, g: desk.theory(c, g.question())), methods=["POST"]),
        Route(
            "/simulate",
            stream(lambda c, g: desk.simulate(c, g.question(), g.seeds(1), g.seed())),
            methods=["POST"],
        ),
        Route(
            "/spectrum",
            stream(lambda c, g: desk.spectrum(c, g.question(), g.of(), g.seeds(0))),
            methods=["POST"],
        ),
        Route(
            "/neurons",
            stream(lambda c, g: desk.neurons(c, g.question(), g.seed())),
            methods=["POST"],
        ),
        Route(
            "/report", stream(lambda c, g: desk.report(c, g.problem(), g.quick())), methods=["POST"]
        ),
    ]
    return LabGuard(Starlette(routes=routes, lifespan=lifespan), keys, limits, bound, embeddable)


async def _answered(
    request: Request, limits: LabLimits, ask: Callable[[str, asked.Given], Awaitable[Any]]
) -> Response:
    """One JSON object; the work ends if the client goes away before it is there."""
    try:
        given = asked.Given.read(await request.body(), limits)
        found = await _while_there(request, ask(request.scope["state"]["client"], given))
        return Response(status_code=499) if found is None else JSONResponse(found)
    except asked.Malformed as problem:
        return JSONResponse(_lab_error("refused", str(problem)), status_code=400)
    except Refused as refused:
        return JSONResponse(refused.to_json(), status_code=422)
    except Busy as busy:
        return JSONResponse(_lab_error("busy", str(busy)), status_code=429)


async def _streamed(
    request: Request, limits: LabLimits, ask: Callable[[str, asked.Given], Events]
) -> Response:
    """Server-sent events; one that begins badly has a status that says so."""
    try:
        given = asked.Given.read(await request.body(), limits)
        events = ask(request.scope["state"]["client"], given)
        first = await _while_there(request, anext(events))
    except asked.Malformed as problem:
        return JSONResponse(_lab_error("refused", str(problem)), status_code=400)
    except Refused as refused:
        return JSONResponse(refused.to_json(), status_code=422)
    except Busy as busy:
        return JSONResponse(_lab_error("busy", str(busy)), status_code=429)
    return Response(status_code=499) if first is None else EventStream(first, events)


async def _while_there(request: Request, work: Awaitable[Any]) -> Any:
    """What comes of some work, which ends if the client goes away before; then None."""
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request.receive))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, gone):
            task.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)


class EventStream(Response):
    """Events as they come; the reader going away ends what makes them, at once."""

    media_type = "text/event-stream"

    def __init__(self, first: tuple[str, Any], events: Events) -> None:
        super().__init__()
        self._first, self._events = first, events
        del self.headers["content-length"]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send every event; see :class:`EventStream`."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        sending = asyncio.ensure_future(self._send_all(send))
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for task in (sending, gone):
                task.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)
            await self._events.aclose()

    async def _send_all(self, send: Any) -> None:
        async def say(text: str, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": text.encode(), "more_body": more})

        await say(_event(*self._first))
        try:
            while True:
                following = asyncio.ensure_future(anext(self._events))
                try:
                    while not (await asyncio.wait({following}, timeout=_HEARTBEAT_SECONDS))[0]:
                        await say(":\n\n")
                    await say(_event(*following.result()))
                finally:
                    following.cancel()
                    await asyncio.gather(following, return_exceptions=True)
        except StopAsyncIteration:
            pass
        except Refused as refused:
            await say(_event("error", refused.to_json()["error"]))
        except Busy as busy:
            await say(_event("error", _lab_error("busy", str(busy))["error"]))
        await say("", more=False)


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def _lab_error(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": message, "position": None}}


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _lab_files() -> list[str]:
    room = resources.files("giantstep.laboratory") / "static"
    return sorted(f.name for f in room.iterdir() if f.name.endswith((".js", ".css")))


def _lab_file_text(name: str) -> str:
    return (resources.files("giantstep.laboratory") / "static" / name).read_text(encoding="utf-8")


def _lab_file_handler(name: str) -> Handler:
    kind = KINDS[name[name.rindex(".") :]]

    async def handler(_: Request) -> Response:
        return Response(_lab_file_text(name), media_type=kind)

    return handler


async def _plotly(_: Request) -> Response:
    """The drawing library, from the installed Python package."""
    from plotly.offline import get_plotlyjs

    # Four megabytes that say nothing of anybody: a page that is loaded again need not fetch them.
    headers = {"cache-control": "private, max-age=3600"}
    return Response(get_plotlyjs(), media_type="text/javascript", headers=headers)
