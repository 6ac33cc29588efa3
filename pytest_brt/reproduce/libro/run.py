"""LIBRO: many samples of one prompt, and what they agree on (Kang et al. 2023; paper 001).

What is not said otherwise is theirs: 50 samples at temperature 0.7 and top-p 0.95, tests placed
and given imports after the fact, those that fail clustered, nothing shown unless more than one
sample fails in the same way. Added are what paper 001 missed in it: a round of mending for
tests that only lack names, and tests without what their failure does not need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from pytest_brt.agent.report_text import report_text
from pytest_brt.code.index import Index
from pytest_brt.errors import OutOfTime
from pytest_brt.model.base import Completion, Finish, Prompt, Sampling
from pytest_brt.oracle.facts import read_facts
from pytest_brt.oracle.judge import failure_key, refusal, rescored, run_tests
from pytest_brt.render.causes import run_words
from pytest_brt.reproduce.asking import PREFILL, STOP, answer_room, seed_of
from pytest_brt.reproduce.libro.pool import (
    FailureCluster,
    PooledTest,
    agreement,
    cluster,
    round_robin,
    sample_notes,
)
from pytest_brt.reproduce.model_tests.confidence import Signs, is_repairable, judge_written
from pytest_brt.reproduce.model_tests.make import Maker, Written
from pytest_brt.reproduce.model_tests.reduce import reduce_test
from pytest_brt.reproduce.prompting.context import Hints, gather_hints
from pytest_brt.reproduce.prompting.fit import (
    Brief,
    Listing,
    PromptTooLong,
    bug_values,
    fitted,
    listings_of,
    whole_files,
)
from pytest_brt.reproduce.select import without_doubles
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Attempt, AttemptNote, Ending, Issue, JudgedTest, Origin, Verdict
from pytest_brt.types.attempt import ModelFailed, Shortened
from pytest_brt.types.candidate import COUNTS

#: Tokens of a prompt; long reports take more.
_TOKENS = 2_600
#: Characters per token, at most.
_CHARACTERS = 8
_SAMPLING = Sampling(temperature=0.7, top_p=0.95, max_tokens=512)
#: Of so many likeliest tokens one is drawn where no paper is followed; LIBRO draws of all.
_LIKELIEST = 40


class PromptForm(StrEnum):
    """What stands in the prompt beside the report."""

    #: Two examples of a report and its test: LIBRO as it was published first.
    EXAMPLES = "examples"
    #: The buggy file and the test file it goes with: as paper 001 adapted it.
    FILES = "files"


def sampling_prompt(
    brief: Brief,
    index: Index,
    *,
    form: PromptForm,
    samples: int,
    seed: int = 0,
    facts: bool = False,
) -> tuple[Prompt, tuple[Shortened, ...]]:
    """Return the prompt for `samples` tests, and what did not fit into it.

    With `facts` the model is told what replay found out, which LIBRO does not know; without, only
    which files are suspected. `index` is the project's, for those.

    Raises:
        PromptTooLong: it fits in no way.
    """
    hints, prompts = brief.hints, brief.prompts
    listings: dict[str, Listing] = {}
    if form is PromptForm.FILES:
        listings = listings_of(hints, index) if facts else whole_files(hints, index)
    parts = {
        "report": report_text(brief.issue, whole=not facts),
        "session": "\n".join(hints.session) if facts else "",
        "imports": "\n".join(hints.imports) if facts else "",
        "tests": "\n\n".join(hints.tests[:1]) if facts else "",
        "fixtures": hints.fixtures if facts else "",
        "examples": "both" if form is PromptForm.EXAMPLES else "",
    }
    longest = answer_room(brief.model, _SAMPLING.max_tokens)

    def build(texts: Mapping[str, str]) -> Prompt:
        system, user = prompts.ask("libro", **bug_values(brief, texts))
        examples = prompts.turns("libro/examples") if texts["examples"] else ()
        return Prompt(
            messages=(system, *examples, user),
            sampling=replace(
                _SAMPLING,
                top_k=_LIKELIEST if facts else 0,
                seed=seed,
                max_tokens=longest,
                stop=STOP,
            ),
            samples=samples,
            prefill=PREFILL,
            purpose="libro",
        )

    if form is PromptForm.FILES and not facts:
        # LIBRO is given both files whole; they are made shorter where they do not fit.
        room = brief.model.context * _CHARACTERS
        parts |= {name: make(room) for name, (_, make) in listings.items()}
    # What LIBRO does not have goes first, the report last.
    order = ("tests", "host", "suspected", "examples", "fixtures", "imports", "session", "report")
    return fitted(build, parts, order, brief, listings, most=_TOKENS)[:2]


def repair_prompt(code: str, error: str, problems: tuple[str, ...], brief: Brief) -> Prompt:
    """Return the prompt for another version of a test that does not run.

    Raises:
        PromptTooLong: the test is too long for the model.
    """
    parts = {"code": code, "error": error, "imports": "\n".join(brief.hints.imports)}
    longest = answer_room(brief.model, _SAMPLING.max_tokens)

    def build(texts: Mapping[str, str]) -> Prompt:
        return Prompt(
            messages=brief.prompts.ask("libro/repair", problems=problems, **texts),
            sampling=replace(_SAMPLING, temperature=0.2, max_tokens=longest, stop=STOP),
            prefill=PREFILL,
            purpose="repair",
        )

    return fitted(build, parts, ("imports", "error"), brief)[0]


#: Samples, unless the user says.
SAMPLES = 50
#: Tests that only lack names and are written again, and candidates that are made small, at most.
_REPAIRS, _SMALL = 8, 5
_ENDINGS = {
    Finish.STOP: Ending.FINISH,
    Finish.LENGTH: Ending.TOKENS,
    Finish.TIME: Ending.TIME,
    Finish.LOOP: Ending.LOOP,
}
#: A bug is shown when more samples than this fail alike.
AGREE = 1


class Libro:
    """One issue's samples; `auto` draws them batch by batch, `libro` all at once.

    Each is made into tests, which are run, mended once and judged. Not for several threads.
    """

    def __init__(
        self,
        issue: Issue,
        index: int,
        bench: Workbench,
        project: Index,
        *,
        told: Hints | None = None,
    ) -> None:
        """Sample in run number `index`; each has other seeds.

        `told` is what `auto` found out before. LIBRO does not tell the model of that, and finds
        out which files to show without running anything.
        """
        self.issue = issue
        self.index = index
        self.bench = bench
        self.project = project
        self.in_auto = told is not None
        self.strategy = "auto-libro" if self.in_auto else "libro"
        version = ".".join(map(str, bench.engine.subject.python_version))
        found = told
        if found is None:
            found = gather_hints(issue, project, buggy=bench.buggy, host=bench.host)
            # LIBRO knows files with the bug, and no places in them.
            files = bench.buggy or found.files[:1]
            places = tuple(place for place in found.suspects if place.path in files)
            found = replace(found, suspects=places)
        self.brief = Brief(
            issue=issue,
            hints=replace(found, python=version),
            prompts=bench.prompts,
            model=bench.model,
            index=project,
        )
        self.facts = read_facts(bench.reading(issue))
        self.notes: list[AttemptNote] = []
        if bench.folder.note:
            self.notes.append(bench.folder.note)
        #: How each sample ended.
        self.endings: list[Ending] = []
        self._batches = 0
        self.form = PromptForm.FILES if self.brief.hints.files else PromptForm.EXAMPLES
        self._maker = Maker(
            issue=issue,
            index=project,
            folder=bench.folder,
            host=self.brief.hints.host if self.form is PromptForm.FILES else bench.host,
        )
        self._tests: dict[str, PooledTest] = {}
        #: Samples so far, and those of them without a test that parses.
        self.samples, self._empty = 0, 0

    def draw(self, samples: int) -> None:
        """Ask for `samples` more tests in one batch, run them, and mend what lacks names.

        Raises:
            PromptTooLong: the prompt does not fit the model.
            ModelProblem: the model cannot be asked.
        """
        base = seed_of(self.issue.id, "libro", self.index, self.bench.seed)
        # Every sample has a seed of its own, those of later batches too.
        seed = (base + self.samples) % 2**31
        # Making the prompt asks a server how much fits, so that may take a while as well.
        self.bench.say(f"asking for {samples} tests")
        prompt, notes = sampling_prompt(
            self.brief,
            self.project,
            form=self.form,
            samples=samples,
            seed=seed,
            facts=self.in_auto,
        )
        self.notes += [note for note in notes if note not in self.notes]
        answers = self._answers(prompt)
        self.endings += [_ENDINGS[answer.finish] for answer in answers]
        for place, answer in enumerate(answers):
            made = self._maker.make(answer.text, replace(self._origin, seed=seed + place))
            self._empty += not made
            self._take(made, {self.samples + place})
        self.samples += len(answers)
        self._run()
        if not self.bench.over:
            self._mend()

    def _answers(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return the samples; those of an interrupted run are not asked for again."""
        self._batches += 1
        journal, batch = self.bench.journal, f"batch-{self._batches}"
        names = (self.strategy, self.issue.id, str(self.index), batch, str(prompt.samples))
        known = journal.get(tuple[Completion, ...], *names) if journal else None
        if known is not None:
            return known
        answers = self.bench.model.complete(prompt)
        if journal:
            journal.put(answers, *names)
        return answers

    @property
    def _origin(self) -> Origin:
        return Origin(strategy=self.strategy, model=self.bench.model.name)

    def _take(self, made: Sequence[Written], samples: set[int]) -> None:
        for item in made:
            known = self._tests.setdefault(item.key, PooledTest(item.test, item.problems))
            known.samples |= samples

    def _run(self) -> None:
        new = [item for item in self._tests.values() if not item.runs]
        tests = [item.test for item in new]
        bench = self.bench
        runs = run_tests(tests, bench.engine, bench.repeat, deadline=bench.deadline)
        for item in new:
            item.runs = runs[item.test.id]

    def _mend(self) -> None:
        """Have a few tests that only lack names written again, for the same samples."""
        broken = [item for item in self._tests.values() if not item.mended and item.runs]
        broken = [item for item in broken if is_repairable(item.runs[0])]
        broken.sort(key=lambda item: -len(item.samples))
        for item in broken[:_REPAIRS]:
            item.mended = True
            origin = replace(self._origin, parent=item.test.id)
            self._take(self._maker.make(self._written_again(item), origin), item.samples)
        self._run()
        if broken:
            many = min(len(broken), _REPAIRS)
            self.bench.say(f"{many} tests that lacked names were written again")

    def _written_again(self, item: PooledTest) -> str:
        """Return a model's reply, "" where it is not asked."""
        if self.bench.over:
            return ""
        source, reason = item.test.source or "", run_words(item.runs[0])
        try:
            prompt = repair_prompt(source, reason, item.problems, self.brief)
        except PromptTooLong:
            return ""  # a test of that length is not worth having
        return self.bench.model.complete(prompt)[0].text

    def clusters(self) -> tuple[FailureCluster, ...]:
        """Return the tests that fail for a reason that stands, clustered, best first."""
        every = self._tests.values()
        return cluster((i for i in every if not refusal(i.test, i.runs, self.facts)), self.facts)

    def tests(self) -> tuple[JudgedTest, ...]:
        """Return all tests, judged: candidates first, in LIBRO's order.

        A bug is shown when more than one sample fails alike; all tests count when patches are
        ranked. `auto` believes a test that stands alone too, and cuts what
        tests do not need when it has them all.
        """
        clusters = self.clusters()
        judged = self._judged(clusters)
        if self.in_auto:
            return without_doubles(judged)
        if agreement(clusters) <= AGREE:
            judged = tuple(map(_unsure, judged))
        engine, repeat = self.bench.engine, self.bench.repeat
        first = [item for item in judged if item.judgement.candidate][:_SMALL]
        small = [reduce_test(item, engine, repeat, self.facts) for item in first]
        return without_doubles((*small, *judged[len(small) :]))

    def _judged(self, clusters: Sequence[FailureCluster]) -> tuple[JudgedTest, ...]:
        sizes = {found.key: found.size for found in clusters}

        def judged(item: PooledTest) -> JudgedTest:
            agree = sizes.get(failure_key(item.runs[0]), 1) if item.runs else 1
            signs = Signs(agree=agree, samples=self.samples, same=len(item.samples))
            return judge_written(item.test, item.runs, self.facts, signs)

        failing = round_robin(clusters)
        others = [judged(item) for item in self._tests.values() if item not in failing]
        others.sort(key=lambda item: item.judgement.verdict != Verdict.FAIL)
        return (*map(judged, failing), *others)

    def told(self) -> tuple[AttemptNote, ...]:
        """Return what became of the samples."""
        return sample_notes(tuple(self._tests.values()), self.samples, self._empty)


