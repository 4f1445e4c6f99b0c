"""The streams of the page: a line of theory, dots that land on it, spectra, neurons, reports."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from giantstep.lab.cache import Cache
from giantstep.lab.crew import Crew
from giantstep.lab.jobs import Outcome, Progress, Task
from giantstep.lab.laid_over import Dot, Law
from giantstep.lab.limits import Limits
from giantstep.results import plain, unique

Event = tuple[str, Any]
Events = AsyncGenerator[Event, None]
#: Places of tasks with what became of them, as they come: several at once.
Placed = AsyncGenerator[list[tuple[int, Outcome]], None]
#: Learners whose prediction is compiled before anybody asks; others take a second at first.
AHEAD = ("random-features", "kernel", "spectral", "spiked-random-features", "pca")
#: Points of a line, the dots among them.
LINE_POINTS = 41
#: Lines that wait for a worker, about a tenth of a second of work, make a crowd.
CROWD = 8


class Refused(Exception):
    """A question that has no answer: its kind (refused or failed) and what to say."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(outcome.value))
        self.outcome = outcome

    def to_json(self) -> dict[str, Any]:
        """What the page shows."""
        value = self.outcome.value
        said = value if isinstance(value, Mapping) else {"message": value, "position": None}
        return {"error": {"kind": self.outcome.kind, **said}}


