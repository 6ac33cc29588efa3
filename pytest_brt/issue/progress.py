"""What has been read of a report so far."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from pytest_brt.issue.snippets import Statement
from pytest_brt.pysource.names import names_of
from pytest_brt.pysource.parse import parse
from pytest_brt.types import Miss
from pytest_brt.types.reading import BlockInContext, Claim, ClaimKind, ClaimRole, ReportStep


@dataclass(slots=True)
class Progress:
    """Statements and claims so far, and those that wait for what they are about."""

    steps: list[ReportStep] = field(default_factory=list)
    #: Code in sentences, by its source.
    inline: dict[str, ReportStep] = field(default_factory=dict)
    misses: list[Miss] = field(default_factory=list)
    #: Exceptions that sentences ask for.
    wanted: set[str] = field(default_factory=set)
    #: Claims about the code that comes next.
    ahead: list[Claim] = field(default_factory=list)
    #: Variables of the report.
    bound: set[str] = field(default_factory=set)
    #: Indices of the steps of the last code block.
    latest: list[int] = field(default_factory=list)
    #: What was announced of that block.
    latest_role: ClaimRole = ClaimRole.SHOWN

    def say(self, index: int, claim: Claim) -> None:
        """Note that `claim` is made of statement number `index`."""
        step = self.steps[index]
        self.steps[index] = claimed(step, replace(claim, subject=""))

    def add_inline(self, source: str, line: int, *claims: Claim) -> None:
        """Add code from a sentence, or what is said of it when it is there already."""
        new = ReportStep(source=source, line=line, block=-1 - len(self.inline), inline=True)
        self.inline[source] = claimed(self.inline.get(source, new), *claims)
        self.bound |= names_of(source).bound

    def add_steps(self, statement: Statement, line: int, block: int, *claims: Claim) -> int:
        """Add the statements of one input and return the index of the last."""
        nodes = parse(statement.source).body
        sources = [ast.unparse(node) for node in nodes] if len(nodes) > 1 else [statement.source]
        self.steps += [ReportStep(source=source, line=line, block=block) for source in sources]
        self.steps[-1] = replace(self.steps[-1], claims=claims)
        return len(self.steps) - 1

    def close_block(self, place: BlockInContext, added: list[int]) -> None:
        """End a block of code: what was announced belongs to its statements."""
        if not added:
            return
        ahead, self.ahead = self.ahead, []
        self.latest, self.latest_role = added, place.role
        for claim in ahead:
            several = claim.kind in (ClaimKind.RAISES, ClaimKind.WORKS)
            for index in added if several else added[-1:]:
                self.say(index, claim)
        for index in added:
            self.bound |= names_of(self.steps[index].source).bound


def claimed(step: ReportStep, *claims: Claim) -> ReportStep:
    """Return the statement with further claims, each once."""
    return replace(step, claims=tuple(dict.fromkeys((*step.claims, *claims))))
