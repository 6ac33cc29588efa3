"""The edit: a model writes a test, or a patch that adds one, into a file (paper 001, 4.2.3)."""

from __future__ import annotations

import ast
import copy
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.agent.action import Outcome, Refusal
from pytest_brt.agent.loop import Turn
from pytest_brt.agent.report_text import report_text
from pytest_brt.code.changed_code import edits
from pytest_brt.code.collected import USUAL
from pytest_brt.code.source import Edit, is_insertion, new_file
from pytest_brt.code.words import terms_of
from pytest_brt.codec import content_id
from pytest_brt.errors import EditProblem
from pytest_brt.model.base import Prompt
from pytest_brt.model.form import block_grammar
from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.reproduce.agent.task import TestTask
from pytest_brt.reproduce.asking import answer_room
from pytest_brt.reproduce.model_tests.make import Maker, Written
from pytest_brt.reproduce.model_tests.split import laid_out
from pytest_brt.reproduce.prompting.excerpts import show_file
from pytest_brt.reproduce.prompting.fit import bug_values, fitted, shorten
from pytest_brt.syntax.parse import Function, decode, first_line, parse
from pytest_brt.types import CandidateTest, FileChange, Origin, Patch, TestsWritten

#: Share of the editor's context that the test file may take, in characters for each token.
_FILE = 1.5
#: Tokens of the answer, at most.
_CODE = 512
_HUNK = re.compile(r"^@@ -\d", re.MULTILINE)
#: Characters of a test that is told.
_TOLD = 1500


def refuse_product(task: TestTask, path: str) -> None:
    """Raise where a file is no test file.

    Raises:
        Refusal: it is not.
    """
    if not any(kind.has_file(path) for kind in (USUAL, task.index.layout.collected)):
        raise Refusal(
            f"{path!r} is not a test file, and only test files can be edited. Write the test "
            f"into {task.new_test_file!r} or another test file."
        )


def ask_for_test(task: TestTask, turn: Turn, path: str, change: str) -> Outcome:
    """Have the change that is described written into a test file.

    What the agent wrote into that file before may be replaced; what the project has stays.

    Raises:
        Refusal: it is no test file, the prompt does not fit, or the answer has no test.
        EditProblem: the answer does not fit into the file.
        ModelProblem: the model cannot be asked.
    """
    refuse_product(task, path)
    prompt = edit_prompt(task, turn, path, change)
    editor = turn.session.editor
    answer = editor.complete(prompt)[0].text
    origin = Origin(strategy=task.strategy, model=editor.name, seed=prompt.sampling.seed)
    content = turn.tree.read(path)
    patched = _patched(answer, path, content) if _HUNK.search(answer) else None
    if patched is None:
        return write_tests(task, path, answer, origin)
    original = task.tree.read(path)
    if not is_insertion(decode(original or b""), decode(patched)):
        raise Refusal(
            "The patch takes lines away: existing tests stay as they are. Ask for a new test."
        )
    added = added_to(decode(original or b""), decode(patched))
    tests = _tests_of(task, path, f"```python\n{added}```\n", origin)
    return Outcome(
        observation=_tell(path, [item.test.name for item in tests], tests),
        changes=(FileChange(path=path, content=patched),),
        effects=(TestsWritten(path=path, tests=tuple(item.test for item in tests)),),
    )


def edit_prompt(task: TestTask, turn: Turn, path: str, change: str) -> Prompt:
    """Return the prompt for the model that writes code (paper 001, requirement 36).

    It has what the paper's has: the report, the content of the test file, the meta task and what
    the test must do. The file is shown whole where it fits.

    Raises:
        PromptTooLong: it does not fit the model.
    """
    editor = turn.session.editor
    brief = replace(task.brief, model=editor)
    content = turn.tree.read(path)
    parts = {
        "report": report_text(task.issue, whole=True),
        "content": _shown(task, path, content, int(editor.context * _FILE), change),
    }
    longest = answer_room(editor, _CODE)
    sampling = replace(turn.session.sampling, seed=turn.seed, max_tokens=longest)

    def build(texts: Mapping[str, str]) -> Prompt:
        values = {**bug_values(brief, texts), "path": path, "change": change}
        return Prompt(
            messages=brief.prompts.ask("agent/edit", **values),
            sampling=sampling,
            grammar=block_grammar(lines=60),
            seconds=turn.session.seconds(),
            purpose="edit",
        )

    return fitted(build, parts, ("content", "report"), brief)[0]


def _shown(task: TestTask, path: str, content: bytes | None, most: int, change: str) -> str:
    """Return the test file as it is now, in part where it is long."""
    if content is None:
        return ""
    whole = decode(content)
    if len(whole) <= most or task.tree.read(path) is None:
        return whole
    best = max(task.hints.worths.values(), default=1.0)
    worths = {**task.hints.worths, **dict.fromkeys(terms_of(change), best)}
    return show_file(path, task.index, most, worths)


