"""A dialogue with a model, for a reader: as text, and as a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.render.attempts import cost
from pytest_brt.shown import plain
from pytest_brt.types import Cost, Ending, Step

#: Lines of an observation that are shown as text, unless all are wanted.
_LINES = 8
_TEMPLATE = Path(__file__).parent / "dialogues.html.jinja"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A dialogue and what it is about."""

    #: As in "agent-03".
    name: str
    #: Title of the report, or its id where that is all that is known.
    issue: str
    steps: tuple[Step, ...]
    #: None when it was interrupted.
    ending: Ending | None
    reason: str

    @property
    def ended(self) -> str:
        """How it ended, in words."""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.ending or 'interrupted'}{reason}"

    @property
    def cost(self) -> Cost:
        """What the model cost."""
        return sum((step.cost for step in self.steps), Cost())


def as_text(told: Told, *, whole: bool = False) -> Iterator[str]:
    """Yield the lines of a dialogue; `whole` leaves nothing out."""
    count = len(told.steps)
    yield f"{told.name}: {told.issue}"
    yield f"{count} step{'s' if count != 1 else ''}, ended by: {told.ended}; {cost(told.cost)}"
    for step in told.steps:
        yield ""
        yield f"{step.number}. {heading(step)}"
        if step.thought:
            yield from textwrap.wrap(
                step.thought, 96, initial_indent="   ", subsequent_indent="   "
            )
        if whole and not step.action:
            yield from (f"   > {line}" for line in step.reply.split("\n"))
        lines = step.observation.split("\n")
        shown = lines if whole or len(lines) <= _LINES else lines[: _LINES - 1]
        yield from (f"   | {line}" for line in shown)
        if len(shown) < len(lines):
            yield f"   | … {len(lines) - len(shown)} more lines (-v shows them)"


def heading(step: Step) -> str:
    """Return a step in one line: its action, its arguments, the verdict of a test.

    >>> heading(Step(number=1, reply="", action="cat", arguments=(("path", "a.py"),)))
    "cat path='a.py'"
    """
    arguments = " ".join(f"{name}={value!r}" for name, value in step.arguments)
    what = f"{step.action or 'no action'} {arguments}".strip()
    refused = "refused" if step.problem else ""
    came = step.verdict or refused
    return f"{what} → {came}" if came else what


def as_page(dialogues: Sequence[Told]) -> str:
    """Return one HTML page with all of them: no script, and nothing loaded from elsewhere."""
    from jinja2 import Environment

    parts = [
        {
            "name": told.name,
            "issue": told.issue,
            "ended": told.ended,
            "cost": cost(told.cost),
            "steps": [
                {
                    "number": step.number,
                    "heading": heading(step),
                    "thought": step.thought,
                    "reply": step.reply,
                    "observation": step.observation,
                    "mended": "; ".join(step.mended),
                    "seconds": f"{step.cost.seconds + step.seconds:.1f} s",
                    "tokens": f"{step.cost.tokens} tokens",
                    "bad": bool(step.problem),
                    "fails": step.verdict == "FAIL",
                }
                for step in told.steps
            ],
        }
        for told in dialogues
    ]
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _TEMPLATE.read_text(encoding="utf-8")
    )
    page = template.render(parts=parts)
    return plain(page.encode("utf-8", "replace").decode("utf-8"))
