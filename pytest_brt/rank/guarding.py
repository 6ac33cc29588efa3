"""Which existing tests are run beside the candidates, for how long, and which pin the bug."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from textwrap import dedent
from threading import Lock

from pytest_brt.guard import LOOKING, SILENT, Guard, Selection, Touched, touched_of
from pytest_brt.guard.suite import ExistingTest
from pytest_brt.oracle.asked import pinned
from pytest_brt.syntax import called_name, called_names, parse, parse_or_empty
from pytest_brt.types import FileChange, Guarded, JudgedTest, OracleKind, Patch, Raised, TestRun

#: Seconds of existing tests with each patch, where nothing else is asked for (docs/ranking.md).
EACH = 2.0
_WORD = re.compile(r"[A-Za-z_]\w*")
#: Names in nearly every test, which tell nothing about what it is about.
_COMMON = frozenset({"pytest", "raises", "test", "self", "print", "str", "repr", "len", "list"})


def open_guarding(
    guard: Guard,
    patches: Sequence[Patch],
    total: float | None,
    say: Callable[[str], None] = lambda _: None,
) -> Guarding:
    """Return the guard of all patches of one issue.

    `total` is the seconds for them, and for the search on the unpatched tree; None for what is
    usual. `say` is told how far long work is.
    """
    seconds = EACH if total is None else total / (len(patches) + LOOKING)
    return Guarding(guard=guard, patches=tuple(patches), seconds=seconds, say=say)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The existing tests that are run with each patch of an issue."""

    selection: Selection
    #: Those that assert the reported wrong behaviour.
    pinned: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Guarding:
    """The guard of the patches of one issue, and its budget."""

    guard: Guard
    patches: tuple[Patch, ...]
    #: For each patch.
    seconds: float
    say: Callable[[str], None]
    #: What the patches change; found out when it is first needed.
    _pool: tuple[Touched, ...] | None = field(default=None, init=False)
    _chosen: dict[tuple[Touched, ...], Future[Chosen]] = field(default_factory=dict, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def choose(self, name: str, touched: Touched, tests: Sequence[JudgedTest]) -> Chosen:
        """Return the existing tests to be run with the patch `name`, ranked by `tests`.

        They are the same for all patches of the issue. One that came later, as from a repair, gets
        those that run what it changes as well.
        """
        with self._lock:
            if self._pool is None:
                self._pool = tuple(touched_of(self.patches, self.guard.root))
            pool = self._pool if touched in self._pool else (*self._pool, touched)
            is_mine = pool not in self._chosen
            future = self._chosen.setdefault(pool, Future())
        if is_mine:
            try:
                future.set_result(self._choose(pool, tests))
            except BaseException as error:
                future.set_exception(error)
                raise
        chosen = future.result()
        if chosen.selection.seconds >= SILENT:
            number, seconds = len(chosen.selection.tests), chosen.selection.seconds
            self.say(f"{name}: running {number} existing tests, about {seconds:.0f} s")
        return replace(chosen, selection=chosen.selection.for_patch(touched))

    def _choose(self, pool: tuple[Touched, ...], tests: Sequence[JudgedTest]) -> Chosen:
        selection = self.guard.select(
            pool, allowance=self.seconds, hints=hints_of(tests), say=self.say
        )
        written = tuple(self.guard.written(selection.tests))
        return Chosen(selection=selection, pinned=pinned_among(written, tests))

    def judge(
        self,
        changes: tuple[FileChange, ...],
        touched: Touched,
        chosen: Chosen,
        runs: Sequence[TestRun],
    ) -> Guarded:
        """Return which of the chosen tests a patch breaks, from what they did with it."""
        return self.guard.judge(changes, touched, chosen.selection, runs, chosen.pinned)


def hints_of(tests: Sequence[JudgedTest]) -> frozenset[str]:
    """Return the names that candidate tests use, but for common ones and those they define."""
    words: set[str] = set()
    for judged in tests:
        source = judged.test.source or ""
        try:
            tree = parse(source)
        except SyntaxError:
            words.update(_WORD.findall(source))
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                words.add(node.id)
            elif isinstance(node, ast.Attribute):
                words.add(node.attr)
            elif isinstance(node, ast.keyword) and node.arg:
                words.add(node.arg)
    return frozenset(word for word in words - _COMMON if len(word) > 2)


#: What the left side of a failed comparison was, as pytest's rewritten asserts say it.
_LEFT = re.compile(r"^assert (.+?) (?:==|!=|in|not in|is|is not) ", re.DOTALL)
#: Shortest text of a value that tells something: 0, True or 'a' are in every test.
_TELLING = 4


def pinned_among(
    tests: Iterable[ExistingTest], candidates: Sequence[JudgedTest]
) -> tuple[str, ...]:
    """Return the names of those existing tests that assert the reported wrong behaviour.

    Such a test calls what a candidate calls, with the wrong value (or inside ``raises`` of the
    wrong exception) in the same assertion.
    """
    claims = [claim for judged in candidates for claim in _claims(judged)]
    return tuple(test.name for test in tests if _pins(test, claims))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What a candidate calls, and what it saw there and calls wrong: a value or an exception."""

    calls: frozenset[str]
    values: tuple[str, ...] = ()
    raised: tuple[str, ...] = ()


def _claims(judged: JudgedTest) -> Iterator[_Claim]:
    runs = judged.judgement.runs
    raised = runs[0].raised if runs else None
    called = called_names(parse_or_empty(judged.test.source or ""))
    calls = called - {"raises", "isinstance", "len", "repr", "str"}
    if raised is None or not calls:
        return
    if judged.test.oracle.kind is OracleKind.NO_RAISE:
        yield _Claim(calls=calls, raised=(raised.type.rpartition(".")[2],))
    elif value := _wrong_value(judged.test.oracle.kind, raised):
        yield _Claim(calls=calls, values=(value,))


def _wrong_value(kind: OracleKind, raised: Raised) -> str:
    match = _LEFT.match(raised.message.partition("\n")[0]) if kind.sees_wrong_value else None
    value = match[1] if match else ""
    return value if len(value) >= _TELLING and value not in ("True", "False", "None") else ""


def _pins(test: ExistingTest, claims: Sequence[_Claim]) -> bool:
    claims = [claim for claim in claims if claim.calls & test.words]
    for statement in _assertions(test.source) if claims else ():
        text, calls = ast.unparse(statement), called_names(statement)
        for claim in claims:
            if claim.calls & calls and pinned(text, claim.values, claim.raised):
                return True
    return False


def _assertions(source: str) -> Iterator[ast.AST]:
    """Yield what a test asserts: assert statements, ``raises`` blocks, calls of assert methods."""
    for node in ast.walk(parse_or_empty(dedent(source))):
        if isinstance(node, ast.Assert):
            yield node
        elif isinstance(node, ast.With):
            if any("raises" in ast.unparse(item).lower() for item in node.items):
                yield node
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = called_name(node.value)
            if name.startswith("assert") or name == "raises":
                yield node
