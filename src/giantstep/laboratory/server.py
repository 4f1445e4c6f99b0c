"""The addresses of the lab: the page and its files, and the questions that it asks."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from giantstep.asking.workers.backlog import Busy
from giantstep.laboratory import asked
from giantstep.laboratory.describe import lab_controls
from giantstep.laboratory.experiment import Events, LabDesk, Refused
from giantstep.laboratory.limits import LabLimits
from giantstep.laboratory.security import LabGuard, LabKeys

#: The files of the page: each has its address, none of which holds a path.
PAGE = Path(__file__).with_name("static")
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
#: A line of nothing now and then shows whether the reader is still there.
_HEARTBEAT_SECONDS = 5.0

STATUS = {asked.Malformed: 400, Refused: 422, Busy: 429}

Ask = Callable[[str, asked.Given], Any]


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
        response = await _page_file(request, "index.html")
        if request.scope["state"]["client"] == "new":
            cookie = keys.new_client()
            response.set_cookie(keys.cookie, cookie, httponly=True, samesite="strict")
        return response

    async def health(_: Request) -> Response:
        return JSONResponse({name: crew.backlog.counts() for name, crew in desk.crews.items()})

    async def learners(_: Request) -> Response:
        return JSONResponse({**lab_controls(), "seconds": dict(limits.seconds)})

    answered: dict[str, Ask] = {
        "target": lambda client, given: desk.read(client, given.target()),
        "explain": lambda client, given: desk.explain(client, given.problem()),
    }
    streamed: dict[str, Ask] = {
        "theory": lambda client, given: desk.theory(client, given.question()),
        "simulate": lambda client, given: desk.simulate(
            client, given.question(), given.seeds(1), given.seed()
        ),
        "spectrum": lambda client, given: desk.spectrum(
            client, given.question(), given.of(), given.seeds(0)
        ),
        "neurons": lambda client, given: desk.neurons(client, given.question(), given.seed()),
        "report": lambda client, given: desk.report(client, given.problem(), given.quick()),
    }
    files = sorted(path.name for path in PAGE.iterdir() if path.suffix in (".js", ".css"))
    routes = [
        Route("/", index),
        Route("/health", health),
        Route("/learners", learners),
        *[Route(f"/{name}", functools.partial(_page_file, name=name)) for name in files],
        Route("/plotly.min.js", _plotly),
        *[
            Route(f"/{name}", functools.partial(how, limits=limits, ask=ask), methods=["POST"])
            for how, asks in ((_answered, answered), (_streamed, streamed))
            for name, ask in asks.items()
        ],
    ]
    refusals = dict.fromkeys(STATUS, _refused)
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=refusals)
    return LabGuard(app, keys, limits, bound, embeddable)


async def _refused(_: Request, problem: Exception) -> Response:
    """Why a question has no answer."""
    return JSONResponse(_lab_error(problem), status_code=STATUS[type(problem)])


def _lab_error(problem: Exception) -> dict[str, Any]:
    if isinstance(problem, Refused):
        return problem.to_json()
    kind = "busy" if isinstance(problem, Busy) else "refused"
    return {"error": {"kind": kind, "message": str(problem), "position": None}}


async def _answered(request: Request, limits: LabLimits, ask: Ask) -> Response:
    """One JSON object; the work ends if the client goes away before it is there."""
    given = asked.Given.read(await request.body(), limits)
    found = await _while_there(request.receive, ask(request.scope["state"]["client"], given))
    return Response(status_code=499) if found is None else JSONResponse(found)


async def _streamed(request: Request, limits: LabLimits, ask: Ask) -> Response:
    """Server-sent events; one that begins badly has a status that says so."""
    given = asked.Given.read(await request.body(), limits)
    events = ask(request.scope["state"]["client"], given)
    first = await _while_there(request.receive, anext(events))
    return Response(status_code=499) if first is None else EventStream(first, events)


async def _while_there(receive: Any, work: Awaitable[Any]) -> Any:
    """What comes of some work, which ends if the client goes away before; then None."""
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(receive))
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
        try:
            await _while_there(receive, self._send_all(send))
        finally:
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
        except (Refused, Busy) as problem:
            await say(_event("error", _lab_error(problem)["error"]))
        await say("", more=False)


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _page_file(_: Request, name: str) -> Response:
    """A file of the page."""
    path = PAGE / name
    return FileResponse(path, media_type=KINDS[path.suffix])


async def _plotly(_: Request) -> Response:
    """The drawing library, from the installed Python package."""
    from plotly.offline import get_plotlyjs

    # Four megabytes that say nothing of anybody: a page that is loaded again need not fetch them.
    headers = {"cache-control": "private, max-age=3600"}
    return Response(get_plotlyjs(), media_type="text/javascript", headers=headers)