class Desk:
    """Three crews: for texts, for theory, for simulations; and what was answered before."""

    def __init__(self, limits: Limits, simulators: int = 1, theorists: int = 2) -> None:
        self.limits, self.cache, self.crowd = limits, Cache(), CROWD
        self.readers = Crew(1, limits, cache=self.cache)
        ahead = [Task("warm", {"learner": name}) for name in (None, *AHEAD)]
        self.theorists = Crew(theorists, limits, ahead, self.cache)
        self.simulators = Crew(simulators, limits, ahead[:1], self.cache)
        self.crews = {
            "readers": self.readers,
            "theorists": self.theorists,
            "simulators": self.simulators,
        }

    def start(self) -> None:
        """Start every worker."""
        for crew in self.crews.values():
            crew.start()

    def close(self) -> None:
        """End every worker."""
        for crew in self.crews.values():
            crew.close()

    async def answer(self, crew: Crew, client: str, verb: str, arguments: dict[str, Any]) -> Any:
        """The answer to one task, from the cache if it was given before; else :class:`Refused`."""
        found = Outcome("failed", "the lab is closing")
        tasks = [(0, Task.kept(verb, arguments))]
        async with contextlib.aclosing(self._known_first(crew, client, tasks)) as answers:
            async for several in answers:
                found = several[-1][1]
        if found.kind != "done":
            raise Refused(found)
        return found.value

    async def read(self, client: str, target: str) -> Any:
        """How a target is read."""
        return await self.answer(self.readers, client, "read", {"target": target})

    async def explain(self, client: str, problem: dict[str, Any]) -> Any:
        """What can be learned of a target."""
        return await self.answer(self.theorists, client, "explain", {"problem": problem})

    async def plan(self, client: str, question: dict[str, Any], between: int = 0) -> Any:
        """The points of an experiment."""
        return await self.answer(self.readers, client, "plan", {**question, "between": between})

    async def theory(self, client: str, question: dict[str, Any]) -> Events:
        """The line: where its points stand, then each of them, then notes and papers.

        ``left`` says at the end how many points a busy lab has left out.
        """
        plan = await self.plan(client, question, LINE_POINTS)
        yield "plan", {name: value for name, value in plan.items() if name != "points"}
        laws, reasons, begin = [], [], 0
        for end in (plan["coarse"], len(plan["points"])):
            # In a crowd a coarse line for everybody comes before a fine one for some.
            if begin and self.theorists.backlog.counts()["waiting"] >= self.crowd:
                break
            async with contextlib.aclosing(self._laws(client, plan["points"][begin:end])) as found:
                async for several in found:
                    points = []
                    for number, outcome in several:
                        if outcome.kind == "done":
                            laws.append(outcome.value.prediction)
                            entries = outcome.value.entries
                            points.append({"index": begin + number, "entries": entries})
                        elif outcome.kind == "failed":
                            raise Refused(outcome)
                        else:
                            reasons.append(_words(outcome))
                    yield "points", points
            begin = end
        yield (
            "end",
            plain(
                {
                    "notes": unique(note for law in laws for note in law.notes),
                    "references": unique(paper for law in laws for paper in law.references),
                    "reasons": unique(reasons),
                    "lacking": len(reasons),
                    "left": len(plan["points"]) - begin,
                }
            ),
        )

    async def simulate(
        self, client: str, question: dict[str, Any], seeds: int, seed: int
    ) -> Events:
        """The dots: where they stand, then those that have one seed more, and the end."""
        plan = await self.plan(client, question)
        yield "plan", {name: value for name, value in plan.items() if name != "points"}
        points = plan["points"]
        dots = [Dot() for _ in points]
        wanted = [(number, seed + i) for i in range(seeds) for number in range(len(points))]
        merged: asyncio.Queue[list[tuple[int, Outcome]] | None] = asyncio.Queue()

        async def gather(found: Placed, kinds: tuple[str, ...]) -> None:
            try:
                async with contextlib.aclosing(found):
                    async for several in found:
                        merged.put_nowait([item for item in several if item[1].kind in kinds])
            finally:
                merged.put_nowait(None)

        # Dots run where there is no theory too: the line's own stream says why there is none.
        laws = gather(self._laws(client, points), ("done",))
        runs = gather(self._runs(client, points, wanted), ("done", "refused", "failed"))
        helpers = [asyncio.create_task(laws), asyncio.create_task(runs)]
        try:
            done = ended = 0
            while ended < len(helpers):
                if (several := await merged.get()) is None:
                    ended += 1
                    continue
                for number, outcome in several:
                    if outcome.kind != "done":
                        raise Refused(outcome)
                    if isinstance(outcome.value, Law):
                        dots[number].law = outcome.value.prediction
                    else:
                        dots[number].runs.append(outcome.value)
                        done += 1
                changed = {number: dots[number] for number, _ in several if dots[number].runs}
                shown = [
                    {"index": number, "seeds": len(dot.runs), "entries": dot.measured()}
                    for number, dot in changed.items()
                ]
                yield "dots", {"share": done / len(wanted), "dots": shown}
            await helpers[1]
            yield "end", {"seeds": seeds, "notes": unique(_notes(dots))}
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    async def spectrum(self, client: str, question: dict[str, Any], of: str, seeds: int) -> Events:
        """The predicted spectrum, then the same with simulated ones."""
        plan = await self.plan(client, question)
        point = plan["points"][0]
        law = {"point": point, "of": of, "seeds": 0}
        yield "predicted", plain(await self.answer(self.theorists, client, "spectrum", law))
        if seeds:
            both = {**law, "seeds": seeds}
            yield "both", plain(await self.answer(self.simulators, client, "spectrum", both))
        yield "end", {}

    async def neurons(self, client: str, question: dict[str, Any], seed: int) -> Events:
        """Where the neurons are after each step, then the spaces that theory says they reach."""
        plan = await self.plan(client, question)
        given = {"point": plan["points"][0]}
        cloud = await self.answer(self.simulators, client, "neurons", {**given, "seed": seed})
        yield "cloud", plain(cloud)
        with contextlib.suppress(Refused):
            law = await self.answer(self.theorists, client, "predict", given)
            yield "spaces", plain({"subspaces": list(law.prediction.subspaces)})
        yield "end", {}

    async def report(self, client: str, problem: dict[str, Any], quick: bool) -> Events:
        """How far the page of a target is, and then the page."""
        task = Task("report", {"problem": problem, "quick": quick})
        async with contextlib.aclosing(self.simulators.ask(client, [task])) as answers:
            async for several in answers:
                for _, answer in several:
                    if isinstance(answer, Progress):
                        yield "progress", {"share": answer.share}
                    elif answer.kind != "done":
                        raise Refused(answer)
                    else:
                        yield "page", {"html": answer.value}

    def _laws(self, client: str, points: list[dict[str, Any]]) -> Placed:
        """The prediction at each point, those known first."""
        tasks = [(n, Task.kept("predict", {"point": point})) for n, point in enumerate(points)]
        return self._known_first(self.theorists, client, tasks)

    def _runs(
        self, client: str, points: list[dict[str, Any]], wanted: list[tuple[int, int]]
    ) -> Placed:
        """The run of each seed at each point, those known first."""
        tasks = [
            (number, Task.kept("simulate", {"point": points[number], "seed": seed}))
            for number, seed in wanted
        ]
        return self._known_first(self.simulators, client, tasks)

    async def _known_first(self, crew: Crew, client: str, tasks: list[tuple[int, Task]]) -> Placed:
        kept = [(number, self.cache.get(task.key)) for number, task in tasks]
        unknown = [item for item, (_, found) in zip(tasks, kept, strict=True) if found is None]
        if known := [(number, found) for number, found in kept if found is not None]:
            yield known
        if not unknown:
            return
        asked = crew.ask(client, [task for _, task in unknown])
        async with contextlib.aclosing(asked) as answers:
            async for several in answers:
                yield [
                    (unknown[place][0], answer)
                    for place, answer in several
                    if isinstance(answer, Outcome)
                ]


def _words(outcome: Outcome) -> str:
    value = outcome.value
    return str(value["message"] if isinstance(value, Mapping) else value)


def _notes(dots: list[Dot]) -> list[str]:
    return [note for dot in dots for run in dot.runs for note in run.notes]
