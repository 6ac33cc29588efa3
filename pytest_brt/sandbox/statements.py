"""Statements that are run one by one, in a process of their own, and what each did."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.errors import SandboxProblem
from pytest_brt.sandbox.events import ReportedStatement
from pytest_brt.sandbox.process import Deadlines, ProcessResult
from pytest_brt.sandbox.results import status_words
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.view import PathMap, make_view
from pytest_brt.sandbox.workspace import name_full_disk
from pytest_brt.types import FileChange, Raised

#: Seconds for starting Python and importing the project, at least.
_START = 60.0
#: Wall-clock seconds that a statement gets in any case: it may be a large import.
_EACH = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Statements to run in one namespace, in order, on a private copy of the project."""

    #: Each is one Python statement (possibly compound); an expression's value is recorded.
    statements: tuple[str, ...]
    #: Changes of the project's tree, as a patch makes them.
    changes: tuple[FileChange, ...] = ()
    #: Share of `Limits.seconds` that one statement gets, but a few seconds in any case; all of them
    #: together get the whole.
    statement_share: float = 1 / 3
    #: Number of the statement from which on it is noted which functions are called.
    calls_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementResult(ReportedStatement):
    """What one statement did."""

    raised: Raised | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptResult:
    """What a script did, as far as it came.

    Fewer results than statements means that statement number ``len(observed)`` ended the process
    or its time; `ended` says how.
    """

    observed: tuple[StatementResult, ...]
    #: "", or one line: "timed out after 20 s", "killed by SIGSEGV", "exit status 3".
    ended: str = ""
    #: Whether it ended because its time was over.
    timed_out: bool = False
    #: File and first line (decorators included) of each function of the project that was called
    #: from `Script.calls_from` on; nothing where the process did not come to its end.
    called: frozenset[tuple[str, int]] = frozenset()


def run_statements(runner: Runner, script: Script) -> ScriptResult:
    """Run the statements of a script one by one and return what each did.

    Raises:
        SandboxProblem: no process can be had for them.
    """
    subject = runner.subject
    each = max(runner.limits.seconds * script.statement_share, _EACH)
    total = max(runner.limits.seconds, each)
    deadlines = Deadlines(start=_START, each=each, total=_START + total)
    workspace = runner.scratch.workspace(Path(subject.root))
    with runner.turn(), name_full_disk(), workspace as copy:
        copy.write(script.changes)
        view = make_view(subject, runner.sandbox, runner.scratch, copy)
        order: dict[str, object] = {
            "folder": f"{view.writable[0][1]}/{copy.work.name}",
            "statements": script.statements,
            "packages": subject.packages,
            "calls_from": script.calls_from,
            "warnings": subject.warnings,
        }
        result = runner.run_script("statements", view, deadlines, order)
    if not result.first("start"):
        output = result.output.strip().splitlines() or [status_words(result.status)]
        raise SandboxProblem(f"{subject.python!r} does not start in the sandbox: {output[-1]}")
    return _read(script, result, PathMap(view=view), each)


def _read(script: Script, result: ProcessResult, paths: PathMap, each: float) -> ScriptResult:
    evaluable = {event.index for event in result.events if event.event == "evaluable"}
    observed: list[StatementResult] = []
    for event in result.events:
        reported = event.observed
        if reported is None:
            continue
        value = reported.value
        if value is not None:
            text, shown = paths.text(value.text), paths.text(value.repr)
            value = replace(value, repr=shown, text=text, evaluable=reported.index in evaluable)
        fields = {name: getattr(reported, name) for name in ReportedStatement.__slots__}
        fields |= {name: paths.text(fields[name]) for name in ("stdout", "stderr")}
        raised = paths.raised(event.raised) if event.raised else None
        observed.append(StatementResult(**{**fields, "value": value}, raised=raised))
    ended = ""
    if len(observed) < len(script.statements):
        late = f"timed out after {each:g} s"
        ended = late if result.timed_out else status_words(result.status)
    finish = result.first("finish")
    called = ((paths.relative(path), line) for path, line in finish.called) if finish else ()
    return ScriptResult(
        observed=tuple(observed),
        ended=ended,
        timed_out=bool(ended) and result.timed_out,
        called=frozenset((path, line) for path, line in called if path is not None),
    )
