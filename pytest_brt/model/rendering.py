"""Runs one chat template in a process of its own: ``python -I -S rendering.py FOLDER...``.

A template is a program that came inside a model file. The sandbox of jinja2 keeps it from files
and from Python, but not from looping for ever or from filling the memory, so the system limits
both for this process. The folders are those that jinja2 is imported from. Requests and answers
are lines of JSON; the first request is the template's source.

What templates may expect: https://huggingface.co/docs/transformers/chat_templating_writing.
"""

from __future__ import annotations

import datetime
import json
import resource
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

#: Seconds of computing for one request; the process is killed when they are over.
SECONDS = 2
#: Bytes of memory for the process.
MEMORY = 512 << 20
#: Characters that a template may write. The texts themselves are not among them.
MOST = 1_000_000
#: Templates that print a date get always the same one, or no prefix could be kept.
_TODAY = datetime.datetime(2026, 1, 1)


def environment() -> ImmutableSandboxedEnvironment:
    """Return the jinja2 environment in which templates are compiled and run."""
    import jinja2
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """The tag that marks what an assistant said, for training: only its body counts."""

        tags = {"generation"}  # noqa: RUF012  # as jinja declares it

        def parse(self, parser: Parser) -> list[nodes.Node]:
            """Return the nodes between the tag and its end."""
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    def to_json(value: Any, indent: int | None = None, **_: Any) -> str:
        known = None if isinstance(value, jinja2.Undefined) else value
        return json.dumps(known, ensure_ascii=False, indent=indent)

    def refuse(message: str) -> NoReturn:
        raise jinja2.TemplateError(str(message))

    env = ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.loopcontrols", Generation],
        undefined=jinja2.ChainableUndefined,
    )
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = _TODAY.strftime
    env.filters["tojson"] = to_json
    return env


def answers(env: ImmutableSandboxedEnvironment) -> None:
    """Compile what the first line holds, and render what each further one does."""
    template = None
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        answer: dict[str, str] = {}
        try:
            if template is None:
                template = env.from_string(json.loads(line))
            else:
                # As llama.cpp has the dates; for templates made for tools.
                dates = {
                    "date_string": _TODAY.strftime("%d %b %Y"),
                    "datetime": _TODAY.strftime("%b %d %Y"),
                }
                answer["text"] = template.render(**json.loads(line), **dates)
                if len(answer["text"]) > MOST:
                    answer = {"problem": f"it writes more than {MOST:,} characters"}
        except MemoryError:
            answer = {"problem": f"it needs more than {MEMORY >> 20} MB of memory"}
        except Exception as error:  # a template is a program: it may stumble over anything
            ours = type(error).__module__.startswith("jinja2.")
            text = str(error) if ours else f"{type(error).__name__}: {error}"
            answer = {"problem": text or type(error).__name__}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    sys.path.extend(sys.argv[1:])
    prepared = environment()
    with suppress(OSError, ValueError):  # macOS may not let it
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers(prepared)
