"""The streams of the page: a line of theory, dots that land on it, spectra, neurons, reports."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator
from typing import Any

from giantstep.answer import json_value, unique
from giantstep.asking.workers.backlog import DONE, FAILED, REFUSED, Outcome, Progress
from giantstep.laboratory.cache import Cache
from giantstep.laboratory.crew import Crew, LabTask, Placed
from giantstep.laboratory.laid_over import Dot, LabLaw, lab_curve_at
from giantstep.laboratory.limits import LabLimits

Event = tuple[str, Any]
Events = AsyncGenerator[Event, None]
Answers = AsyncGenerator[Placed, None]
#: Where the parser says that a text cannot be read.
_PLACE = re.compile(r"\(character (\d+)\)")
#: Learners whose prediction is compiled before anybody asks; others take a second at first.
AHEAD = ("random-features", "kernel", "spectral", "spiked-random-features", "pca")
#: Points of a line, the dots among them.
LINE_POINTS = 41
#: Lines that wait for a worker, about a tenth of a second of work, make a crowd.
CROWD = 8


class Refused(Exception):
    """A question that has no answer: its kind (refused or failed) and what to say."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome

    def to_json(self) -> dict[str, Any]:
        """What the page shows."""
        place = _PLACE.search(str(self)) if self.outcome.status == REFUSED else None
        position = int(place[1]) - 1 if place else None
        error = {"kind": self.outcome.status, "message": str(self), "position": position}
        return {"error": error}


