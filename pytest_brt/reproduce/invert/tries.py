"""The versions of a test that are tried, and what each did.

The first need no model: what the report's own code does on the buggy tree, pinned.
"""

from __future__ import annotations

import builtins
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_brt.observe.watch import Replayed, Seen
from pytest_brt.oracle.assertion import literal
from pytest_brt.oracle.facts import Facts, matches, simple
from pytest_brt.oracle.judge import is_isolation, refusal, run_tests
from pytest_brt.oracle.write import Draft, module
from pytest_brt.render.causes import run_words
from pytest_brt.reproduce.model_tests.confidence import judge_written
from pytest_brt.reproduce.model_tests.make import Maker, Written
from pytest_brt.reproduce.model_tests.small import made_small
from pytest_brt.reproduce.opinion import Opinion, with_opinion
from pytest_brt.reproduce.select import dropped
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import CandidateTest, JudgedTest, OracleKind, Origin, TestRun, Verdict
from pytest_brt.types.reading import ClaimKind, ClaimRole

#: Longer values say nothing that one could put right by hand.
_LONGEST = 600
#: Types whose values can be compared with as they are shown.
_PLAIN = frozenset({"str", "int", "bool", "list", "tuple", "dict"})
#: Exceptions of a report's code that lacks something, and not of the project.
_OURS = frozenset({"NameError", "UnboundLocalError", "ModuleNotFoundError", "SyntaxError"})
#: Weight of a statement that is shown without a word.
_SHOWN = 2
#: Starts that are tried, best first.
MOST = 3


def starts(replayed: Replayed, name: str) -> dict[str, str]:
    """Return tests that pin what one statement did, those that are about a complaint first.

    With the source of each stands what it does in a few words, as a plan. Not all of them must
    pass: what was seen may depend on the session it was seen in.
    """
    weights = [_weight(seen) for seen in replayed.seen]
    found: dict[str, str] = {}
    for number in sorted(range(len(weights)), key=lambda n: (-weights[n], -n)):
        seen = replayed.seen[number]
        body = _body(seen)
        # Of what nobody complains about one is enough.
        most = MOST if weights[number] > _SHOWN else 1
        if len(found) >= most or not body or weights[number] <= 0:
            continue
        draft = Draft(
            kind=OracleKind.WRITTEN,
            index=number,
            body=body,
            sentence="Does what the report does.",
            score=0.0,
            fixtures=("capsys",) if "capsys" in body[-1] else (),
            imports=("import pytest",) if "pytest." in body[0] else (),
        )
        source = module(draft, replayed, name)
        if source:
            shown = " ".join(seen.step.source.split())[:120]
            found.setdefault(source, f"run {shown!r} as the report does")
    return found


def _weight(seen: Seen) -> int:
    """Say how likely the report complains about what a statement does."""
    roles = {said.role for said in seen.step.claims}
    kinds = {said.kind for said in seen.step.claims}
    if seen.did is None:
        return 0
    weight = 1
    weight += 4 * (ClaimRole.OBSERVED in roles or ClaimKind.WRONG in kinds)
    weight += 3 * (ClaimRole.EXPECTED in roles)
    weight += 2 * (seen.did.raised is not None)
    weight += ClaimRole.SHOWN in roles
    return 0 if roles == {ClaimRole.CONTRAST} else weight


def _body(seen: Seen) -> tuple[str, ...]:
    """Return lines that assert what the statement did, () when that cannot be written down."""
    did, source = seen.did, seen.step.source.strip()
    if did is None or seen.missing or "0x" in source or "version" in source:
        return ()
    if did.raised and (is_isolation(did.raised) or simple(did.raised.type) in _OURS):
        return ()
    if did.raised is not None:
        name = did.raised.type
        if "." not in name and isinstance(getattr(builtins, name, None), type):
            return (f"with pytest.raises({name}):\n{textwrap.indent(source, '    ')}",)
        return (
            f"with pytest.raises(Exception) as caught:\n{textwrap.indent(source, '    ')}",
            f'assert type(caught.value).__name__ == "{simple(name)}"',
        )
    if did.value is not None and not did.value.is_none and "\n" not in source:
        shown = did.value.repr
        if not shown or len(shown) > _LONGEST or "0x" in shown:
            return ()
        if did.value.evaluable and did.value.type in _PLAIN:
            return (f"assert {source} == {shown}",)
        return (f"assert repr({source}) == {literal(shown)}",)
    if did.stdout and len(did.stdout) <= _LONGEST and "0x" not in did.stdout:
        return (source, f"assert capsys.readouterr().out == {literal(did.stdout)}")
    return ()


