"""The whole of replay: read, run, draft, write, judge, choose."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_brt.codec import content_id
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.observe.run_commands import play
from pytest_brt.observe.watch import Replayed, watch
from pytest_brt.oracle.assertion import literal
from pytest_brt.oracle.facts import Facts
from pytest_brt.oracle.judge import Rating, judge, refused, run_tests
from pytest_brt.oracle.rules import apply_rules
from pytest_brt.oracle.rules.commands import tool_drafts, tool_notes
from pytest_brt.oracle.rules.raises import OWN
from pytest_brt.oracle.rules.report_run import ReportRun
from pytest_brt.oracle.write import Draft, module, script, slug
from pytest_brt.reading.compare import is_steady, likeness
from pytest_brt.reading.mend import parses
from pytest_brt.reading.script import complained, read_script
from pytest_brt.reproduce.replay.notes import miss_notes
from pytest_brt.reproduce.select import select
from pytest_brt.syntax import parse_expression
from pytest_brt.types import (
    Attempt,
    CandidateTest,
    Issue,
    JudgedTest,
    Oracle,
    OracleKind,
    Origin,
    TestRun,
    Verdict,
)

#: Drafts that are run, best first.
_MOST = 16


def replay(
    issue: Issue,
    *,
    engine: Engine,
    repeat: int = 2,
    keep: int | None = None,
    index: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Attempt:
    """Make failing tests from what `issue` shows, running everything through `engine`.

    The attempt holds every test that was considered, best first, and, when none fails for
    the reported reason, notes on what was looked for, found, and is missing.

    Args:
        issue: the report.
        engine: runs what it shows, and the tests.
        repeat: runs on the buggy tree that must agree.
        keep: candidates to keep; None for all.
        index: 0-based number of the run, for the attempt's record.
        progress: is told what happens, a line at a time.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started at all.
    """
    begin = time.monotonic()
    script = read_script(issue)
    progress(f"running {len(script.steps)} statements of the report")
    replayed = watch(script, engine)
    view = ReportRun(issue=issue, script=script, replayed=replayed)
    stage = play(issue, engine)
    commands = tool_drafts(issue, stage)
    own = [draft for draft in apply_rules(view) if not (commands and OWN in draft.reasons)]
    drafts = tuple(sorted((*own, *commands), key=lambda draft: -draft.score))
    proposals = _proposals(issue, drafts, replayed, engine)
    progress(f"trying {len(proposals)} tests on the unpatched tree")
    judged = judge_all(proposals, engine, repeat)
    again = _second_chances(issue, drafts, judged, replayed, engine)
    if again:
        progress(f"trying {len(again)} tests in another way")
        judged = (*judged, *judge_all(again, engine, repeat))
    tests = select(judged, keep)
    return Attempt(
        issue=issue.id,
        strategy="replay",
        index=index,
        tests=tests,
        notes=miss_notes(view, tests, tool_notes(issue, stage)),
        seconds=time.monotonic() - begin,
    )


def _proposals(
    issue: Issue, drafts: tuple[Draft, ...], replayed: Replayed, engine: Engine
) -> list[Proposal]:
    found: dict[str, Proposal] = {}
    taken: set[str] = set()
    for draft in drafts:
        if len(found) >= _MOST:
            break
        proposal = _proposal(issue, draft, replayed, engine, taken)
        if proposal is not None and proposal.test.id not in found:
            taken.add(proposal.test.name)
            found[proposal.test.id] = proposal
    return list(found.values())


def _proposal(
    issue: Issue, draft: Draft, replayed: Replayed, engine: Engine, taken: set[str]
) -> Proposal | None:
    name = _name(issue, draft, taken)
    source = module(draft, replayed, name)
    if source is None:
        return None
    folder = engine.subject.test_root.strip("/")
    path = f"{name}.py" if folder in ("", ".") else f"{folder}/{name}.py"
    test = CandidateTest(
        id=content_id(issue.id, path, source),
        name=name,
        issue=issue.id,
        origin=Origin(strategy="replay"),
        oracle=Oracle(kind=draft.kind, sentence=draft.sentence, prior=round(draft.score, 2)),
        path=path,
        source=source,
        expects=draft.expects,
    )
    wrong, raised = complained([seen.step for seen in replayed.seen])
    return Proposal(
        test=test,
        score=draft.score,
        reasons=draft.reasons,
        against=draft.against,
        facts=Facts(
            text=issue.text,
            crash=False,
            context="",
            wrong=wrong if draft.kind is OracleKind.EQUALS else (),
            raised=raised if draft.kind is OracleKind.MUST_RAISE else (),
        ),
    )


def _name(issue: Issue, draft: Draft, taken: set[str]) -> str:
    about = re.sub(r"[^a-z0-9]+", "_", draft.about.lower()).strip("_")[:30]
    called = slug(issue.source, issue.title)
    parts = [called, "" if about in called.split("_") else about, draft.kind.called]
    stem = "test_" + "_".join(part for part in parts if part)
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}_{number}", number + 1
    return name


def _second_chances(
    issue: Issue,
    drafts: tuple[Draft, ...],
    judged: tuple[JudgedTest, ...],
    replayed: Replayed,
    engine: Engine,
) -> list[Proposal]:
    """Try those again that passed: as tests see results, or with the whole report before them."""
    passed = {
        (item.test.oracle.kind, item.test.oracle.sentence)
        for item in judged
        if not item.judgement.candidate
    }
    taken = {item.test.name for item in judged}
    known = {item.test.source for item in judged}
    found: list[Proposal] = []
    for draft in drafts:
        if (draft.kind, draft.sentence) not in passed or len(found) >= 5:
            continue
        if draft.index is None or draft.against:
            continue
        for other in (
            retold(draft, replayed, engine),
            replace(draft, whole=True, score=draft.score - 0.05),
        ):
            proposal = _proposal(issue, other, replayed, engine, taken) if other else None
            if proposal is not None and _body(proposal.test.source) not in map(_body, known):
                taken.add(proposal.test.name)
                found.append(proposal)
                break
    return found


def _body(source: str | None) -> str:
    return re.sub(r"def test_\w+", "def test", source or "")


_NOTHING = Facts(text="", crash=False, context="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A test to be judged, with what is believed of it."""

    test: CandidateTest
    #: Probability that it is F→P if it fails as it should, in 0..1.
    score: float
    #: Few words each, for the judgement's reason.
    reasons: tuple[str, ...] = ()
    #: What the report says to the contrary, "" for nothing.
    against: str = ""
    #: What the report says that a test must not contradict.
    facts: Facts = _NOTHING


