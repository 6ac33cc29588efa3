"""What is known before a model is asked: facts that go into its prompts.

Most of it comes from replay's first half, which runs what the report shows: a small model that is
told what a call gives needs to find out only what it should give.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_brt.code.file_facts import Definition, DefinitionKind
from pytest_brt.code.fixtures import PYTEST_FIXTURES, fixtures_in_scope
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_vendored
from pytest_brt.code.relevance import relevance
from pytest_brt.execute.engine import Engine, Program
from pytest_brt.issue.read import read_report
from pytest_brt.localise.nearest_tests import nearest_tests
from pytest_brt.localise.places import files_of, find_places
from pytest_brt.localise.query import query_of
from pytest_brt.localise.sign import Key
from pytest_brt.observe.functions_run import functions_run
from pytest_brt.observe.watch import Replayed, Seen, watch
from pytest_brt.reproduce.prompting.excerpts import MOST_TESTS, show_tests
from pytest_brt.reproduce.prompting.transcript import Stance, session_of, stance_of
from pytest_brt.syntax.parse import IMPORTS
from pytest_brt.types import Attempt, Issue, Place

#: Fixtures that are shown, and characters of all of them together.
_FIXTURES, _CHARACTERS = 4, 900
#: Tests of replay's that are shown.
_MOST_TESTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What was found out about a report without a model; every prompt can take it."""

    #: The name under which the project is imported, or "".
    package: str = ""
    #: Where the bug may be, the likeliest first.
    suspects: tuple[Place, ...] = ()
    #: Statements of the report with what they do on this tree, and as a session shows them.
    seen: tuple[Seen, ...] = ()
    session: tuple[str, ...] = ()
    #: The test file that a test would be added to, or "".
    host: str = ""
    #: Import statements that work: the host file's, the report's.
    imports: tuple[str, ...] = ()
    #: Sources of tests that replay made and that fail, best first.
    tests: tuple[str, ...] = ()
    #: What the report holds of what `session` shows.
    stance: Stance = Stance.WRONG
    #: The Python that tests run on, as in "3.11", or "".
    python: str = ""
    #: Fixtures of the project that a test in `host` can use, as code.
    fixtures: str = ""
    #: What each term of the report is worth, the more the rarer it is in the project.
    worths: Mapping[str, float] = field(default_factory=dict)

    @property
    def files(self) -> tuple[str, ...]:
        """The files where the bug may be, each once."""
        return files_of(self.suspects)


def gather_hints(
    issue: Issue,
    index: Index,
    engine: Engine | None = None,
    *,
    buggy: Sequence[str] = (),
    host: str = "",
    replayed: Replayed | None = None,
    attempt: Attempt | None = None,
    ran: Collection[Key] | None = None,
) -> Hints:
    """Return what can be known of `issue` before a model is asked.

    Without an `engine` nothing is run: neither what the report shows nor imports. `buggy` are
    files that the user says have the bug, and `host` the test file that tests are written for,
    "" for the nearest. `replayed`, what replay saw, and `ran`, the functions that the report's
    code runs, are found out where they are not given; of `attempt`, replay's, tests are taken.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    if replayed is None and engine is not None:
        replayed = watch(read_report(issue), engine)
    seen = replayed.seen if replayed else ()
    if ran is None:
        ran = functions_run(replayed, index, engine) if replayed and engine else ()
    found = relevance(query_of(issue), index)
    given = find_places(issue, index, found=found, ran=ran, paths=buggy) if buggy else ()
    every = (*given, *find_places(issue, index, found=found, ran=ran))
    own = [place for place in every if not is_vendored(place.path)]
    suspects = tuple({(place.path, place.function): place for place in own}.values())
    tests = [
        judged.test.source
        for judged in (attempt.tests if attempt else ())
        if judged.judgement.candidate and judged.test.source
    ]
    hints = Hints(
        seen=seen,
        session=session_of(replayed) if replayed else (),
        tests=tuple(tests[:_MOST_TESTS]),
        stance=stance_of(replayed) if replayed else Stance.WRONG,
        python=".".join(map(str, engine.subject.python_version)) if engine else "",
        worths=found.worths,
    )
    return suspecting(hints, suspects, issue, index, engine, host=host)


def suspecting(
    hints: Hints,
    suspects: tuple[Place, ...],
    issue: Issue,
    index: Index,
    engine: Engine | None,
    *,
    host: str = "",
) -> Hints:
    """Return `hints` with `suspects`, and with the test file and the imports that go with them.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    host = host or nearest_tests(issue, index, suspects)
    # The name under which the likeliest place is imported, or the largest package.
    tops = (index.layout.module_of(one.path).partition(".")[0] for one in suspects)
    named = (top for top in (*tops, *index.packages) if top in index.packages)
    found = replace(
        hints,
        package=next(named, ""),
        suspects=suspects,
        host=host,
        fixtures=fixtures_for(host, index) if host else "",
    )
    return replace(found, imports=imports_of(found, issue, index, engine))