class LabDesk:
    """Three crews: for texts, for theory, for simulations; and what was answered before."""

    def __init__(self, limits: LabLimits, simulators: int = 1, theorists: int = 2) -> None:
        self.limits, self.cache, self.crowd = limits, Cache(), CROWD
        self.readers = Crew(1, limits, self.cache)
        ahead = [LabTask("warm", {"learner": name}) for name in (None, *AHEAD)]
        self.theorists = Crew(theorists, limits, self.cache, ahead)
        self.simulators = Crew(simulators, limits, self.cache, ahead[:1])
        self.crews = {
            "readers": self.readers,
            "theorists": self.theorists,
            "simulators": self.simulators,
        }

    def start(self) -> None:
        """Start every worker."""
        for crew in self.crews.values():
            crew.pool.start()

    def close(self) -> None:
        """End every worker."""
        for crew in self.crews.values():
            crew.pool.close()

    async def answer(self, crew: Crew, client: str, verb: str, arguments: dict[str, Any]) -> Any:
        """The answer to one task, from the cache if it was given before; else :class:`Refused`."""
        found = Outcome(FAILED, error="the lab is closing")
        async with contextlib.aclosing(crew.ask(client, [LabTask(verb, arguments)])) as answers:
            async for several in answers:
                found = next(a for _, a in several if isinstance(a, Outcome))
        if found.status != DONE:
            raise Refused(found)
        return found.value

    async def read(self, client: str, target: str) -> Any:
        """How a target is read."""
        return await self.answer(self.readers, client, "read", {"target": target})

    async def explain(self, client: str, problem: dict[str, Any]) -> Any:
        """What can be learned of a target."""
        return await self.answer(self.theorists, client, "explain", {"problem": problem})

    async def outline(self, client: str, question: dict[str, Any], between: int = 0) -> Any:
        """The points of an experiment."""
        return await self.answer(self.readers, client, "outline", {**question, "between": between})

    async def theory(self, client: str, question: dict[str, Any]) -> Events:
        """The line: where its points stand, then each of them, then notes and papers.

        ``left`` says at the end how many points a busy lab has left out.
        """
        outline = await self.outline(client, question, LINE_POINTS)
        yield "outline", {name: value for name, value in outline.items() if name != "points"}
        asked = outline["points"]
        laws, reasons, begin = [], [], 0
        for end in (outline["coarse"], len(asked)):
            # In a crowd a coarse line for everybody comes before a fine one for some.
            if begin and self.theorists.backlog.counts()["waiting"] >= self.crowd:
                break
            async with contextlib.aclosing(self._laws(client, asked[begin:end])) as found:
                async for several in found:
                    points = []
                    for number, outcome in several:
                        assert isinstance(outcome, Outcome)
                        if outcome.status == DONE:
                            law, entries = outcome.value
                            laws.append(law)
                            index = begin + number
                            entries = lab_curve_at(outline["places"][index], entries)
                            points.append({"index": index, "entries": entries})
                        elif outcome.status == FAILED:
                            raise Refused(outcome)
                        else:
                            reasons.append(outcome.error)
                    yield "points", points
            begin = end
        yield (
            "end",
            json_value(
                {
                    "notes": unique(note for law in laws for note in law.notes),
                    "references": unique(paper for law in laws for paper in law.references),
                    "reasons": unique(reason or "" for reason in reasons),
                    "lacking": len(reasons),
                    "left": len(asked) - begin,
                }
            ),
        )

    async def simulate(
        self, client: str, question: dict[str, Any], seeds: int, seed: int
    ) -> Events:
        """The dots: where they stand, then those that have one seed more, and the end."""
        outline = await self.outline(client, question)
        yield "outline", {name: value for name, value in outline.items() if name != "points"}
        points = outline["points"]
        dots = [Dot() for _ in points]
        wanted = [(number, seed + i) for i in range(seeds) for number in range(len(points))]
        merged: asyncio.Queue[Placed | None] = asyncio.Queue()

        async def gather(found: Answers, statuses: tuple[str, ...]) -> None:
            try:
                async with contextlib.aclosing(found):
                    async for several in found:
                        merged.put_nowait(
                            [
                                (number, answer)
                                for number, answer in several
                                if isinstance(answer, Outcome) and answer.status in statuses
                            ]
                        )
            finally:
                merged.put_nowait(None)

        # Dots run where there is no theory too: the line's own stream says why there is none.
        laws = gather(self._laws(client, points), (DONE,))
        asked = [
            LabTask("simulate", {"point": points[number], "seed": each}) for number, each in wanted
        ]
        runs = gather(self.simulators.ask(client, asked), (DONE, REFUSED, FAILED))
        helpers = [asyncio.create_task(laws), asyncio.create_task(runs)]
        try:
            done = ended = 0
            while ended < len(helpers):
                if (several := await merged.get()) is None:
                    ended += 1
                    continue
                changed = {}
                for place, outcome in several:
                    assert isinstance(outcome, Outcome)
                    if outcome.status != DONE:
                        raise Refused(outcome)
                    is_law = isinstance(outcome.value, LabLaw)
                    number = place if is_law else wanted[place][0]
                    if is_law:
                        dots[number].law = outcome.value.prediction
                    else:
                        dots[number].runs.append(outcome.value)
                        done += 1
                    if dots[number].runs:
                        changed[number] = dots[number]
                shown = [
                    {
                        "index": number,
                        "seeds": len(dot.runs),
                        "entries": lab_curve_at(outline["places"][number], dot.measured()),
                    }
                    for number, dot in changed.items()
                ]
                yield "dots", {"share": done / len(wanted), "dots": shown}
            await helpers[1]
            notes = unique(note for dot in dots for run in dot.runs for note in run.notes)
            yield "end", {"seeds": seeds, "notes": notes}
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    async def spectrum(self, client: str, question: dict[str, Any], of: str, seeds: int) -> Events:
        """The predicted spectrum, then the same with simulated ones."""
        outline = await self.outline(client, question)
        point = outline["points"][0]
        law = {"point": point, "of": of, "seeds": 0}
        yield "predicted", json_value(await self.answer(self.theorists, client, "spectrum", law))
        if seeds:
            both = {**law, "seeds": seeds}
            yield "both", json_value(await self.answer(self.simulators, client, "spectrum", both))
        yield "end", {}

    async def neurons(self, client: str, question: dict[str, Any], seed: int) -> Events:
        """Where the neurons are after each step, then the spaces that theory says they reach."""
        outline = await self.outline(client, question)
        given = {"point": outline["points"][0]}
        cloud = await self.answer(self.simulators, client, "neurons", {**given, "seed": seed})
        yield "cloud", json_value(cloud)
        with contextlib.suppress(Refused):
            law = await self.answer(self.theorists, client, "predict", given)
            yield "spaces", json_value({"subspaces": list(law.prediction.subspaces)})
        yield "end", {}

    async def report(self, client: str, problem: dict[str, Any], quick: bool) -> Events:
        """How far the page of a target is, and then the page."""
        wanted = LabTask("report", {"problem": problem, "quick": quick}, kept=False)
        async with contextlib.aclosing(self.simulators.ask(client, [wanted])) as answers:
            async for several in answers:
                for _, answer in several:
                    if isinstance(answer, Progress):
                        yield "progress", {"share": answer.share}
                    elif answer.status != DONE:
                        raise Refused(answer)
                    else:
                        yield "page", {"html": answer.value}

    def _laws(self, client: str, points: list[dict[str, Any]]) -> Answers:
        """The prediction at each point."""
        return self.theorists.ask(client, [LabTask("predict", {"point": each}) for each in points])
