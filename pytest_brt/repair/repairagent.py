"""RepairAgent (Bouzenia et al., ICSE 2025; paper 004) for Python: a state machine with 14 tools.

The order within a state is the model's own. What is known (state, hypotheses, fixes that were
tried) is read off the steps each time, so that an interrupted repair resumes. Its prompt has the
sections of the paper (III-C), the stable ones first, so that a model which keeps what it evaluated
has little to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated as A

from pytest_brt.agent.action import NO_FILE, File, Outcome, Refusal, action, actions_of, describe
from pytest_brt.agent.definitions import (
    list_calls,
    list_definitions,
    search_definitions,
    show_definition,
)
from pytest_brt.agent.excerpt import cut
from pytest_brt.agent.lines import show_lines
from pytest_brt.agent.loop import Turn, run_agent
from pytest_brt.agent.memory import Counter, Entry, fit_entries
from pytest_brt.agent.paths import closest
from pytest_brt.agent.prompts import fenced
from pytest_brt.agent.report_text import fitting_report
from pytest_brt.agent.running import tell_runs
from pytest_brt.localise.query import query_of
from pytest_brt.model.base import Message, Role, Sampling
from pytest_brt.repair.bench import RepairBench, Without
from pytest_brt.repair.bug import tell_places, tell_suspect_lines
from pytest_brt.repair.method_body import ask_for_method
from pytest_brt.repair.result import repair_of
from pytest_brt.repair.run_tests import FAILING, Which, tests_outcome
from pytest_brt.repair.trial import first_runs
from pytest_brt.repair.write_fix import (
    ABOUT,
    BLOCKS,
    LINES,
    Changes,
    fix_outcome,
    try_fix,
    try_variants,
)
from pytest_brt.types import Finished, FixTried, Repair, Step

#: Steps of one run, and fixes that must be tried before they are used up.
STEPS, FIXES = 40, 4
#: Longest reply, in tokens: a header and a few dozen lines of code; and longest result of a
#: command, where the context has room for it.
_REPLY, _OBSERVATION = 900, 4_000


def run_repairagent(index: int, bench: RepairBench) -> Repair:
    """Carry out one run of RepairAgent; runs after the first are drawn more freely.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    issue = bench.bug.issue.id
    if not bench.bug.failing:
        note = (
            "no test fails because of the bug, so no fix can be judged (give one with "
            "--brt-tests PATH, or take --brt-strategy auto)"
        )
        return Repair(issue=issue, strategy="repairagent", index=index, fixes=(), notes=(note,))
    sampling = Sampling(
        temperature=0.6 if index else 0.0,
        top_p=0.95,
        top_k=0,
        seed=bench.seed,
        max_tokens=_REPLY,
    )
    agent = RepairAgent(bench)
    session = bench.session(
        "repairagent", index, steps=STEPS, sampling=sampling, observation=_OBSERVATION
    )
    return repair_of(bench, "repairagent", index, run_agent(agent, session))


class State(StrEnum):
    """What a repair is at; the names are the paper's."""

    UNDERSTAND = "understand"
    COLLECT = "collect"
    TRY = "try"
    DONE = "done"


_READING = ("read_range", "get_classes_and_methods", "extract_method", "extract_tests")
_SEARCHING = ("search_code_base", "find_similar_api_calls", "generate_method_body")

#: State → the actions it has → the state after each. What is not in here is refused.
STATES: Mapping[State, Mapping[str, State]] = {
    State.UNDERSTAND: {
        **dict.fromkeys((*_READING, "run_tests", "run_fault_localization"), State.UNDERSTAND),
        "express_hypothesis": State.COLLECT,
    },
    State.COLLECT: {
        **dict.fromkeys((*_READING, *_SEARCHING), State.COLLECT),
        "write_fix": State.TRY,
        "discard_hypothesis": State.UNDERSTAND,
    },
    State.TRY: {
        "write_fix": State.TRY,
        "read_range": State.TRY,
        "collect_more_information": State.COLLECT,
        "discard_hypothesis": State.UNDERSTAND,
        "goal_accomplished": State.DONE,
    },
    State.DONE: {},
}