def fixtures_for(host: str, index: Index) -> str:
    """Return the code of the fixtures that tests in the file `host` take from conftest files.

    Those that the file uses most come first; what it does not use, and what is too long, is left
    out. Fixtures of the file itself are shown with its tests.
    """
    try:
        text = index.source(host)
    except OSError:
        return ""
    names = fixtures_in_scope(host, index) - PYTEST_FIXTURES
    uses = {name: len(re.findall(rf"\b{re.escape(name)}\b", text)) for name in names}
    found: list[str] = []
    for name in sorted(names, key=lambda name: (-uses[name], name)):
        code = _code(name, host, index) if uses[name] and len(found) < _FIXTURES else ""
        if code and sum(map(len, found)) + len(code) <= _CHARACTERS:
            found.append(code)
    return "\n\n".join(found)


def _code(name: str, host: str, index: Index) -> str:
    """Return the definition of a fixture in the nearest conftest file, "" without one."""
    found = [
        definition
        for definition in index.definitions(name)
        if definition.path.rpartition("/")[2] == "conftest.py"
        and host.startswith(definition.path.removesuffix("conftest.py"))
    ]
    if not found:
        return ""
    nearest = max(found, key=lambda definition: len(definition.path))
    return index.lines(nearest.path, nearest.line, nearest.end_line)


#: Places of the bug whose imports are told, files that they are in, and imports in all.
_MOST_PLACES, _MOST_FILES, _MOST = 4, 2, 12
#: Share of the likeliest place's score below which a place is not worth an import.
_WORTH = 0.5


def imports_of(hints: Hints, issue: Issue, index: Index, engine: Engine | None) -> tuple[str, ...]:
    """Return imports that work: the report's own, of the suspects, of the tests that are shown.

    The `engine` tries them; without it those of the suspects are left out.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    found = [
        item.step.source
        for item in hints.seen
        if item.step.source.startswith(IMPORTS)
        and item.did is not None
        and item.did.raised is None
        and "\n" not in item.step.source
    ]
    own = any(re.search(rf"\b(?:{'|'.join(index.packages)})\b", text) for text in found)
    places = _of_places(issue, hints.suspects, index, known=own) if engine else ()
    for text in _working((*places, *_of_tests(hints, issue, index)), engine):
        # One way to each name is enough.
        taken = {
            name for known in found for name in re.findall(r"\w+", known.partition("import")[2])
        }
        if text.rpartition(" ")[2] not in taken:
            found.append(text)
    every = (*dict.fromkeys(found[:_MOST]), "import pytest")
    return tuple(dict.fromkeys(every))


def _of_places(
    issue: Issue, suspects: Sequence[Place], index: Index, *, known: bool
) -> tuple[str, ...]:
    """Return imports of what is suspected.

    Where the report's own imports work (`known`), a class that it does not name is left out:
    its methods are called on something that the report has.
    """
    named = frozenset(re.findall(r"\w+", issue.text))
    statements: dict[str, None] = {}
    for definition in _likely(suspects, index):
        if known and definition.kind is DefinitionKind.CLASS and definition.name not in named:
            continue
        statements[f"from {index.module_of(definition)} import {definition.name}"] = None
    if not statements and not known and suspects:
        statements[f"import {index.layout.module_of(suspects[0].path)}"] = None
    return tuple(statements)


def _working(statements: Sequence[str], engine: Engine | None) -> tuple[str, ...]:
    """Return those of some imports that work, each once; all where nothing can try them."""
    every = tuple(dict.fromkeys(statements))
    if engine is None or not every:
        return every
    seen = engine.observe(Program(statements=every)).observed
    return tuple(every[did.index] for did in seen if did.raised is None)


def _likely(suspects: Sequence[Place], index: Index) -> Iterator[Definition]:
    """Yield the functions and classes that are likeliest, of few files."""
    files = tuple(dict.fromkeys(suspect.path for suspect in suspects))[:_MOST_FILES]
    best = suspects[0].score if suspects else 0.0
    good = [
        suspect
        for suspect in suspects
        if suspect.function and suspect.path in files and suspect.score >= _WORTH * best
    ]
    for suspect in good[:_MOST_PLACES]:
        name = suspect.function.partition(".")[0]
        yield from (d for d in index.definitions_in(suspect.path) if d.qualname == name)


def _of_tests(hints: Hints, issue: Issue, index: Index) -> tuple[str, ...]:
    """Return the imports of the test file that its shown tests use, or that the report names."""
    tests = show_tests(hints.host, index, MOST_TESTS, hints.worths)
    used = frozenset(re.findall(r"\w+", tests))
    named = frozenset(re.findall(r"\w+", issue.text))
    return tuple(
        item.statement
        for item in (index.imports_in(hints.host) if hints.host else ())
        if item.top
        and (
            item.bound in used
            or (item.bound in named and item.module.partition(".")[0] in index.packages)
        )
    )
