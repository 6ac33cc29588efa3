"""What is known before a model is asked: facts that go into its prompts.

Most of it comes from replay's first half, which runs what the report shows: a small model that is
told what a call gives needs to find out only what it should give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pytest_brt.code.index import Index
from pytest_brt.execute.engine import Engine
from pytest_brt.localise.evidence import ENDS
from pytest_brt.localise.literals import MOST_FILES, Hits, find_literals
from pytest_brt.localise.nearest import nearest_tests
from pytest_brt.localise.suspects import Suspect, find_suspects, rank_files
from pytest_brt.observe.project import is_project_path
from pytest_brt.observe.watch import Replayed, watch
from pytest_brt.reading.script import read_script
from pytest_brt.reproduce.imports import imports_of
from pytest_brt.reproduce.session import Stance, session_of, stance_of
from pytest_brt.syntax import parse
from pytest_brt.types import Attempt, Issue

#: Tests of replay's that are shown.
_MOST_TESTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What was found out about a report without a model; every prompt can take it."""

    #: The name under which the project is imported, or "".
    package: str = ""
    #: Where the bug may be, the likeliest first.
    suspects: tuple[Suspect, ...] = ()
    #: Statements of the report with what they do on this tree, as a session shows them.
    session: tuple[str, ...] = ()
    #: The test file that a test would be added to, or "".
    host: str = ""
    #: Import statements that work: the host file's, the report's.
    imports: tuple[str, ...] = ()
    #: Sources of tests that replay made and that fail, best first.
    tests: tuple[str, ...] = ()
    #: What the report holds of what `session` shows.
    stance: Stance = Stance.WRONG
    #: What the report spells as the source may spell it.
    literals: tuple[re.Pattern[str], ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files where the bug may be, each once."""
        return rank_files(self.suspects)

    @property
    def shown(self) -> tuple[str, ...]:
        """The same files in the order in which to show them: tracebacks point best.

        The file that a traceback ends in comes right after the likeliest.
        """
        ends = [s.path for s in self.suspects if any(r.startswith(ENDS) for r in s.reasons)]
        return tuple(dict.fromkeys([*self.files[:1], *ends, *self.files]))


def gather_hints(
    issue: Issue,
    index: Index,
    engine: Engine | None = None,
    *,
    buggy: Sequence[str] = (),
    replayed: Replayed | None = None,
    attempt: Attempt | None = None,
) -> Hints:
    """Return what can be known of `issue` before a model is asked.

    Args:
        issue: the report.
        index: the project.
        engine: runs what the report shows, and imports; None runs nothing.
        buggy: files that the user says have the bug.
        replayed: what replay saw, when it was run already.
        attempt: replay's attempt, for its tests.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    spelled = find_literals(issue, index)
    in_tests = find_literals(issue, index, tests=True)
    suspects = _with_given(find_suspects(issue, index, spelled=spelled), buggy)
    if replayed is None and engine is not None:
        replayed = watch(
            read_script(issue, partial(is_project_path, subject=engine.subject)), engine
        )
    seen = replayed.seen if replayed else ()
    report_code = "\n".join(item.step.source for item in seen)
    code = report_code if _parses(report_code) else ""
    host = nearest_tests(index, suspects, in_tests, code)
    tests = [
        judged.test.source
        for judged in (attempt.tests if attempt else ())
        if judged.judgement.candidate and judged.test.source
    ]
    return Hints(
        package=index.packages[0] if index.packages else "",
        suspects=suspects,
        session=session_of(seen),
        host=host,
        imports=imports_of(issue, index, seen=seen, suspects=suspects, host=host, engine=engine),
        tests=tuple(tests[:_MOST_TESTS]),
        stance=stance_of(seen),
        literals=_rare((*spelled, *in_tests)),
    )


def _rare(spelled: Iterable[Hits]) -> tuple[re.Pattern[str], ...]:
    """Return what the report spells and few files have."""
    few = (hits for hits in spelled if len(hits.files) <= MOST_FILES)
    return tuple(dict.fromkeys(hits.literal.pattern for hits in few))


def _with_given(found: tuple[Suspect, ...], buggy: Sequence[str]) -> tuple[Suspect, ...]:
    """Put what the user names first, with what was found in those files."""
    first: list[Suspect] = []
    for path in buggy:
        known = [suspect for suspect in found if suspect.path == path]
        first += known or [
            Suspect(
                path=path,
                function="",
                line=1,
                end_line=0,
                score=1.0,
                reasons=("given by the user",),
            )
        ]
    return (*first, *(suspect for suspect in found if suspect.path not in buggy))


def _parses(code: str) -> bool:
    try:
        parse(code)
    except SyntaxError:
        return False
    return bool(code.strip())


def without(hints: Hints, *names: str) -> Hints:
    """Return `hints` with the fields `names` empty, for prompts that shall not have them."""
    blank = Hints()
    return replace(hints, **{name: getattr(blank, name) for name in names})
