"""LIBRO: many samples of one prompt, and what they agree on (Kang et al. 2023; paper 001).

What is not said otherwise is theirs: 50 samples at temperature 0.7 and top-p 0.95, tests placed
and given imports after the fact, those that fail clustered, nothing shown unless more than one
sample fails in the same way. Added are what paper 001 missed in it: a round of mending for
tests that only lack names, and tests without what their failure does not need.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pytest_brt.code.index import Index
from pytest_brt.code.normal import test_key
from pytest_brt.errors import OutOfTime
from pytest_brt.model.base import Completion, Finish, Prompt, Sampling
from pytest_brt.oracle.facts import read_facts
from pytest_brt.reproduce.asking import Asker, seed_of
from pytest_brt.reproduce.libro.pool import Entry, Pool, agreement
from pytest_brt.reproduce.libro.prompt import Form, repair_prompt, sampling_prompt
from pytest_brt.reproduce.model_tests.make import Maker
from pytest_brt.reproduce.model_tests.small import made_small
from pytest_brt.reproduce.prompting.context import Hints, gather_hints
from pytest_brt.reproduce.prompting.cuts import Cut
from pytest_brt.reproduce.prompting.fit import PromptTooLong
from pytest_brt.reproduce.select import dropped
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Attempt, Ending, Issue, JudgedTest

#: Candidates that are made small.
_SMALL = 5
_ENDINGS = {
    Finish.STOP: Ending.FINISH,
    Finish.LENGTH: Ending.TOKENS,
    Finish.TIME: Ending.TIME,
    Finish.LOOP: Ending.LOOP,
}
#: Samples from which on it says something that no two of them agree.
MANY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LibroSettings:
    """What may be changed about LIBRO."""

    samples: int = 50
    sampling: Sampling = field(
        default_factory=lambda: Sampling(temperature=0.7, top_p=0.95, max_tokens=512)
    )
    #: None takes the files when it is known which they are, else examples.
    form: Form | None = None
    #: A bug is shown when more samples than this fail in the same way; None is LIBRO's 1
    #: where there are samples enough to agree, else 0.
    threshold: int | None = None
    #: Tests that only lack names and are written again, at most.
    repairs: int = 8
    #: Candidates to keep; None for all.
    keep: int | None = None
    repeat: int = 2
    #: 0-based number of the run; each has other seeds.
    index: int = 0
    #: What was found out before; gathered when None, without running anything.
    hints: Hints | None = None
    #: Whether the model is told of what replay found, which LIBRO does not do.
    facts: bool = False
    #: Whether irrelevant parts of the best tests are cut.
    shrink: bool = True
    strategy: str = "libro"


class Libro:
    """One issue's samples; `auto` draws them batch by batch, `libro` all at once."""

    def __init__(
        self, issue: Issue, index: Index, bench: Workbench, settings: LibroSettings
    ) -> None:
        self.issue = issue
        self.index = index
        self.bench = bench
        self.settings = settings
        self.asker = Asker(bench.model, deadline=bench.deadline)
        version = ".".join(map(str, bench.engine.subject.python_version))
        found = settings.hints or gather_hints(issue, index, buggy=bench.buggy, host=bench.host)
        self.hints = replace(found, python=version)
        self.facts = read_facts(issue)
        self.notes: list[str] = []
        #: How each sample ended.
        self.endings: list[Ending] = []
        self._batches = 0
        form = settings.form
        known = bool(self.hints.files)
        self.form = form if form is not None else Form.FILES if known else Form.EXAMPLES
        maker = Maker(
            issue=issue,
            index=index,
            test_root=bench.engine.subject.test_root,
            host=self.hints.host if self.form is Form.FILES else bench.host,
        )
        self.pool = Pool(
            maker=maker,
            facts=self.facts,
            engine=bench.engine,
            repeat=settings.repeat,
            model=bench.model.name,
            strategy=settings.strategy,
            deadline=bench.deadline,
        )

    def draw(self, samples: int, *, cut: Cut = Cut.WHOLE, form: Form | None = None) -> None:
        """Ask for `samples` more tests in one batch, run them, and mend what lacks names.

        Raises:
            PromptTooLong: the prompt does not fit the model.
            ModelProblem: the model cannot be asked.
        """
        settings = self.settings
        base = seed_of(self.issue.id, "libro", settings.index, self.bench.seed)
        # Every sample has a seed of its own, those of later batches too.
        seed = (base + self.pool.samples) % 2**31
        # Making the prompt asks a server how much fits, so that may take a while as well.
        self.bench.say(f"asking for {samples} tests")
        prompt, notes = sampling_prompt(
            self.issue,
            form=form or self.form,
            hints=self.hints,
            index=self.index,
            prompts=self.bench.prompts,
            model=self.bench.model,
            sampling=replace(settings.sampling, seed=seed),
            samples=samples,
            cut=cut,
            facts=settings.facts,
        )
        self.notes += [note for note in notes if note not in self.notes]
        answers = self._answers(prompt)
        self.endings += [_ENDINGS[answer.finish] for answer in answers]
        self.pool.add([answer.text for answer in answers], seed)
        if settings.repairs and not self.asker.over:
            mended = self.pool.mend(self._mend, settings.repairs)
            if mended:
                self.bench.say(f"{mended} tests that lacked names were written again")

    def _answers(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return the samples; those of an interrupted run are not asked for again."""
        self._batches += 1
        journal = self.bench.journal
        names = (
            self.settings.strategy,
            self.issue.id,
            str(self.settings.index),
            f"batch-{self._batches}",
            str(prompt.samples),
        )
        known = journal.get(tuple[Completion, ...], *names) if journal else None
        if known is not None:
            return known
        answers = self.asker.ask(prompt)
        if journal:
            journal.put(answers, *names)
        return answers

    def _mend(self, entry: Entry) -> str:
        if self.asker.over:
            return ""
        try:
            prompt = repair_prompt(
                entry.test.source or "",
                entry.runs[0].reason,
                problems=entry.problems,
                imports=self.hints.imports,
                prompts=self.bench.prompts,
                model=self.bench.model,
                sampling=replace(self.settings.sampling, temperature=0.2),
            )
        except PromptTooLong:
            return ""  # a test of that length is not worth having
        return self.asker.ask(prompt)[0].text

    def tests(self) -> tuple[JudgedTest, ...]:
        """Return all tests, judged: candidates first, in LIBRO's order."""
        settings = self.settings
        judged = list(self.pool.judged())
        agree = agreement(self.pool.clusters())
        threshold = settings.threshold
        if threshold is None:
            threshold = int(self.pool.samples >= MANY)
        if 0 < agree <= threshold:
            least = f"{threshold + 1} samples"
            return tuple(dropped(j, f"not shown: fewer than {least} fail alike") for j in judged)
        places = [n for n, item in enumerate(judged) if item.judgement.candidate]
        if settings.keep is not None:
            for place in places[settings.keep :]:
                words = f"not kept: {settings.keep} others come before it"
                judged[place] = dropped(judged[place], words)
        for place in places[: min(_SMALL, settings.keep or _SMALL)] if settings.shrink else ():
            judged[place] = self._small(judged[place])
        return tuple(_without_doubles(judged))

    def _small(self, item: JudgedTest) -> JudgedTest:
        return made_small(item, self.bench.engine, self.settings.repeat, self.facts)


def libro(issue: Issue, index: Index, bench: Workbench, settings: LibroSettings) -> Attempt:
    """Make failing tests of `issue` as LIBRO does.

    Raises:
        ModelProblem: the model cannot be asked.
        SubjectProblem: the subject's interpreter cannot be started.
    """
    begin = time.monotonic()
    work = Libro(issue, index, bench, settings)
    try:
        work.draw(settings.samples)
    except (PromptTooLong, OutOfTime) as problem:
        work.notes.append(str(problem))
        if not work.endings:
            late = isinstance(problem, OutOfTime)
            work.endings += [Ending.TIME if late else Ending.TOKENS] * settings.samples
    tests = work.tests()
    found = any(item.judgement.candidate for item in tests)
    return Attempt(
        issue=issue.id,
        strategy=settings.strategy,
        index=settings.index,
        tests=tests,
        notes=(*work.notes, *(() if found else work.pool.notes())),
        seconds=time.monotonic() - begin,
        cost=work.asker.cost,
        endings=tuple(work.endings),
    )


def _without_doubles(judged: Sequence[JudgedTest]) -> Iterator[JudgedTest]:
    """Yield the tests; candidates that became the same by being cut are none any more."""
    seen: dict[str, str] = {}
    for item in judged:
        key = test_key(item.test.source or "")
        if item.judgement.candidate and key in seen:
            yield dropped(item, f"the same code as {seen[key]}")
            continue
        if item.judgement.candidate:
            seen[key] = item.test.name
        yield item