def judge_all(proposals: Sequence[Proposal], engine: Engine, repeat: int) -> tuple[JudgedTest, ...]:
    """Run every test on the unpatched tree and judge it."""
    runs = run_tests([proposal.test for proposal in proposals], engine, repeat)
    return tuple(judge_one(proposal, runs[proposal.test.id]) for proposal in proposals)


def judge_one(proposal: Proposal, runs: tuple[TestRun, ...]) -> JudgedTest:
    """Judge one test by its runs on the unpatched tree."""
    rating = Rating(confidence=proposal.score, reasons=proposal.reasons)
    judged = judge(proposal.test, runs, proposal.facts, lambda _: rating)
    if proposal.against and judged.judgement.candidate:
        return replace(judged, judgement=refused(Verdict.FAIL, proposal.against, runs))
    return judged


def retold(draft: Draft, replayed: Replayed, engine: Engine) -> Draft | None:
    """Return the draft with the text that a test gets to see, None when it cannot be told."""
    if draft.index is None or draft.kind is not OracleKind.GONE or " != " not in draft.body[-1]:
        return None
    text = draft.body[-1].removeprefix("assert ")
    left = _left(text)
    if not left or not (left.endswith(".out") or left.startswith(("str(", "repr("))):
        return None
    lines = [line for line in draft.body[:-1] if not line.startswith("reported = ")]
    probe = replace(draft, body=(*lines, f"raise LookupError({left})"))
    source = module(probe, replayed, "test_probe")
    if source is None:
        return None
    folder = engine.subject.test_root.strip("/")
    path = "test_brt_probe.py" if folder in ("", ".") else f"{folder}/test_brt_probe.py"
    target = TestTarget(id="probe", path=path, source=source, node="test_probe")
    runs = engine.run(Row(targets=(target,))).runs
    raised = runs[0].raised if runs else None
    if raised is None or raised.type != "LookupError" or not is_steady(raised.message):
        return None
    shown = raised.message
    seen = replayed.seen[draft.index].did
    if left.endswith(".out") and seen and not likeness(shown, seen.stdout):
        return _in_own_process(draft, replayed, lines[0], seen.stdout)
    constant = literal(shown)
    body = [*lines, f"assert {left} != {constant}"]
    if "\n" in constant:
        body = [f"reported = {constant}", *lines, f"assert {left} != reported"]
    return replace(
        draft,
        body=tuple(body),
        score=draft.score - 0.02,
        reasons=(*draft.reasons, "as this project's tests see it"),
    )


def _in_own_process(draft: Draft, replayed: Replayed, statement: str, seen: str) -> Draft | None:
    """Print in a process that no conftest has changed, as the report did."""
    plain = replace(draft, body=(statement,), fixtures=())
    text = script(plain, replayed)
    if text is None:
        return None
    code, reported = literal(text), literal(seen)
    return replace(
        draft,
        body=(
            f"script = {code}",
            f"reported = {reported}",
            'command = [sys.executable, "-c", script]',
            'done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)',
            "assert done.stdout != reported",
        ),
        fixtures=(),
        imports=("import subprocess", "import sys"),
        score=draft.score - 0.02,
        reasons=(*draft.reasons, "in a process of its own, as the report shows it"),
    )


def _left(text: str) -> str:
    if not parses(text):
        return ""
    node = parse_expression(text)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.NotEq):
        return ast.get_source_segment(text, node.left) or ""
    return ""
