"""Sessions, of Python and of shells: what was typed, and what came back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

#: PyPy's have four; five and more are a banner, as pytest draws them.
_PROMPT = re.compile(r"^[ \t]*>>>(?:>(?= [^>]))?(?!>)(?P<rest>.*)$")
_CONTINUATION = re.compile(r"^[ \t]*\.{3,4}(?: (?P<rest>.*)|(?P<bare>[^\s.].*)?)$")
_IN = re.compile(r"^[ \t]*In ?\[ ?\d* ?\]:? ?(?P<rest>.*)$")
_IN_CONTINUATION = re.compile(r"^[ \t]*\.{3,}: ?(?P<rest>.*)$")
_OUT = re.compile(r"^[ \t]*Out ?\[ ?\d* ?\]:? ?(?P<rest>.*)$")
_SHELL = re.compile(
    r"^\s{0,3}(?:\([\w.-]+\) ?)?"
    r"(?:[\w.-]+[@:][^$#%\n'\"()=]{0,60})?[$%❯→➜λ](?: (?P<rest>.*))?$"
)


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
    return _prompt(line) is not None


def _prompt(line: str) -> re.Match[str] | None:
    return _PROMPT.match(line) or _IN.match(line)


def read_session(text: str) -> tuple[Exchange, ...]:
    r"""Return the exchanges in `text`; lines before the first prompt are left out.

    >>> read_session(">>> 1 + 1\n2")[0].output
    '2'
    """
    lines = text.split("\n")
    prompts = {at: match for at, line in enumerate(lines) if (match := _prompt(line))}
    found: list[Exchange] = []
    for start, end in pairwise([*prompts, len(lines)]):
        source, output, typing = [prompts[start]["rest"].strip()], list[str](), True
        for line in lines[start + 1 : end]:
            more = _IN_CONTINUATION.match(line) or _CONTINUATION.match(line)
            if more and typing:
                groups = more.groupdict()
                source.append(groups.get("rest") or groups.get("bare") or "")
                continue
            out = _OUT.match(line)
            if out:
                output.append(out["rest"])
            elif line.strip() or not typing:
                output.append(line)
            typing = typing and not line.strip()
        typed = "\n".join(source).strip("\n")
        # Without blank lines around it; indentation within is kept.
        shown = re.sub(r"\A(?:[ \t]*\n)+|\s+\Z", "", "\n".join(output))
        found.append(Exchange(source=typed, output=shown, line=start))
    return tuple(found)


def read_shell(text: str) -> tuple[Exchange, ...]:
    r"""Return the commands in `text` with their output.

    Without any prompt every line is a command as far as one can tell, with no output.

    >>> read_shell("$ ls\na.py")[0].output
    'a.py'
    """
    lines = text.split("\n")
    prompts = {at: match for at, line in enumerate(lines) if (match := _SHELL.match(line))}
    if not prompts:
        return tuple(
            Exchange(source=line.strip(), output="", line=number)
            for number, line in enumerate(lines)
            if line.strip()
        )
    found: list[Exchange] = []
    for start, end in pairwise([*prompts, len(lines)]):
        source = (prompts[start]["rest"] or "").strip()
        output = start + 1
        while source.endswith("\\") and output < end:
            source = f"{source[:-1].rstrip()} {lines[output].strip()}"
            output += 1
        if source:
            text = "\n".join(lines[output:end]).strip("\n")
            found.append(Exchange(source=source, output=text, line=start))
    return tuple(found)
