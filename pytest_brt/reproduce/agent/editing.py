"""The edit: a model writes a test function, or a patch that adds one; libcst gives it its place."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from pytest_brt.agent.action import Action, Outcome, refused
from pytest_brt.code.layout import USUAL
from pytest_brt.code.source import Edit, new_file
from pytest_brt.code.words import terms_of
from pytest_brt.codec import content_id
from pytest_brt.errors import EditProblem
from pytest_brt.model.base import Prompt
from pytest_brt.model.form import block_grammar
from pytest_brt.model.metered import cost_of
from pytest_brt.patches.diff import read_diff
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.reproduce.agent.kit import TESTS, Kit, remembered, tests_in
from pytest_brt.reproduce.asking import answer_room
from pytest_brt.reproduce.model_tests.make import Maker, Written
from pytest_brt.reproduce.prompting.excerpts import show_file
from pytest_brt.reproduce.prompting.fit import PromptTooLong, bug_values, fitted, shorten
from pytest_brt.reproduce.prompting.report_text import report_text
from pytest_brt.types import CandidateTest, Origin, Step

#: Characters of the test file: per token of context, and at most.
_CHARACTERS, _FILE = 0.8, 6_000
#: Characters of what the last run did.
_LOG = 1200
#: Actions that look at the project, how many of the last are shown, and characters of each.
_LOOKS, _READ, _SEEN = ("cat", "code_search"), 2, 1500
#: Tokens of the code, at most.
_CODE = 512


def edit(action: Action, steps: Sequence[Step], kit: Kit) -> Outcome:
    """Have the change that `action` describes written into a test file.

    What the agent wrote into that file before is replaced; what the project has stays.

    Raises:
        ModelProblem: the model cannot be asked.
    """
    path = action["path"]
    if not any(kind.has_file(path) for kind in (USUAL, kit.index.layout.collected)):
        return refused(
            f"{path!r} is not a test file, and only test files can be edited. Write the test "
            f"into {new_test_path(kit)!r} or another test file."
        )
    try:
        prompt = edit_prompt(path, action["prompt"], steps, kit)
    except PromptTooLong as problem:
        return refused(str(problem))
    answer = kit.editor.complete(prompt)[0]
    cost = cost_of([answer])
    origin = Origin(strategy=kit.strategy, model=kit.editor.name, seed=prompt.sampling.seed)
    try:
        made = _made(added_by(answer.text), origin, path, kit)
        if not made:
            raise EditProblem(
                "The answer had no test in it. Say in the prompt what the test must call."
            )
        placed, nodes = _placed(path, [item.test for item in made], kit)
    except EditProblem as problem:
        return replace(refused(str(problem)), cost=cost)
    return Outcome(
        observation=_told(path, nodes, made),
        changes=(placed.change(),),
        facts=(remembered([item.test for item in made]),),
        cost=cost,
    )


def edit_prompt(path: str, change: str, steps: Sequence[Step], kit: Kit) -> Prompt:
    """Return the prompt for the model that writes code (paper 001, requirement 36).

    Raises:
        PromptTooLong: it does not fit the model.
    """
    mine = tests_in(path, steps)
    hints, brief = kit.hints, replace(kit.brief, model=kit.editor)
    known = kit.original(path) is not None
    most = min(_FILE, max(1000, int(kit.editor.context * _CHARACTERS)))
    best = max(hints.worths.values(), default=1.0)
    worths = {**hints.worths, **dict.fromkeys(terms_of(change), best)}
    parts = {
        "report": report_text(kit.issue, whole=kit.found is None),
        "content": show_file(path, kit.index, most, worths) if known else "",
        "read": _read(steps),
        "mine": mine[0].source or "" if mine else "",
        "happened": _happened(path, steps) if mine else "",
        "session": "\n".join(hints.session) if kit.found else "",
        "imports": "\n".join(hints.imports) if kit.found else "",
        "tests": "\n\n".join(hints.tests[:1]) if kit.found and not mine else "",
    }
    seed = (kit.sampling.seed + 1000 * len(steps) + 500) % 2**31
    longest = answer_room(kit.editor, _CODE)

    def build(texts: Mapping[str, str]) -> Prompt:
        values = {**bug_values(brief, texts), "path": path, "change": change}
        return Prompt(
            messages=brief.prompts.ask("agent/edit", **values),
            sampling=replace(kit.sampling, seed=seed, max_tokens=longest),
            grammar=block_grammar(lines=60),
            seconds=0.0,
            purpose="edit",
        )

    order = ("tests", "content", "read", "imports", "session", "report", "happened", "mine")
    return fitted(build, parts, order, brief)[0]


def _read(steps: Sequence[Step]) -> str:
    looks = [step for step in steps if step.action in _LOOKS and not step.problem][-_READ:]
    shown = [f"{step.arguments[0][1]}\n{step.observation}" for step in looks]
    return "\n\n".join(shorten(text, _SEEN) for text in shown)


def _happened(path: str, steps: Sequence[Step]) -> str:
    """Return what the test in the file `path` did when it was last run as it is now, or ""."""
    for step in reversed(steps):
        if step.argument("path") == path and step.fact(TESTS):
            return ""  # written anew since
        if step.argument("path") == path and step.verdict:
            return shorten(step.observation, _LOG)
    return ""


def new_test_path(kit: Kit) -> str:
    """Return the path of a test file that does not exist yet."""
    root = kit.bench.engine.subject.test_root.strip("/")
    name = "test_reported_bug.py"
    return name if root in ("", ".") else f"{root}/{name}"


def added_by(answer: str) -> str:
    """Return the code that an answer adds, as a reply with one block: it may be a patch.

    An answer without a patch is returned as it is.

    Raises:
        EditProblem: the patch takes lines away.
    """
    if not re.search(r"^@@ -\d", answer, re.MULTILINE):
        return answer
    try:
        files = read_diff(answer).files
    except PatchProblem:
        return answer
    hunks = chain.from_iterable(file.hunks for file in files)
    lines = list(chain.from_iterable(hunks))
    if any(line.is_removed for line in lines):
        raise EditProblem(
            "The patch takes lines away: existing tests stay as they are. Ask for a new test."
        )
    added = textwrap.dedent("".join(line.value for line in lines if line.is_added))
    return f"```python\n{added}```\n"


def _made(answer: str, origin: Origin, path: str, kit: Kit) -> tuple[Written, ...]:
    """Return the tests of an answer for the file `path`, beside it where it is new."""
    known = kit.original(path) is not None
    test_root = kit.bench.engine.subject.test_root
    host = path if known else ""
    maker = Maker(issue=kit.issue, index=kit.index, test_root=test_root, host=host)
    made = maker.make(answer, origin)
    return made if known else tuple(replace(i, test=_beside(path, i.test, kit)) for i in made)


def _beside(path: str, test: CandidateTest, kit: Kit) -> CandidateTest:
    folder = path.rpartition("/")[0]
    name = test.path.rpartition("/")[2]
    where = f"{folder}/{name}" if folder else name
    return replace(test, path=where, host="", id=content_id(kit.issue.id, where, test.source or ""))


def _placed(path: str, tests: Sequence[CandidateTest], kit: Kit) -> tuple[Edit, tuple[str, ...]]:
    """Return the file with the tests in it; raises EditProblem."""
    from pytest_brt.code.placing import place  # libcst takes half a second

    original = kit.original(path)
    content = original
    nodes: list[str] = []
    for test in tests:
        source = test.source or ""
        done = new_file(source, path) if content is None else place(source, path, content)
        content = done.edit.after
        nodes += done.nodes
    assert content is not None, "there is at least one test"
    return Edit(path=path, before=original, after=content), tuple(nodes)


def _told(path: str, nodes: Sequence[str], made: Sequence[Written]) -> str:
    lines = [f"Written: {', '.join(map(_named, nodes))} in {path}."]
    lines += [problem for item in made for problem in item.problems]
    lines += [shorten((item.test.source or "").rstrip("\n"), 1500) for item in made]
    return "\n".join(lines)


def _named(node: str) -> str:
    """Return what a test is called: its code is shown as it is without the class around it.

    >>> _named("TestWide::test_a"), _named("test_a")
    ('test_a (as a method of TestWide)', 'test_a')
    """
    around, _, name = node.rpartition("::")
    return f"{name} (as a method of {around.replace('::', '.')})" if around else name
