"""Asks for the body of a function, by a query of its own (paper 004, generate_method_body)."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from pytest_brt.agent.blocks import fenced_blocks
from pytest_brt.agent.definitions import definitions_called
from pytest_brt.agent.excerpt import cut
from pytest_brt.agent.loop import Turn
from pytest_brt.agent.memory import Counter
from pytest_brt.agent.prompts import fenced
from pytest_brt.code.file_facts import Definition
from pytest_brt.model.base import Message, Prompt, Sampling
from pytest_brt.model.form import block_grammar
from pytest_brt.repair.bug import Bug
from pytest_brt.syntax.parse import Function, parse_or_empty

#: Tokens of the file before the method, and of the answer.
_CONTEXT, _ANSWER = 12_000, 4_000


def ask_for_method(bug: Bug, turn: Turn, path: str, name: str) -> str:
    """Return a new version of a function, written from the code before it and its signature.

    The model is the editor, which may be another one than the agent's.

    Raises:
        Refusal: the file has no such function.
        ModelProblem: the model cannot be asked.
    """
    method = definitions_called(bug.index, path, name)[0]
    lines = turn.tree.lines(path)
    editor = turn.session.editor
    answer = min(_ANSWER, editor.context // 3)
    signature = head_of(lines, method)
    frame = sum(editor.count(message.text) for message in _ask(bug, path, "", signature))
    room = max(0, min(_CONTEXT, editor.context - answer - frame - 64))
    # What stands right before the method says most about it.
    before = cut("\n".join(lines[: method.line - 1]), room, Counter(editor), head=0.0)
    prompt = Prompt(
        messages=_ask(bug, path, before, signature),
        sampling=Sampling(temperature=0.2, top_k=0, seed=turn.seed, max_tokens=answer),
        grammar=block_grammar(lines=300),
        seconds=turn.session.seconds(),
        purpose="method",
    )
    (completion,) = editor.complete(prompt)
    blocks, _ = fenced_blocks(completion.text)
    code = blocks[0] if blocks else completion.text
    return (
        f"A version of {method.qualname} (now lines {method.line} to {method.end_line} of {path}), "
        f"written without sight of the present one:\n{fenced(code, 'python')}\n"
        "It is not written: use write_fix to try it."
    )


def _ask(bug: Bug, path: str, before: str, signature: str) -> tuple[Message, ...]:
    return bug.prompts.ask("repair/method", path=path, before=before, signature=signature)


def head_of(lines: Sequence[str], method: Definition) -> str:
    """Return a function up to its body: decorators and its head, on one line or on several."""
    own = "\n".join(lines[method.line - 1 : method.end_line])
    margin = own[: len(own) - len(own.lstrip())]
    (node, *_) = parse_or_empty(textwrap.dedent(own)).body or (None,)
    if not isinstance(node, Function | ast.ClassDef):  # of another version of the file
        return own.partition("\n")[0]
    first = node.body[0]
    above = textwrap.dedent(own).split("\n")[: first.lineno]
    above[-1] = above[-1].encode()[: first.col_offset].decode()
    return textwrap.indent("\n".join(above).rstrip(), margin)