def _unsure(item: JudgedTest) -> JudgedTest:
    """Return a candidate as one that no bug is shown by: too few samples agree."""
    judgement = item.judgement
    if not judgement.candidate:
        return item
    confidence = min(judgement.confidence, COUNTS - 0.01)
    return rescored(item, confidence, f"fewer than {AGREE + 1} samples fail alike")


def libro(issue: Issue, index: int, bench: Workbench, project: Index) -> Attempt:
    """Make failing tests of `issue` as LIBRO does.

    Raises:
        ModelProblem: the model cannot be asked.
        SubjectProblem: the subject's interpreter cannot be started.
    """
    work = Libro(issue, index, bench, project)
    samples = bench.samples or SAMPLES
    try:
        work.draw(samples)
    except (PromptTooLong, OutOfTime) as problem:
        work.notes.append(ModelFailed(said=str(problem)))
        if not work.endings:
            late = isinstance(problem, OutOfTime)
            work.endings += [Ending.TIME if late else Ending.TOKENS] * samples
    tests = work.tests()
    found = any(item.judgement.candidate for item in tests)
    return Attempt(
        issue=issue.id,
        strategy="libro",
        index=index,
        tests=tests,
        notes=(*work.notes, *(() if found else work.told())),
        endings=tuple(work.endings),
    )
