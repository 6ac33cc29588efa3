"""The order in which strategies are tried, and when it is enough.

Replay costs nothing and comes first. Then come samples, as long as they tell anything new, then the
way over passing tests, then the agent. It ends once a test counts: for what it shows, or because
the model quotes what asks for it. A quotation counts only where it stands in the report: a model
that makes words up has not read it, and is not believed, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial

from pytest_brt.agents.prompts import clean, cut, system_and_user
from pytest_brt.agents.reply import first_object
from pytest_brt.errors import ModelProblem, OutOfTime
from pytest_brt.model.model import Model
from pytest_brt.observe.run_snippets import functions_run
from pytest_brt.oracle.judge import failing_line, rescored
from pytest_brt.project.index import Index
from pytest_brt.reproduce.agent import write_tests
from pytest_brt.reproduce.invert import invert
from pytest_brt.reproduce.libro import Libro, size_of
from pytest_brt.reproduce.order import select
from pytest_brt.reproduce.prompt import Findings, fitted, gather
from pytest_brt.reproduce.reduce import reduce_test
from pytest_brt.reproduce.replay import attempt as replay
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import COUNTS, Attempt, Issue, JudgedTest, Note

#: Samples at most, and of the first batch, after which each is as large as all before; those
#: without a failing test that are enough to stop, and those that fail alike that are asked about.
MOST, _BATCH, _HOPELESS, _AGREE = 48, 2, 16, 2
#: Tests of one strategy that the model is asked about.
_ASKED = 3
#: Tokens of the answer, and its JSON schema.
_TOKENS = 200
_SCHEMA = (
    '{"type": "object", "properties": {"words": {"type": "string", "maxLength": 400}}, '
    '"required": ["words"]}'
)
#: Stands for an answer that cannot be read: too short to be in a report.
_UNREAD = "?"
#: Characters of a failure, and of code that is shown with a test.
_FAILURE, _CODE = 1_500, 4_000
#: Share of a quotation's words that must follow each other in the report. With fewer words than the
#: last number it could be anybody's.
_FOUND, _LEAST = 0.8, 3
_WORD = re.compile(r"\w+|[^\w\s`*_]")
#: What is left of a confidence when a model says no, and how much more than enough its yes is: of
#: what a large model wrote and held for right, nearly all was right.
_NO, _CONFIRMED = 0.5, 0.15


class Auto:
    """Makes the tests of one report in the cheapest way that gives good ones."""

    def __init__(self, issue: Issue, number: int, bench: Workbench, index: Index) -> None:
        self.bench = bench
        #: What there is so far.
        self.made = replace(replay(issue, number, bench), strategy="auto")
        observed = bench.observed(issue)
        ran = functions_run(observed, index, bench.engine)
        self.findings = gather(issue, index, bench, observed, ran)
        #: The tests that the model was asked about, as it sees them, by their ids.
        self.asked: dict[str, JudgedTest] = {}

    def run(self) -> Attempt:
        """Try one strategy after the other.

        Raises:
            ModelProblem: replay found nothing, and the model could not be asked even once.
            SubjectProblem: the project's interpreter cannot be started.
        """
        bench, findings = self.bench, self.findings
        ways: dict[str, Callable[[], Attempt] | None] = {
            "judge": None,  # of what replay made
            "libro": self._libro,
            "invert": partial(invert, 0, bench, findings),
            "agent": partial(write_tests, 0, bench, findings),
        }
        late = []
        problem: ModelProblem | None = None
        bench.found(self.made)
        for name, way in ways.items():
            bench.say(f"trying {name}")
            try:
                if way is not None:
                    self._take(way())
                self._ask(self.made.tests, _ASKED)
            except ModelProblem as error:
                problem = problem or error
                if isinstance(error, OutOfTime):
                    late.append(name)
                else:
                    self._note("model-failed", f"{name}: {error}")
            if any(item.judgement.counts for item in self.made.tests):
                break
        if problem is not None and not bench.model.usage.cost.calls:
            if not self.made.tests and not late:
                raise problem
            self._note("without-model", f"without the model: {problem}")
        if late:
            self._note(
                "not-tried", f"more time (--brt-budget) would add: {', '.join(late)}"
            )
        small = [reduce_test(item, bench) for item in self.made.tests]
        return replace(self.made, tests=select(small))

    def _take(self, made: Attempt) -> None:
        """Add what a strategy made; it is all that is shown where the run is interrupted."""
        for note in made.notes:
            self._note(note.code, f"{made.strategy}: {note.text}")
        self.made = replace(
            self.made,
            tests=select([*self.made.tests, *made.tests]),
            trajectories=(*self.made.trajectories, *made.trajectories),
        )
        self.bench.found(self.made)

    def _note(self, code: str, text: str) -> None:
        notes = (*self.made.notes, Note(code=code, text=text))
        self.made = replace(self.made, notes=notes)

    def _ask(self, tests: Iterable[JudgedTest], most: int) -> bool:
        """Ask about new tests, the likeliest first, then the shortest; say whether one counts."""
        new = [t for t in tests if t.judgement.candidate and t.test.id not in self.asked]
        new.sort(key=lambda t: (-t.judgement.confidence, len(t.test.source or "")))
        for item in new[:most]:
            judged = with_opinion(item, self.findings, self.bench.model)
            self.asked[item.test.id] = judged
            kept = [judged if one is item else one for one in self.made.tests]
            self.made = replace(self.made, tests=select(kept))
            if judged.judgement.counts:
                return True
        return False

    def _libro(self) -> Attempt:
        """Draw samples, batch by batch, until a test is held for right or none seems to fail.

        A capable model writes the right test at once: as soon as two samples fail alike, it is
        asked about the likeliest one.
        """
        bench, findings = self.bench, self.findings
        work = Libro(bench, findings, 0, bench.facts(findings.issue), in_auto=True)
        most, leading, is_found = bench.samples or MOST, 0, False
        while not is_found and work.samples < (most if leading else min(most, _HOPELESS)):
            try:
                work.draw(min(max(_BATCH, work.samples), most - work.samples))
                leading = max(map(size_of, work.clusters()), default=0)
                is_found = leading >= _AGREE and self._ask(work.tests(), 1)
            except ModelProblem:
                if not work.samples:
                    raise
                break  # the next question says it
        return Attempt(
            issue=findings.issue.id,
            strategy="libro",
            index=0,
            tests=tuple(self.asked.get(item.test.id, item) for item in work.tests()),
            notes=(work.outcome(),),
        )


# -- a question: which words of the report ask for what a failing test demands? --


def with_opinion(item: JudgedTest, findings: Findings, model: Model) -> JudgedTest:
    """Return a candidate after a model was asked about it: it counts, or is less likely.

    It is as it was where the answer cannot be read, or quotes what the report does not say.

    Raises:
        ModelProblem: the model cannot be reached, or the question does not fit it.
    """
    run, confidence = item.judgement.runs[0], item.judgement.confidence
    failure = (
        f"{run.raised.type}: {clean(run.raised.message)}" if run.raised else run.cause.text
    )
    build = partial(
        system_and_user,
        "judge",
        code=item.test.source or "",
        line=failing_line(item.test, run),
        failure=cut(failure, _FAILURE),
    )
    request = fitted(
        findings, model, build, _CODE, temperature=0.0, max_tokens=_TOKENS, schema=_SCHEMA
    )
    answer = first_object(model.text(request))
    words = str(answer.get("words", _UNREAD)).strip(" .\"'")
    if words.lower() in ("", "none"):
        return rescored(item, confidence * _NO)
    if is_in_report(words, findings.issue):
        return rescored(item, max(confidence, COUNTS + _CONFIRMED))
    return item


def is_in_report(quote: str, issue: Issue) -> bool:
    """Say whether the words of a quotation stand in the report, but for markup and a few."""
    wanted = _WORD.findall(quote.lower())
    text = _WORD.findall(f"{issue.title} {issue.text}".lower())
    longest = SequenceMatcher(None, text, wanted, autojunk=False).find_longest_match().size
    return longest >= max(_LEAST, len(wanted) * _FOUND)