class RepairAgent:
    """Repairs one bug; everything that it knows between steps is in the steps."""

    def __init__(self, bench: RepairBench) -> None:
        """Repair the bench's bug, with what it says is switched off."""
        self.bench = bench
        self.bug = bench.bug
        self.steps = bench.steps or STEPS
        self.actions = actions_of(self)
        if Without.SEARCH in bench.without:
            for name in _SEARCHING:
                del self.actions[name]

    def allowed(self, steps: Sequence[Step]) -> Sequence[str]:
        """Return the actions of the state after `steps`; the end only once a fix is kept."""
        if Without.STATES in self.bench.without:
            return tuple(self.actions)
        state = state_after(steps)
        own = [name for name in STATES[state] if name in self.actions]
        if not any(fix.passes for fix in tried_fixes(steps)):
            own = [name for name in own if name != "goal_accomplished"]
        return own

    # -- reading --

    @action()
    def read_range(
        self,
        turn: Turn,
        path: A[File, "a file"],
        first: A[int, "first line"],
        last: A[int, "last line"],
    ) -> Outcome:
        """Show lines of a file."""
        return Outcome(observation=show_lines(turn.tree, path, first, last, turn.room))

    @action()
    def get_classes_and_methods(self, turn: Turn, path: A[File, "a file"]) -> Outcome:
        """List the classes and functions of a file with their lines."""
        query = query_of(self.bug.issue)
        found = list_definitions(self.bug.index, path, query, shows="extract_method")
        return Outcome(observation=found)

    @action()
    def extract_method(
        self, turn: Turn, path: A[File, "a file"], name: A[str, "a function or method in it"]
    ) -> Outcome:
        """Show the whole source of a function or method."""
        return Outcome(
            observation=show_definition(turn.tree, self.bug.index, path, name, turn.room)
        )

    @action()
    def extract_tests(
        self, turn: Turn, name: A[str, "name of the test, or nothing for the first"] = ""
    ) -> Outcome:
        """Show the source of a failing test."""
        names = {judged.test.name: judged for judged in self.bug.failing}
        if not names:
            raise Refusal("There is no failing test. Read the code that the report names.")
        asked = name.rpartition("::")[2].strip()
        meant = closest(asked, names).name if asked else next(iter(names))
        if not meant:
            raise Refusal(f"There is no failing test {asked!r}. There are: {', '.join(names)}.")
        code = fenced(self.bug.source_of(names[meant]), "python")
        return Outcome(observation=f"{names[meant].test.path}: {meant} fails:\n{code}")

    # -- searching --

    @action()
    def search_code_base(
        self, turn: Turn, keywords: A[str, "a few words or identifiers"]
    ) -> Outcome:
        """Find files, classes and functions by words of their names or code."""
        return Outcome(observation=search_definitions(turn.tree, self.bug.index, keywords))

    @action()
    def find_similar_api_calls(
        self,
        turn: Turn,
        name: A[str, "a function's name, or code that calls it"],
        path: A[File, "a file, or nothing for the project"] = NO_FILE,
    ) -> Outcome:
        """Show calls of a function, in one file or in the whole project."""
        return Outcome(observation=list_calls(self.bug.index, name, path))

    @action()
    def generate_method_body(
        self, turn: Turn, path: A[File, "a file"], name: A[str, "a function or method in it"]
    ) -> Outcome:
        """Ask for a new version of a function."""
        return Outcome(observation=ask_for_method(self.bug, turn, path, name))

    # -- testing --

    @action()
    def run_tests(self, turn: Turn, which: Which = FAILING) -> Outcome:
        """Run the failing tests, or all tests of the project, on the code as it is."""
        return tests_outcome(self.bug, turn, which)

    @action()
    def run_fault_localization(self, turn: Turn) -> Outcome:
        """Say which functions and lines are most suspicious."""
        places = tell_places(self.bug)
        if self.bug.is_place_given:
            return Outcome(observation=places)
        told = [places, tell_suspect_lines(self.bug)]
        return Outcome(observation="\n\n".join(filter(None, told)))

    @action(ABOUT, code=BLOCKS, lines=LINES)
    def write_fix(self, turn: Turn, changes: Changes, code: tuple[str, ...]) -> Outcome:
        """Try a fix, and variants of one that fails."""
        first = try_fix(self.bug, changes, code, standing_hypothesis(turn.steps))
        is_known = any(fix.key == first.trial.key for fix in tried_fixes(turn.steps))
        if first.trial.stands or is_known or not self.bench.variants:
            return fix_outcome(self.bug, first)
        return try_variants(self.bug, turn, first, self.bench.variants)

    # -- steering --

    @action(deserves_thought=True)
    def express_hypothesis(
        self, turn: Turn, hypothesis: A[str, "what is wrong, and where", 400]
    ) -> Outcome:
        """Say what the bug is: where, and why it goes wrong. Then you can fix it."""
        return Outcome(observation="Noted. Collect what you need to fix it, then write the fix.")

    @action(repeatable=True)
    def discard_hypothesis(self, turn: Turn, reason: A[str, "why it is wrong", 300]) -> Outcome:
        """Give the hypothesis up, as when fixes of it do not work."""
        return Outcome(observation="Discarded. Look again, then express another hypothesis.")

    @action(repeatable=True)
    def collect_more_information(self, turn: Turn) -> Outcome:
        """Go back to reading and searching before the next fix."""
        return Outcome(observation="You can read and search again.")

    @action(repeatable=True)
    def goal_accomplished(
        self, turn: Turn, reason: A[str, "why the fix is right", 300] = ""
    ) -> Outcome:
        """End: a fix passes the bug tests."""
        fixes = tried_fixes(turn.steps)
        if not any(fix.passes for fix in fixes):
            raise Refusal("No fix works yet. Write another fix.")
        is_asked = any(step.action == "goal_accomplished" for step in turn.steps)
        if not is_asked and not any(fix.stands for fix in fixes):
            raise Refusal(
                "The fix breaks existing tests. If those assert what the report calls wrong, end "
                "again; if not, write a fix that keeps them."
            )
        return Outcome(observation="Done.", effects=(Finished(),))

    # -- the prompt --

    def messages(self, steps: Sequence[Step], room: int, count: Counter) -> Sequence[Message]:
        """Return the sections of the paper (III-C), those that never change first."""
        system = self._system(room, count)
        bug = self._known(system, room, count)
        tail = self._tail(steps, room, count)
        left = room - count.of([system]) - count(bug) - count(tail) - _MARKUP
        entries = [entry_of(step, steps) for step in self._gathered(steps)]
        gathered = _by_action(fit_entries(entries, left, count), steps)
        user = "\n\n".join([bug, *gathered, tail])
        return (system, Message(role=Role.USER, text=user))

    def _system(self, room: int, count: Counter) -> Message:
        system = self._render_system(is_short=False)
        if count(system.text) <= room * _SYSTEM:
            return system
        return self._render_system(is_short=True)

    def _render_system(self, *, is_short: bool) -> Message:
        return self.bug.prompts.message(
            Role.SYSTEM,
            "repair/system",
            tools=describe(self.actions.values()),
            short=is_short,
            steps=self.steps,
            place_given=self.bug.is_place_given,
        )

    def _known(self, system: Message, room: int, count: Counter) -> str:
        """Return the section on the bug: the report, the places and the failing tests."""
        bug = self.bug
        report = fitting_report(bug.issue, max(64, int(room * _REPORT)), count)
        places = tell_places(bug, _PLACES)
        left = room * 2 // 3 - sum(map(count, (system.text, report, places)))
        runs = first_runs(bug.failing)
        tests = cut(tell_runs(runs, bug.names) if runs else "", max(64, left), count)
        brt = bug.source_of(bug.failing[0]) if bug.failing else ""
        brt = brt if count(brt) <= left - count(tests) else ""
        return bug.prompts.render("repair/bug", report=report, places=places, tests=tests, brt=brt)

    def _gathered(self, steps: Sequence[Step]) -> Sequence[Step]:
        """Return the steps that stand among what was gathered.

        The last one does where its section is the last: its result is evaluated once then, and
        is what the model reads last all the same. Else it stands at the end until the next step.
        """
        if Without.MEMORY in self.bench.without:
            return ()
        *_, newest = [None, *dict.fromkeys(step.action for step in steps)]
        return steps if steps and newest == steps[-1].action else steps[:-1]

    def _tail(self, steps: Sequence[Step], room: int, count: Counter) -> str:
        allowed = self.allowed(steps)
        fixes = tried_fixes(steps)
        forgets = Without.MEMORY in self.bench.without
        last = ""
        if steps:
            last = entry_of(steps[-1], steps).text
            if len(self._gathered(steps)) == len(steps):
                title, _, _ = last.partition("\n")
                last = f"{title} {_ABOVE}"
        return self.bug.prompts.render(
            "repair/tail",
            state="" if Without.STATES in self.bench.without else state_after(steps).value,
            hypotheses=[] if forgets else hypotheses_of(steps)[-_HYPOTHESES:],
            tools=", ".join(allowed),
            last=cut(last, room // 4, count),
            step=len(steps) + 1,
            steps=self.steps,
            fixes_to_try=max(0, FIXES - len({fix.key for fix in fixes})),
            has_fix=any(fix.stands for fix in fixes),
            wanted=FIXES,
        )


#: Share of the room that the system's message may take before it is shortened, and the report.
_SYSTEM, _REPORT = 1 / 3, 0.4
#: Places that the model is told of at the beginning, and hypotheses at the end.
_PLACES, _HYPOTHESES = 4, 4
#: Tokens of what joins the sections.
_MARKUP = 64
#: Where the result of the last command stands when it is not at the end.
_ABOVE = "(its result is above)"


# -- what the steps say --


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """What the bug was held to be."""

    text: str
    #: Why it was discarded; None while it stands.
    discarded: str | None = None


def state_after(steps: Sequence[Step]) -> State:
    """Return the state that `steps` lead to; what was refused moves nothing.

    Without a state machine, the action decides alone; what a plugin adds moves nothing.
    """
    state = State.UNDERSTAND
    for step in _carried_out(steps):
        rows = (STATES[state], *STATES.values())
        state = next((row[step.action] for row in rows if step.action in row), state)
    return state


def _carried_out(steps: Sequence[Step]) -> Iterator[Step]:
    return (step for step in steps if step.call and step.is_done)


def hypotheses_of(steps: Sequence[Step]) -> list[Hypothesis]:
    """Return the hypotheses, the oldest first; at most the last one stands."""
    found: list[Hypothesis] = []
    for step in _carried_out(steps):
        if step.action == "express_hypothesis":
            found.append(Hypothesis(text=step.argument("hypothesis")))
        elif step.action == "discard_hypothesis" and found:
            found[-1] = Hypothesis(text=found[-1].text, discarded=step.argument("reason"))
    return found


def standing_hypothesis(steps: Sequence[Step]) -> str:
    """Return what the bug is held to be now, "" where nothing stands."""
    *_, last = [Hypothesis(text="", discarded=""), *hypotheses_of(steps)]
    return last.text if last.discarded is None else ""


def tried_fixes(steps: Sequence[Step]) -> list[FixTried]:
    """Return the fixes and variants that were tried."""
    return [fix for step in steps for fix in step.fixes]


#: What an entry is worth to later steps, where it is not 1; the least goes first where there is no
#: room.
_WORTH = {
    "read_range": 2,
    "extract_tests": 2,
    "extract_method": 3,
    "generate_method_body": 3,
    "write_fix": 4,
}
#: What counts more: code of a file that is to be changed, and a fix that is kept.
_TO_CHANGE, _KEPT = 5, 6
#: Lines of a fix that later steps are shown.
_LINES = 30


def entry_of(step: Step, steps: Sequence[Step]) -> Entry:
    """Return a step as later prompts show it, by what all `steps` make of its worth."""
    asked = " ".join([step.action or "no command", *(v for _, v in step.arguments if v)])
    title = f"{step.number}. {' '.join(asked.split())[:200]}"
    if step.action in ("express_hypothesis", "discard_hypothesis") and step.is_done:
        title = f"{step.number}. {step.action}"  # the hypotheses stand elsewhere
    lines = [f"### {title}"]
    if step.thought:
        lines.append(f"You thought: {step.thought}")
    code = [line for block in step.call.code for line in block.splitlines()] if step.call else []
    if code:
        more = [f"[… {len(code) - _LINES} more lines …]"] if len(code) > _LINES else []
        lines += ["Its new lines:", *code[:_LINES], *more]
    lines.append(step.observation)
    headline = f"### {title}: left out here"
    return Entry(headline=headline, text="\n".join(lines), worth=_worth(step, steps))


def _worth(step: Step, steps: Sequence[Step]) -> int:
    if any(fix.passes for fix in step.fixes):
        return _KEPT
    if not step.is_done:
        return 0
    path = step.argument("path")
    spoken = [standing_hypothesis(steps), *(s.argument("changes") for s in steps)]
    is_to_change = path and any(path in text for text in spoken)
    return _TO_CHANGE if is_to_change else _WORTH.get(step.action, 1)


def _by_action(shown: Sequence[Entry | str], steps: Sequence[Step]) -> list[str]:
    """Return what was gathered in a section for each command, in the order of their first use."""
    sections: dict[str, list[str]] = {}
    for entry, step in zip(shown, steps, strict=False):
        text = entry if isinstance(entry, str) else entry.text
        sections.setdefault(step.action or "no command", []).append(text)
    return ["\n\n".join([f"## {name}", *texts]) for name, texts in sections.items()]
