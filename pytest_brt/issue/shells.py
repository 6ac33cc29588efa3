"""Shell sessions: the commands that were typed, and what each printed."""

from __future__ import annotations

import re

from pytest_brt.issue.sessions import Exchange

_PROMPT = re.compile(
    r"^\s{0,3}(?:\([\w.-]+\) ?)?"
    r"(?:(?:[\w.-]+[@:][^$#%\n'\"()=]{0,60})?[$%❯→➜λ]|[\w.~/-]{1,40} ?[$❯→➜])(?: (?P<rest>.*))?$"
)
_WINDOWS = re.compile(r"^\s*(?:PS )?[A-Za-z]:\\[^>\n]*>\s*(?P<rest>.*)$")


def read_shell(text: str) -> tuple[Exchange, ...]:
    r"""Return the commands in `text` with their output.

    Without any prompt every line is a command as far as one can tell, with no output.

    >>> read_shell("$ ls\na.py")[0].output
    'a.py'
    """
    lines = text.split("\n")
    prompts = [_PROMPT.match(line) or _WINDOWS.match(line) for line in lines]
    if not any(prompts):
        return tuple(
            Exchange(source=line.strip(), output="", line=number)
            for number, line in enumerate(lines)
            if line.strip()
        )
    found: list[Exchange] = []
    source, output, start = "", [""], 0
    for number, (line, prompt) in enumerate(zip(lines, prompts, strict=True)):
        if prompt:
            if source:
                found.append(
                    Exchange(source=source, output="\n".join(output).strip("\n"), line=start)
                )
            source, output, start = (prompt["rest"] or "").strip(), [], number
        elif source.endswith("\\"):
            source = f"{source[:-1].rstrip()} {line.strip()}"
        else:
            output.append(line)
    if source:
        found.append(Exchange(source=source, output="\n".join(output).strip("\n"), line=start))
    return tuple(found)
