"""What is known before a model is asked: facts that go into its prompts, and cuts of the report.

Most of it comes from replay's first half, which runs what the report shows: a small model that is
told what a call gives needs to find out only what it should give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pytest_brt.code.hosts import rank_hosts
from pytest_brt.code.index import Index
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.observation import Program
from pytest_brt.localise.evidence import ENDS
from pytest_brt.localise.suspects import Suspect, find_suspects, rank_files
from pytest_brt.reproduce.replay.script import read_script
from pytest_brt.reproduce.replay.watch import Replayed, Seen, watch
from pytest_brt.syntax import parse
from pytest_brt.types import Attempt, BlockKind, Issue

#: Statements whose results are told, and characters of each result.
_MOST_SEEN, _MOST_RESULT = 12, 300
#: Tests of replay's that are shown.
_MOST_TESTS = 2
#: Places of the bug whose imports are told.
_MOST_PLACES = 4
#: How import statements begin.
_IMPORTS = ("import ", "from ")
#: What is raised where there is no network.
_NO_NETWORK = frozenset({"URLError", "gaierror", "NameResolutionError", "NewConnectionError"})
#: What Python says of calls that do not fit the signature.
_CALL = re.compile(
    r"missing \d+ required|takes .* argument|unexpected keyword argument|not callable"
)


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


class Cut(StrEnum):
    """How much of a report is shown; samples of several cuts differ more than of one."""

    WHOLE = "whole"
    #: Title, code and output, with the sentence before each.
    CODE = "code"
    #: Title and sentences, without code.
    PROSE = "prose"
    #: Title, the first sentences and the first code.
    START = "start"


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
    suspects = _with_given(find_suspects(issue, index), buggy)
    if replayed is None and engine is not None:
        replayed = watch(read_script(issue), engine)
    seen = replayed.seen if replayed else ()
    report_code = "\n".join(item.step.source for item in seen)
    places = _importable(suspects, index, engine) if engine is not None else ()
    host = _host(report_code, index, rank_files(suspects))
    tests = [
        judged.test.source
        for judged in (attempt.tests if attempt else ())
        if judged.judgement.candidate and judged.test.source
    ]
    return Hints(
        package=index.packages[0] if index.packages else "",
        suspects=suspects,
        session=tuple(_session(seen)),
        host=host,
        imports=_imports(seen, places, _wanted(issue, host, index)),
        tests=tuple(tests[:_MOST_TESTS]),
    )


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


def _host(code: str, index: Index, suspects: Sequence[str]) -> str:
    text = code if _parses(code) else ""
    ranked = rank_hosts(text, index, suspects=suspects, limit=1) if text or suspects else ()
    return ranked[0].path if ranked else ""


def _parses(code: str) -> bool:
    try:
        parse(code)
    except SyntaxError:
        return False
    return bool(code.strip())


def _session(seen: Iterable[Seen]) -> Iterable[str]:
    """Yield statements with what they did, as an interactive session shows them."""
    shown = [item for item in seen if (item.did is not None or item.ended) and not _artefact(item)]
    if all(item.step.source.startswith(_IMPORTS) and not _failed(item) for item in shown):
        return  # that something can be imported is no news
    for item in shown[:_MOST_SEEN]:
        lines = item.step.source.split("\n")
        text = "\n".join(f"{'>>>' if n == 0 else '...'} {line}" for n, line in enumerate(lines))
        result = _result(item)
        yield f"{text}\n{result}" if result else text


def _failed(item: Seen) -> bool:
    return bool(item.ended) or (item.did is not None and item.did.raised is not None)


def _artefact(item: Seen) -> bool:
    """Return whether what a statement did says something of how it was run, and not of the bug.

    Such are names that the report gives no value, calls in sentences that name a function with
    some of its arguments, or with dots for them, and what there is no network for.
    """
    raised = item.did.raised if item.did else None
    if raised is None:
        return False
    kind = raised.type.rpartition(".")[2]
    said = {said.raised.type.rpartition(".")[2] for said in item.step.said if said.raised}
    if kind in said:
        return False
    if kind in _NO_NETWORK:
        return True
    # What is raised below the statement is raised by the project.
    own = not any(frame.project for frame in raised.frames)
    if kind == "NameError":
        return own
    if not item.step.inline:
        return False
    return kind == "SyntaxError" or (
        kind == "TypeError" and own and bool(_CALL.search(raised.message))
    )


def _result(item: Seen) -> str:
    if item.did is None:
        return item.ended
    did = item.did
    parts = [did.stdout.rstrip("\n")]
    if did.raised is not None:
        message = did.raised.message.strip().split("\n")[0]
        parts.append(f"{did.raised.type}: {message}" if message else did.raised.type)
    elif did.value is not None and not did.value.is_none:
        parts.append(did.value.repr)
    if not item.step.source.startswith(_IMPORTS):
        parts += [f"{warning.type}: {warning.message}" for warning in did.warnings]
    text = "\n".join(part for part in parts if part)
    return text if len(text) <= _MOST_RESULT else f"{text[:_MOST_RESULT]}…"


def _importable(suspects: Sequence[Suspect], index: Index, engine: Engine) -> tuple[str, ...]:
    """Return imports of what is suspected, those that work."""
    statements: dict[str, None] = {}
    for suspect in [suspect for suspect in suspects if suspect.function][:_MOST_PLACES]:
        name = suspect.function.partition(".")[0]
        for definition in index.definitions_in(suspect.path):
            if definition.qualname == name:
                statements[f"from {definition.module} import {name}"] = None
    if not statements:
        return ()
    program = Program(statements=tuple(statements))
    worked = {did.index for did in engine.observe(program).observed if did.raised is None}
    return tuple(text for number, text in enumerate(statements) if number in worked)


def _wanted(issue: Issue, host: str, index: Index) -> tuple[str, ...]:
    """Return the imports of the test file that a test for `issue` may need.

    Those are pytest, the packages themselves, and of the project what the report names.
    """
    named = frozenset(re.findall(r"\w+", issue.text))
    return tuple(
        item.statement
        for item in (index.imports_in(host) if host else ())
        if item.top
        and (item.module == "pytest" or item.module.partition(".")[0] in index.packages)
        and (not item.name or item.bound in named)
    )


def _imports(seen: Iterable[Seen], places: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    found = [
        item.step.source
        for item in seen
        if item.step.source.startswith(_IMPORTS)
        and item.did is not None
        and item.did.raised is None
        and "\n" not in item.step.source
    ]
    for text in (*places, *more):
        # One way to each name is enough.
        taken = {
            name for known in found for name in re.findall(r"\w+", known.partition("import")[2])
        }
        if text.rpartition(" ")[2] not in taken:
            found.append(text)
    return tuple(dict.fromkeys(found))[:12]


def cut_report(issue: Issue, cut: Cut) -> str:
    """Return the part of the report that `cut` names, without its title; all, where it has none."""
    if cut is Cut.WHOLE or not issue.blocks:
        return _without_title(issue)
    prose = (BlockKind.PROSE, BlockKind.HEADING)
    parts: list[str] = []
    for number, block in enumerate(issue.blocks):
        is_prose = block.kind in prose
        before = number + 1 < len(issue.blocks) and issue.blocks[number + 1].kind not in prose
        if cut is Cut.PROSE and is_prose:
            parts.append(block.text)
        elif cut is Cut.CODE and (not is_prose or before):
            parts.append(block.text if is_prose else f"```\n{block.text}\n```")
        elif cut is Cut.START:
            parts.append(block.text if is_prose else f"```\n{block.text}\n```")
            if not is_prose:
                break
    text = "\n\n".join(part.strip("\n") for part in parts if part.strip())
    return text if len(text) >= 40 else _without_title(issue)


def _without_title(issue: Issue) -> str:
    """Return the report's text; a first line that repeats the title is left out."""
    first, _, rest = issue.text.strip().partition("\n")
    return rest.strip() if first.lstrip("# ").strip() == issue.title.strip() else issue.text.strip()


def without(hints: Hints, *names: str) -> Hints:
    """Return `hints` with the fields `names` empty, for prompts that shall not have them."""
    blank = Hints()
    return replace(hints, **{name: getattr(blank, name) for name in names})
