"""`generate_method_body`: a query of its own for a whole new body of a function."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.dialogue.action import Action, ActionSpec, Kind, Outcome, Parameter, Tool, refused
from pytest_brt.dialogue.history import Counter, cut
from pytest_brt.dialogue.prompts import fenced
from pytest_brt.model.base import Message, Prompt, Sampling
from pytest_brt.model.grammar import block_grammar
from pytest_brt.model.metered import cost_of
from pytest_brt.model.reply import fenced_blocks
from pytest_brt.repair.known import recall
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import ToolName
from pytest_brt.repair.tools.looking import methods_called
from pytest_brt.types import Step

#: Tokens of the file before the method, and of the answer (paper 004).
CONTEXT = 12_000
ANSWER = 4_000


def method_body(site: Site, *, seed: int) -> Tool:
    """Return the tool; `seed` is that of its first query."""

    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        path, name = action["path"], action["name"]
        found = methods_called(site, path, name)
        if not found:
            return refused(f"{path} has no function {name!r}.")
        method, lines = found[0], site.lines(path)
        prompt = _prompt(
            site,
            path,
            before="\n".join(lines[: method.line - 1]),
            method="\n".join(lines[method.line - 1 : method.end_line]),
            steps=steps,
            seed=seed + len(steps),
        )
        (completion,) = site.model.complete(prompt)
        blocks, _ = fenced_blocks(completion.text)
        code = blocks[0] if blocks else completion.text
        text = (
            f"A new version of {method.qualname} (now lines {method.line} to {method.end_line} of "
            f"{path}):\n{fenced(code, 'python')}\nIt is not written: use write_fix to try it."
        )
        return Outcome(observation=text, cost=cost_of([completion]))

    spec = ActionSpec(
        name=ToolName.METHOD_BODY.value,
        about="Ask for a whole new version of a function.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="name", about="name of a function or method in it"),
        ),
    )
    return Tool(spec=spec, run=run)


def _prompt(
    site: Site, path: str, *, before: str, method: str, steps: Sequence[Step], seed: int
) -> Prompt:
    """Return the query, cut to what the paper allows and to what fits."""
    hypothesis = recall(steps).hypothesis
    answer = min(ANSWER, site.model.context // 3)

    def ask(before: str, report: str) -> tuple[Message, ...]:
        return site.prompts.ask(
            "repair/method",
            report=report,
            hypothesis=hypothesis,
            path=path,
            before=before,
            method=method,
        )

    frame = sum(site.model.count(message.text) for message in ask("", "")) + 64
    count = Counter(site.model)
    limit = max(0, min(CONTEXT, site.model.context - answer - frame))
    report = cut(site.issue.text, limit // 2, count)
    # What stands right before the method says most about it.
    above = cut(before, limit - count(report), count, head=0.0)
    return Prompt(
        messages=ask(above, report),
        sampling=Sampling(temperature=0.2, seed=seed, max_tokens=answer),
        grammar=block_grammar(lines=300),
        purpose="method",
    )
