"""`run_tests`: what the failing tests do, without frames of others' code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_brt.dialogue.action import Action, ActionSpec
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import Frame, Step, TestRun, Verdict

#: Tests that are told in full.
_MOST = 3
#: Characters of an exception's message.
_MESSAGE = 1500


def run_tests(site: Site) -> Tool:
    """Return the tool."""

    def run(_action: Action, _steps: Sequence[Step]) -> Outcome:
        runs = tuple(judged.judgement.runs[0] for judged in site.failing if judged.judgement.runs)
        if not runs:
            return refused("There is no failing test to run.")
        text = told_runs(runs, names_of(site))
        return Outcome(observation=text, verdict=Verdict.FAIL)

    spec = ActionSpec(
        name=Name.RUN_TESTS.value, about="Run the failing tests on the code as it is, and show how."
    )
    return Tool(spec=spec, run=run)


def names_of(site: Site) -> dict[str, str]:
    """Return what the failing tests are called, by their ids."""
    return {judged.test.id: judged.test.name for judged in site.failing}


def told_runs(runs: Sequence[TestRun], names: dict[str, str]) -> str:
    """Return what tests did, for a model: how many fail, and how the first ones do."""
    bad = [run for run in runs if run.verdict is not Verdict.PASS]
    if not bad:
        return f"All {len(runs)} tests pass." if len(runs) > 1 else "The test passes."
    many = f"{len(bad)} of {len(runs)} tests fail:" if len(runs) > 1 else "The test fails:"
    shown = [told_run(run, _name(run, names)) for run in bad[:_MOST]]
    more = [f"{_name(run, names)}: {run.verdict}" for run in bad[_MOST:]]
    return "\n".join([many, *shown, *more])


def told_run(run: TestRun, name: str) -> str:
    """Return what a test did: its exception, and the project's own frames."""
    if run.raised is None:
        return f"{name}: {run.verdict}: {run.reason}"
    message = run.raised.message[:_MESSAGE]
    lines = [f"{name}: {run.raised.type}: {message}"]
    frames = own_frames(run.raised.frames)
    if frames:
        lines.append("  through " + " → ".join(f"{f.path}:{f.line} {f.function}" for f in frames))
    return "\n".join(lines)


def own_frames(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Return the frames of the project and its tests; those of others say little."""
    return tuple(frame for frame in frames if not frame.path.startswith(("/", "<")))


def _name(run: TestRun, names: dict[str, str]) -> str:
    return names.get(run.test) or run.node or "its file cannot be collected"