#: Lines of a failure that a model is shown.
_LINES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedVersion:
    """One version, and what it did on the buggy tree."""

    written: Written
    runs: tuple[TestRun, ...]
    #: What happened, for the model.
    told: str
    #: It fails for a reason that stands.
    candidate: bool
    #: And the failure is what the report speaks of, as far as rules can tell.
    reported: bool
    #: It passes, and is about the project.
    passes: bool

    @property
    def source(self) -> str:
        """The test as a module."""
        return self.written.test.source or ""


@dataclass(slots=True, kw_only=True, eq=False)
class Tries:
    """Runs versions and remembers them; not for several threads."""

    maker: Maker
    facts: Facts
    bench: Workbench
    #: What the model says of a candidate, by its id.
    opinions: dict[str, Opinion] = field(default_factory=dict)
    _known: dict[str, TriedVersion] = field(default_factory=dict)

    def run(self, reply: str, *, parent: TriedVersion | None = None) -> TriedVersion | None:
        """Run the tests in a reply and return the one that counts, None when it has none.

        That is one that fails as it should where a passing one was to be turned (`parent`),
        and one that passes otherwise.
        """
        origin = Origin(
            strategy="invert",
            model=self.bench.model.name,
            parent=parent.written.test.id if parent else "",
        )
        made = self.maker.make(reply, origin)
        new = [item for item in made if item.key not in self._known]
        tests = [item.test for item in new]
        bench = self.bench
        runs = run_tests(tests, bench.engine, bench.repeat, deadline=bench.deadline)
        for item in new:
            self._known[item.key] = self._tried(item, runs[item.test.id])
        found = [self._known[item.key] for item in made]

        def order(tried: TriedVersion) -> tuple[bool, bool]:
            return (tried.candidate, tried.passes) if parent else (tried.passes, tried.reported)

        return max(found, key=order) if found else None

    def _tried(self, item: Written, runs: tuple[TestRun, ...]) -> TriedVersion:
        why_not = refusal(item.test, runs, self.facts)
        passes = bool(runs) and all(run.verdict is Verdict.PASS for run in runs)
        packages = self.maker.index.packages
        own = _imports(item.test, packages)
        if not why_not and runs[0].mismatch:
            why_not = "the project has no such thing, or cannot be called like this"
        candidate = not why_not and own
        match = matches(self.facts, item.test.source or "", runs[0].raised) if candidate else ""
        return TriedVersion(
            written=item,
            runs=runs,
            told=_told(runs, why_not, packages if passes and not own else ()),
            candidate=candidate,
            reported=bool(match),
            passes=passes and own,
        )

    def judge(self, tried: TriedVersion) -> JudgedTest:
        """Return a version with its judgement."""
        return judge_written(tried.written.test, tried.runs, self.facts)

    def has_accepted(self) -> bool:
        """Say whether a candidate was judged, and not held for another bug."""
        # One that came about by mistake was never judged.
        candidates = (tried.written.test.id for tried in self._known.values() if tried.candidate)
        judged = (self.opinions[test] for test in candidates if test in self.opinions)
        return any(opinion.right is not False for opinion in judged)

    def judged(self) -> tuple[JudgedTest, ...]:
        """Return every version, judged; candidates without what their failure does not need."""
        found = []
        for tried in self._known.values():
            item = self.judge(tried)
            opinion = self.opinions.get(tried.written.test.id)
            if opinion is not None:
                small = made_small(item, self.bench.engine, self.bench.repeat, self.facts)
                item = with_opinion(small, opinion, self.facts)
            elif item.judgement.candidate:
                # It was to pass, or demands nonsense.
                item = dropped(item, "fails, but not as was wanted")
            found.append(item)
        return tuple(found)


def _imports(test: CandidateTest, packages: Sequence[str]) -> bool:
    """Say whether a test imports anything of the project; else it cannot be about it."""
    names = "|".join(map(re.escape, packages))
    source = test.source or ""
    return not names or bool(re.search(rf"(?m)^\s*(?:from|import)\s[^\n]*\b(?:{names})\b", source))


def _told(runs: tuple[TestRun, ...], why_not: str, missing: Sequence[str]) -> str:
    if not runs:
        return "It did not run."
    run = runs[0]
    if run.verdict is Verdict.PASS:
        if missing:
            name = f"`{missing[0]}`"
            return f"It passes, but it does not use the package {name}: import it from there."
        return "It passes."
    message = run.raised.message.strip() if run.raised else ""
    lines = message.split("\n")[:_LINES] if message else []
    if run.verdict is Verdict.FAIL:
        kind = run.raised.type if run.raised else ""
        shown = "\n".join(
            [f"It fails with {kind}: {lines[0]}" if lines else "It fails.", *lines[1:]]
        )
        return f"{shown}\nThis test is not accepted: {why_not}." if why_not else shown
    return f"It cannot run ({run.verdict}): {run_words(run)}"
