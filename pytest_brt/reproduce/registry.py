"""The strategies that need no plugin, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Attempt, Issue


def _attempt(name: str, issue: Issue, index: int, bench: Workbench) -> Attempt:
    """Carry out a strategy; what those import that ask a model takes long."""
    if name == "replay":
        from pytest_brt.reproduce.replay import attempt

        return attempt(issue, index, bench)
    from pytest_brt.reproduce.agent import write_tests
    from pytest_brt.reproduce.auto import Auto
    from pytest_brt.reproduce.invert import invert
    from pytest_brt.reproduce.libro import libro
    from pytest_brt.reproduce.prompt import gather

    with bench.open_index() as project:
        if name == "auto":
            return Auto(issue, index, bench, project).run()
        # The papers' run nothing beforehand.
        observed = bench.observed(issue) if name == "invert" else None
        findings = gather(issue, project, bench, observed)
        strategies = {"libro": libro, "invert": invert, "agent": write_tests}
        return strategies[name](index, bench, findings)


#: By name. Replay is deterministic and LIBRO's run is of many samples: one run is enough of
#: these. BRT Agent makes as many as in paper 001.
STRATEGIES: Mapping[str, Strategy] = {
    "replay": Strategy(attempt=partial(_attempt, "replay")),
    "libro": Strategy(attempt=partial(_attempt, "libro"), asks=True, asks_again=True),
    "invert": Strategy(attempt=partial(_attempt, "invert"), asks=True),
    "agent": Strategy(
        attempt=partial(_attempt, "agent"), runs=20, asks=True, asks_again=True
    ),
    "auto": Strategy(attempt=partial(_attempt, "auto"), asks=True),
}
