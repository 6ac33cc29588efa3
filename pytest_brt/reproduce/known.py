"""The strategies that need no plugin, by name; each is imported when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Attempt, Issue


def _replay(issue: Issue, index: int, bench: Workbench) -> Attempt:
    from pytest_brt.reproduce.replay.run import ReplaySettings, replay

    settings = ReplaySettings(repeat=bench.repeat, keep=bench.keep, index=index)
    return replay(issue, engine=bench.engine, settings=settings, progress=bench.say)


def _libro(issue: Issue, index: int, bench: Workbench) -> Attempt:
    from pytest_brt.code.index import open_index
    from pytest_brt.reproduce.libro.run import LibroSettings, libro

    settings = LibroSettings(
        samples=bench.samples or LibroSettings().samples,
        threshold=bench.agree,
        repeat=bench.repeat,
        index=index,
    )
    with open_index(Path(bench.engine.subject.root), bench.cache) as project:
        return libro(issue, project, bench, settings)


def _invert(issue: Issue, index: int, bench: Workbench) -> Attempt:
    from pytest_brt.code.index import open_index
    from pytest_brt.reproduce.invert.run import InvertSettings, invert

    settings = InvertSettings(keep=bench.keep, repeat=bench.repeat, index=index)
    with open_index(Path(bench.engine.subject.root), bench.cache) as project:
        return invert(issue, project, bench, settings)


def _agent(issue: Issue, index: int, bench: Workbench) -> Attempt:
    from pytest_brt.reproduce.agent.run import attempt

    return attempt(issue, index, bench)


def _auto(issue: Issue, index: int, bench: Workbench) -> Attempt:
    from pytest_brt.reproduce.auto import attempt

    return attempt(issue, index, bench)


#: By name. Replay is deterministic and LIBRO's run is of many samples: one run is enough of
#: these. BRT Agent makes as many as in paper 001.
STRATEGIES: Mapping[str, Strategy] = {
    "replay": Strategy(attempt=_replay),
    "libro": Strategy(attempt=_libro, asks=True),
    "invert": Strategy(attempt=_invert, asks=True),
    "agent": Strategy(attempt=_agent, runs=20, asks=True),
    "auto": Strategy(attempt=_auto, asks=True),
}
