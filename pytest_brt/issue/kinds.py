"""What a block of code is: Python, a session, a traceback, a file, what a tool printed."""

from __future__ import annotations

import ast
import re

from pytest_brt.issue.sessions import is_prompt
from pytest_brt.issue.tracebacks import read_tracebacks
from pytest_brt.pysource.parse import parse_or_empty, tree_of
from pytest_brt.types import BlockKind

_PYTHON = frozenset({"python", "py", "python3", "py3", "python2", "ipython", "ipython3"})
_SESSIONS = frozenset({"pycon", "python-repl", "python-console", "pyconsole", "doctest"})
_SHELLS = frozenset(
    {"bash", "sh", "shell", "console", "zsh", "fish", "cmd", "bat", "powershell", "ps1"}
    | {"shell-session", "shellsession", "terminal", "batch"}
)
_FILES = frozenset(
    {"ini", "cfg", "toml", "yaml", "yml", "json", "rst", "rest", "restructuredtext", "xml", "html"}
    | {"jinja", "jinja2", "diff", "patch", "css", "js", "javascript", "csv", "md", "markdown"}
    | {"tex", "latex", "dockerfile", "makefile", "c", "c++", "cpp", "sql", "conf", "cython"}
)
_OUTPUTS = frozenset({"text", "txt", "output", "out", "plain", "plaintext", "log", "none"})
_COMMAND = re.compile(r"^\s*(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+[^$#%\n]*)?[$%❯→➜λ] \S")
_DIFF = re.compile(r"^(?:diff --git |--- \S+.*\n\+\+\+ \S+|@@ -\d+)", re.MULTILINE)
_RST = re.compile(r"^\s*(?:\.\. [\w:-]+::|:[\w-]+:`|=+ =+\s*$)", re.MULTILINE)
_OUTPUT_CUE = re.compile(
    r"\b(?:returns?|returned|outputs?|gives?|gave|prints?|printed|produces?|produced|results?"
    r"|yields?|get|got|see|shows?|displays?|renders?|raises?|fails?|error|message|traceback)\b"
    r"[^.]*:?\s*$",
    re.IGNORECASE,
)


def with_prompts(text: str) -> str:
    """Return a text in which ``> `` stands before each line of code as a session; else as it is."""
    typed = re.findall(r"^> (.*)$", text, re.MULTILINE)
    if not text.startswith("> ") or not code_strength("\n".join(typed)):
        return text
    return re.sub(r"^> (?=(\s)?)", lambda more: "... " if more[1] else ">>> ", text, flags=re.M)


def kind_of(text: str, language: str, before: str) -> BlockKind:
    """Say what a block is, by its fence's tag in lower case and the prose right above it."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return BlockKind.OUTPUT
    if any(is_prompt(line) for line in lines) and language not in ("diff", "patch"):
        return BlockKind.REPL
    if language in _FILES or (_DIFF.search(text) and language not in _PYTHON):
        return BlockKind.FILE
    if _COMMAND.match(lines[0]):
        return BlockKind.SHELL
    if language in _SHELLS and not opens_traceback(lines[0]):
        return BlockKind.SHELL
    if language == "pytb" or _is_traceback(text):
        return BlockKind.TRACEBACK
    if language in _PYTHON | _SESSIONS:
        return BlockKind.PYTHON
    if language in _OUTPUTS:
        return BlockKind.OUTPUT
    return _guess(text, before)


def _guess(text: str, before: str) -> BlockKind:
    announced = bool(_OUTPUT_CUE.search(before.rstrip()))
    strength = code_strength(text) or min(code_strength(_start(text)), 1)
    if strength >= 2 or (strength == 1 and not announced):
        return BlockKind.PYTHON
    formulas = any(map(_is_formula, parse_or_empty(text).body)) and not announced
    return BlockKind.FILE if formulas or _RST.search(text) else BlockKind.OUTPUT


def _start(text: str) -> str:
    """Return the code above the first line that is not Python, "" where it does nothing."""
    start = ""
    try:
        tree_of(text)
    except SyntaxError as error:
        start = "\n".join(text.split("\n")[: (error.lineno or 1) - 1])
    acts = (ast.Call, ast.Import, ast.ImportFrom)
    return start if any(isinstance(n, acts) for n in ast.walk(parse_or_empty(start))) else ""


def code_strength(text: str) -> int:
    """Say how surely `text` is Python: 2 surely, 1 an expression to run, 0 not, or a value."""
    body = parse_or_empty(text).body
    strength = 0
    for statement in body:
        if not isinstance(statement, ast.Expr):
            if isinstance(statement, ast.AnnAssign) and statement.value is None:
                continue  # "word: word" in plain text
            if _is_formula(statement):
                continue
            return 2
        if any(isinstance(node, ast.Call | ast.Attribute) for node in ast.walk(statement)):
            strength = max(strength, 1)
    return strength if strength == 0 or len(body) == 1 else 2


def _is_formula(node: ast.stmt) -> bool:
    """Say whether an assignment has nothing but names that it takes for known, and operators.

    As a rule of a grammar has them, a formula, or a setting of a program.
    """
    kinds = [type(inner) for inner in ast.walk(node)]
    acts = {ast.Call, ast.Attribute, ast.Subscript, ast.Lambda, ast.comprehension}
    return isinstance(node, ast.Assign) and kinds.count(ast.Name) > 1 and not acts & {*kinds}


def opens_traceback(text: str) -> bool:
    """Say whether a traceback begins in `text`."""
    return "Traceback (most recent call last)" in text


def _is_traceback(text: str) -> bool:
    found = read_tracebacks(text)
    if not found:
        return False
    if any(raised.frames for raised in found) or opens_traceback(text):
        return True
    return len([line for line in text.split("\n") if line.strip()]) <= 2
