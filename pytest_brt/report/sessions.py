"""Sessions of Python and IPython, and shells: what was typed, and what came back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

#: PyPy's have four; five and more are a banner, as pytest draws them.
_PROMPT = re.compile(r"^[ \t]*(?:>>>(?:>(?= [^>]))?(?!>)|In ?\[ ?\d* ?\]:? ?)(?P<rest>.*)$")
_MORE = re.compile(r"^[ \t]*\.{3,}(?:: ?| )?(?P<rest>.*)$")
_OUT = re.compile(r"^[ \t]*Out ?\[ ?\d* ?\]:? ?(?P<rest>.*)$")
#: The prompt of a shell, as in "(venv) me@host:~/project$ ".
_SHELL = re.compile(r"^\s*(?:\([\w.-]+\) ?)?(?:[\w.-]+[@:][^$#%\n'\"()=]{0,60})?[$%❯→➜λ] +(\S.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One input of a session and the output that followed it."""

    source: str
    #: Without the prompt of the output; "" when nothing came.
    output: str
    #: 0-based line of the input within the text.
    line: int


def is_prompt(line: str) -> bool:
    """Say whether `line` is an input line of a Python or IPython session."""
    return _PROMPT.match(line) is not None


def read_session(text: str) -> tuple[Exchange, ...]:
    r"""Return the exchanges in `text`; lines before the first prompt are left out.

    >>> read_session(">>> 1 + 1\n2")[0].output
    '2'
    """
    lines = text.split("\n")
    prompts = {at: match for at, line in enumerate(lines) if (match := _PROMPT.match(line))}
    exchanges = []
    for start, end in pairwise([*prompts, len(lines)]):
        source, output = [prompts[start]["rest"].removeprefix(" ")], list[str]()
        is_typing = True
        for line in lines[start + 1 : end]:
            more = _MORE.match(line) if is_typing else None
            shown = _OUT.match(line)
            if more:
                source.append(more["rest"])
            else:
                output.append(shown["rest"] if shown else line)
                is_typing = is_typing and bool(line.strip())
        # Without blank lines around it; indentation within is kept.
        kept = re.sub(r"\A(?:[ \t]*\n)+|\s+\Z", "", "\n".join(output))
        exchanges.append(Exchange(source="\n".join(source).strip(), output=kept, line=start))
    return tuple(exchanges)


def shell_commands(text: str) -> Iterator[str]:
    r"""Yield the commands in `text`; without any prompt each line is one.

    >>> list(shell_commands("$ ls\na.py"))
    ['ls']
    """
    lines = re.sub(r"\\\n\s*", "", text).split("\n")
    commands = [match[1].strip() for line in lines if (match := _SHELL.match(line))]
    yield from commands or filter(None, map(str.strip, lines))
