"""A report as terms, each with a weight that goes by where it stands.

The title says what the bug is about, code in a sentence names what the reporter suspects, and the
output of a program names much that has nothing to do with it. How rare a term is in the project is
for the index to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum

from pytest_brt.project.terms import terms_of
from pytest_brt.report.tracebacks import read_tracebacks
from pytest_brt.types import BlockKind, Issue


class Source(Enum):
    """Where in a report a term stands, with what it weighs there."""

    TITLE = 2.0
    #: Between backticks in a sentence, or spelled as no English word is.
    NAMED = 1.5
    CODE = 1.0
    #: What an exception says.
    MESSAGE = 0.9
    PROSE = 0.7
    OUTPUT = 0.4


_OF_BLOCK = {
    BlockKind.PROSE: Source.PROSE,
    BlockKind.HEADING: Source.PROSE,
    BlockKind.PYTHON: Source.CODE,
    BlockKind.REPL: Source.CODE,
    BlockKind.FILE: Source.CODE,
}
_NOISE = re.compile(r"https?://\S+|^\s*File \"[^\n]*$|(?<!\S)\S*site-packages\S*", re.M)
#: Between backticks, or what no English word looks like: an underscore or a capital inside, a call,
#: a code like E501.
_NAMED = re.compile(
    r"`[^`\n]+`|\b(?:\w+_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|_\w+|[A-Z]+\d+)\b|\b\w+(?=\()"
)
#: What stands in the sentences of any report, and in the comments of any code.
_STOP = terms_of(
    "about above after again all also although an and any anything apparently appear are as at be "
    "because been before below between but by can cannot case cause come could did do does doing "
    "done during each either else even ever every everything few first for from get give given go "
    "got had happen has have having he hello help hence here hi how however if in instead into is "
    "it its itself just last later least less let like likely long look made make many may maybe "
    "me might more most much must my need neither new next no nor not nothing now of off ok on "
    "once one only or other our out over own perhaps please possible possibly probably quite "
    "rather really same second see seem several shall she should simply since so some something "
    "still such sure take tell than thank that the their them then there therefore these they "
    "thing think this those though through thus to too try two under unfortunately until up upon "
    "us use used using usually very want was way we well were what when where whether which while "
    "who whole whom why will with within without would yes yet you your "
    "actual actually behavior behaviour bug code correct correctly describe description details "
    "environment error example expect expected fix following found incorrect incorrectly issue "
    "line minimal output problem python report reproduce result right step steps version wrong"
)


def query_of(issue: Issue) -> Mapping[str, float]:
    """Return the terms of `issue` with their weights; a term weighs what its best place says."""
    found: dict[str, float] = {}
    for source, text in texts_of(issue):
        # In code they are names, as of a class that is called `Any`.
        usual = frozenset[str]() if source is Source.CODE else _STOP
        for term in terms_of(text) - usual:
            if len(term) > 2:
                found[term] = max(found.get(term, 0.0), source.value)
    return found


def texts_of(issue: Issue) -> Iterator[tuple[Source, str]]:
    """Yield the texts of a report, by where they stand."""
    yield Source.TITLE, issue.title
    yield Source.MESSAGE, " ".join(raised.message for raised in read_tracebacks(issue.text))
    for block in issue.blocks:
        text = _NOISE.sub(" ", block.text)
        source = _OF_BLOCK.get(block.kind, Source.OUTPUT)
        if block.kind is not BlockKind.TRACEBACK:  # its frames are places, and no words
            yield source, text
        if source is Source.PROSE:
            yield Source.NAMED, " ".join(_NAMED.findall(text))
