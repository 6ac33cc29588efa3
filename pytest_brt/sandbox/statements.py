"""What a project's interpreter is, and what statements do that run in it one by one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from pytest_brt.errors import SubjectProblem
from pytest_brt.sandbox.process import Event, Limits, StatementResult
from pytest_brt.sandbox.results import last_line, status_words
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.types import CauseCode, FileChange, Subject
from pytest_brt.types.note import value

#: Wall-clock seconds that a statement gets in any case, as it may be a large import; and its share
#: of `Limits.seconds`, which all of them together get.
_EACH, _SHARE = 5.0, 1 / 3


def ask_interpreter(subject: Subject, sandbox: Sandbox) -> Event:
    """Return what the interpreter of `subject` says, of which only the places are known yet.

    Raises:
        SubjectProblem: it cannot be started, does not answer, or has no pytest.
    """
    with closing(Runner(subject, sandbox, Limits(memory_mb=1 << 20))) as runner:
        result = runner.run_script("interpreter", runner.limits, {})
    event = result.first("interpreter")
    if event is None:
        raise SubjectProblem(
            f"{subject.python!r} in the sandbox '{sandbox.isolation}' is no Python 3.8+ with "
            f"pytest: {last_line(result.output) or 'no answer'} (install pytest there, or choose "
            "another: --brt-python; a folder that it needs and does not see: --brt-show)"
        )
    return event


@value
class ScriptResult:
    """What statements did, as far as they came.

    Fewer results than statements means that statement number ``len(observed)`` ended the process
    or its time; `ended` says how.
    """

    observed: tuple[StatementResult, ...]
    #: "", or one line: "timed out after 20 s", "killed by SIGSEGV", "exit status 3".
    ended: str = ""
    #: File and first line (decorators included) of each function of the project that was called
    #: from a statement on; nothing where the process did not come to its end.
    called: frozenset[tuple[str, int]] = frozenset()


def run_statements(
    runner: Runner,
    statements: Sequence[str],
    changes: Sequence[FileChange] = (),
    *,
    calls_from: int | None = None,
) -> ScriptResult:
    """Run statements one by one in one namespace, on a private copy with changes.

    Args:
        runner: knows the project.
        statements: each is one Python statement (possibly compound); an expression's value is
            recorded.
        changes: of the project's tree, as a patch makes them.
        calls_from: number of the statement from which on it is noted which functions are called.

    Raises:
        SandboxProblem: no process can be had for them.
    """
    subject, limits = runner.subject, runner.limits
    each = max(limits.seconds * _SHARE, _EACH)
    limits = replace(
        limits, seconds=each, row_seconds=limits.start_seconds + limits.seconds
    )
    order = {
        "statements": statements,
        "calls_from": calls_from,
        "warnings": subject.warnings,
    }
    with runner.turns:
        result = runner.run_script("statements", limits, order, changes)
    observed = [event.observed for event in result.events if event.observed]
    ended = status_words(result.status)
    if len(observed) >= len(statements):
        ended = ""
    elif result.stop in (CauseCode.TOO_SLOW, CauseCode.TREE_TOO_SLOW):
        ended = f"timed out after {each:g} s"
    view, finish = result.view, result.first("finish")
    functions = finish.called if finish else ()
    return ScriptResult(
        observed=tuple(
            replace(one, raised=one.raised and view.locate(one.raised)) for one in observed
        ),
        ended=ended,
        called=frozenset(
            (path, line) for file, line in functions if (path := view.relative(file))
        ),
    )
