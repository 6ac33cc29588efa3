"""What a block of code is: Python, a session, a traceback, a file, what a tool printed."""

from __future__ import annotations

import ast
import re

from pytest_brt.pysource.parse import parse_or_empty, tree_of
from pytest_brt.report.sessions import is_prompt
from pytest_brt.report.tracebacks import HEADER, read_tracebacks
from pytest_brt.types import BlockKind

_PYTHON = frozenset({"python", "py", "python3", "py3", "python2", "ipython", "pycon", "doctest"})
_SHELLS = frozenset({"bash", "sh", "shell", "console", "zsh", "cmd", "powershell", "terminal"})
#: Tags that say nothing of what stands below them.
_NOTHING = frozenset({"", "text", "txt", "output", "out", "plain", "plaintext", "log", "none"})
_COMMAND = re.compile(r"^\s*(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+[^$#%\n]*)?[$%❯→➜λ] \S")
_DIFF = re.compile(r"^(?:diff --git |--- \S+.*\n\+\+\+ \S+|@@ -\d+)", re.MULTILINE)
#: A sentence that announces what code made.
_OUTPUT_BELOW = re.compile(
    r"\b(?:returns?|returned|outputs?|gives?|gave|prints?|printed|produces?|results?|yields?|get"
    r"|got|see|shows?|raises?|fails?|error|message|traceback)\b[^.]*:?\s*$",
    re.IGNORECASE,
)


def with_prompts(text: str) -> str:
    """Return a text in which ``> `` stands before each line of code as a session."""
    typed = re.findall(r"^> (.*)$", text, re.MULTILINE)
    if not text.startswith("> ") or not code_strength("\n".join(typed)):
        return text
    return re.sub(r"^> (?=(\s)?)", lambda more: "... " if more[1] else ">>> ", text, flags=re.M)


def kind_of(text: str, language: str, above: str) -> BlockKind:
    """Say what a block is, by its fence's tag in lower case and the prose right above it."""
    lines = [line for line in text.split("\n") if line.strip()]
    if any(map(is_prompt, lines)) and language not in ("diff", "patch"):
        return BlockKind.REPL
    if _DIFF.search(text) and language not in _PYTHON:
        return BlockKind.FILE
    if language not in _PYTHON and (_COMMAND.match(lines[0]) or language in _SHELLS):
        return BlockKind.SHELL
    if _is_traceback(text, len(lines)):
        return BlockKind.TRACEBACK
    if language in _PYTHON:
        return BlockKind.PYTHON
    if language not in _NOTHING:
        return BlockKind.FILE
    strength = code_strength(text) or min(code_strength(_start(text)), 1)
    announced = language != "" or bool(_OUTPUT_BELOW.search(above.rstrip()))
    is_code = strength == 2 or (strength == 1 and not announced)
    return BlockKind.PYTHON if is_code else BlockKind.OUTPUT


def _start(text: str) -> str:
    """Return the code above the first line that is not Python."""
    try:
        tree_of(text)
    except SyntaxError as error:
        start = "\n".join(text.split("\n")[: (error.lineno or 1) - 1])
        acts = (ast.Call, ast.Import, ast.ImportFrom)
        return start if any(isinstance(n, acts) for n in ast.walk(parse_or_empty(start))) else ""
    return ""


def code_strength(text: str) -> int:
    """Say how surely `text` is Python: 2 surely, 1 an expression to run, 0 not, or a value."""
    body = parse_or_empty(text).body
    strength = 0
    for statement in body:
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            continue  # "word: word" in plain text
        if not isinstance(statement, ast.Expr) and not _is_formula(statement):
            return 2
        if any(isinstance(node, ast.Call | ast.Attribute) for node in ast.walk(statement)):
            strength = max(strength, 1)
    return strength if strength == 0 or len(body) == 1 else 2


def _is_formula(node: ast.stmt) -> bool:
    """Say whether an assignment has nothing but names that it takes for known, and operators."""
    kinds = [type(inner) for inner in ast.walk(node)]
    acts = {ast.Call, ast.Attribute, ast.Subscript, ast.Lambda, ast.comprehension}
    return isinstance(node, ast.Assign) and kinds.count(ast.Name) > 1 and not acts & {*kinds}


def _is_traceback(text: str, lines: int) -> bool:
    shown = read_tracebacks(text)
    is_long = any(raised.frames for raised in shown) or HEADER in text
    return bool(shown) and (is_long or lines <= 2)