def _patched(answer: str, path: str, content: bytes | None) -> bytes | None:
    """Return what a patch makes of a file, whatever it calls it; None where the answer is none.

    Raises:
        Refusal: the patch does not apply.
    """
    hunk = _HUNK.search(answer)
    if hunk is None:
        return None
    old = "/dev/null" if content is None else f"a/{path}"
    text = f"--- {old}\n+++ b/{path}\n{answer[hunk.start() :]}"
    with tempfile.TemporaryDirectory(prefix="brt-edit-") as folder:
        root = Path(folder)
        if content is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        try:
            patch = Patch(id=content_id(text), name=path, text=text)
            changes = apply_patch(patch, root, whole=True).changes
        except PatchProblem as problem:
            raise Refusal(f"The patch does not apply to {path}: {problem}") from problem
    return changes[0].content if changes else content


def added_to(before: str, after: str) -> str:
    """Return the statements of `after` with lines that `before` has not, as a module.

    A class of tests that was there comes with what is new of its tests, and with all else that
    they may need: a method that was added to it stays a method.

    Raises:
        Refusal: `after` is not Python.
    """
    old, new = before.split("\n"), after.split("\n")
    added = {n + 1 for edit in edits(old, new) for n in range(edit.new_start, edit.new_end)}
    try:
        body = parse(after).body
    except SyntaxError as error:
        raise Refusal(f"The patch leaves the file broken: {error.msg}.") from error
    found = [node for node in body if any(line in added for line in _lines(node))]
    kept = [_new_part(node, added) for node in found]
    changed = [part for part, node in zip(kept, found, strict=True) if part is not node]
    return laid_out(kept, after, changed)


def _lines(node: ast.stmt) -> range:
    return range(first_line(node), (node.end_lineno or node.lineno) + 1)


def _new_part(node: ast.stmt, added: Collection[int]) -> ast.stmt:
    """Return a class without the tests of it that are not new; all else as it is."""
    if not isinstance(node, ast.ClassDef):
        return node

    def is_kept(part: ast.stmt) -> bool:
        is_test = isinstance(part, Function) and part.name.startswith("test")
        return not is_test or any(line in added for line in _lines(part))

    body = [part for part in node.body if is_kept(part)]
    if len(body) == len(node.body):
        return node
    part = copy.copy(node)
    part.body = body
    return part


def write_tests(task: TestTask, path: str, answer: str, origin: Origin) -> Outcome:
    """Put the tests of an answer into a test file, in place of those written there before.

    Raises:
        Refusal: there is none.
        EditProblem: they do not fit into the file.
    """
    written = _tests_of(task, path, answer, origin)
    if not written:
        raise Refusal("The answer had no test in it. Say in the prompt what the test must call.")
    placed, nodes = _placed(task, path, [item.test for item in written])
    return Outcome(
        observation=_tell(path, nodes, written),
        changes=(placed.change(),),
        effects=(TestsWritten(path=path, tests=tuple(item.test for item in written)),),
    )


def _tests_of(task: TestTask, path: str, answer: str, origin: Origin) -> tuple[Written, ...]:
    """Return the tests of an answer for the file `path`, beside it where it is new."""
    known = task.tree.read(path) is not None
    host = path if known else ""
    maker = Maker(issue=task.issue, index=task.index, folder=task.bench.folder, host=host)
    made = maker.make(answer, origin)
    return made if known else tuple(replace(i, test=_beside(path, i.test, task)) for i in made)


def _beside(path: str, test: CandidateTest, task: TestTask) -> CandidateTest:
    folder = path.rpartition("/")[0]
    name = test.path.rpartition("/")[2]
    where = f"{folder}/{name}" if folder else name
    named = content_id(task.issue.id, where, test.source or "")
    return replace(test, path=where, host="", id=named)


def _placed(
    task: TestTask, path: str, tests: Sequence[CandidateTest]
) -> tuple[Edit, tuple[str, ...]]:
    """Return the file with the tests in it, and their nodes; raises EditProblem."""
    from pytest_brt.code.placing import place  # libcst takes half a second

    original = task.tree.read(path)
    content = original
    nodes: list[str] = []
    for test in tests:
        source = test.source or ""
        done = new_file(source, path) if content is None else place(source, path, content)
        content = done.edit.after
        nodes += done.nodes
    if content is None:
        raise EditProblem("there is no test")
    return Edit(path=path, before=original, after=content), tuple(nodes)


def _tell(path: str, nodes: Sequence[str], written: Sequence[Written]) -> str:
    lines = [f"Written: {', '.join(map(_named, nodes)) or 'no test'} in {path}."]
    lines += [problem for item in written for problem in item.problems]
    lines += [shorten((item.test.source or "").rstrip("\n"), _TOLD) for item in written]
    return "\n".join(lines)


def _named(node: str) -> str:
    """Return what a test is called: its code is shown as it is without the class around it.

    >>> _named("TestWide::test_a"), _named("test_a")
    ('test_a (as a method of TestWide)', 'test_a')
    """
    around, _, name = node.rpartition("::")
    return f"{name} (as a method of {around.replace('::', '.')})" if around else name
