"""The texts that models are sent: a jinja2 file for each, in the folder ``prompts``.

Values reach a template as they are, never as templates, so that a report cannot change a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from jinja2 import PackageLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pytest_brt.model.request import Message
from pytest_brt.types import Issue, TestRun, Verdict

_FENCE = re.compile(r"^\s*(`{3,})", re.MULTILINE)
#: What chat templates of models begin their own marks with.
_MARK = re.compile(r"<\|(?=\w)")
#: Tests that are told in full, and frames of each.
_MOST, _FRAMES = 3, 6
#: What of a message differs from run to run, or says nothing: pytest's remarks on where functions
#: come from, addresses, colours.
_NOISE = re.compile(
    r"^\s*\+\s+(?:where|and)\s+<(?:function|built-in|bound method|method|class|module)\b.*\n?"
    r"|\x1b\[[0-?]*[ -/]*[@-~]|(?<= at) 0x[0-9a-f]{4,}",
    re.MULTILINE,
)
#: Characters of a report from which on its middle goes.
_REPORT = 8_000


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    """Return a jinja2 in which a name without a value is an error."""
    environment = ImmutableSandboxedEnvironment(
        loader=PackageLoader("pytest_brt", "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {"fenced": fenced, "numbered": numbered, "cut": cut}
    return environment


def render(name: str, /, **values: object) -> str:
    """Return the prompt `name`, as in "libro.user", filled with `values`."""
    text = _environment().get_template(f"{name}.j2").render(values)
    return _MARK.sub("< |", re.sub(r"\n{3,}", "\n\n", text)).strip("\n")


def system_and_user(name: str, /, **values: object) -> tuple[Message, ...]:
    """Return the prompts ``name.system`` and ``name.user`` as messages."""
    return tuple(
        Message(role, render(f"{name}.{role}", **values)) for role in ("system", "user")
    )


def fenced(code: str, language: str = "") -> str:
    """Return `code` between fences that no fence inside it can close.

    >>> print(fenced("x = 1", "python"))
    ```python
    x = 1
    ```
    """
    longest = max(["``", *_FENCE.findall(code)], key=len)
    return f"{longest}`{language}\n{code.strip(chr(10))}\n{longest}`"


def numbered(lines: Sequence[str], first: int, last: int) -> str:
    """Return lines with their numbers, as far as there are such lines.

    >>> print(numbered(("a", "b"), 2, 9))
        2| b
    """
    first = max(1, first)
    return "\n".join(
        f"{n:5}| {line}" for n, line in enumerate(lines[first - 1 : last], first)
    )


def cut(text: str, most: int) -> str:
    r"""Return a text in about `most` characters: its beginning and its end.

    >>> print(cut("a text of many words", 10))
    a tex
    [… 10 characters left out …]
    words
    """
    if len(text) <= most:
        return text
    first = most // 2
    return f"{text[:first]}\n[… {len(text) - most} characters left out …]\n{text[first - most :]}"


def report_text(issue: Issue, most: int = _REPORT) -> str:
    """Return a report without its title, the middle of a long one left out."""
    text = re.sub(rf"\A#*\s*{re.escape(issue.title)}\s*\n", "", issue.text.strip("\n"))
    return cut(text.strip("\n"), most)


def failures(runs: Sequence[TestRun]) -> list[TestRun]:
    """Return the runs of tests that neither pass nor are skipped."""
    fine = (Verdict.PASS, Verdict.SKIP, Verdict.XFAIL)
    return [run for run in runs if run.verdict not in fine]


def clean(message: str) -> str:
    r"""Return the message of an exception without what says nothing, the same for equal runs.

    >>> clean("assert 2 == 3\n +  where 2 = f(1)\n +    where <function f at 0x7f1c> = m.f")
    'assert 2 == 3\n +  where 2 = f(1)'
    """
    return _NOISE.sub("", message).strip("\n")


def describe_runs(runs: Sequence[TestRun]) -> str:
    """Return what tests did: how many fail, and how the first ones do.

    Frames of libraries, which have absolute paths, are left out: nobody could change them.
    """
    bad, told = failures(runs), []
    for run in bad[:_MOST]:
        frames = run.raised.frames if run.raised else ()
        near = [frame for frame in frames if not frame.path.startswith(("/", "<"))]
        told.append((run, near[-_FRAMES:]))
    return render("runs", runs=runs, bad=bad, told=told, clean=clean)
