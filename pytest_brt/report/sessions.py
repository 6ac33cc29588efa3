"""Sessions of Python and IPython, and shells: what was typed, and what came back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

#: PyPy's have four; five and more are a banner, as pytest draws them.
PROMPT = r"[ \t]*(?:>>>(?:>(?= [^>]))?(?!>)|In ?\[ ?\d* ?\]:? ?)"
_PROMPT = re.compile(rf"{PROMPT} ?(?P<rest>.*)")
_MORE = re.compile(r"[ \t]*\.{3,}(?:: ?| )?(?P<rest>.*)")
_OUT = re.compile(r"^[ \t]*Out ?\[ ?\d* ?\]:? ?", re.MULTILINE)
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
    prompts = [at for at, line in enumerate(lines) if is_prompt(line)]
    exchanges = []
    for start, end in pairwise([*prompts, len(lines)]):
        source, output = [_PROMPT.sub(r"\g<rest>", lines[start], 1)], lines[start + 1 : end]
        while output and _MORE.match(output[0]):
            source.append(_MORE.sub(r"\g<rest>", output.pop(0), 1))
        exchanges.append(
            Exchange(
                source="\n".join(source).strip(),
                # Without blank lines around it; indentation within is kept.
                output=re.sub(r"\A(?:[ \t]*\n)+|\s+\Z", "", _OUT.sub("", "\n".join(output))),
                line=start,
            )
        )
    return tuple(exchanges)


def shell_commands(text: str) -> Iterator[str]:
    r"""Yield the commands in `text`; without any prompt each line is one.

    >>> list(shell_commands("$ ls\na.py"))
    ['ls']
    """
    lines = re.sub(r"\\\n\s*", "", text).split("\n")
    commands = [match[1].strip() for line in lines if (match := _SHELL.match(line))]
    yield from commands or filter(None, map(str.strip, lines))
