"""What points at a place beside the words that it shares with a report.

What the report quotes (`quoted`), and what its code ran on this tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from pytest_brt.code.file_facts import Passage
from pytest_brt.code.index import Index
from pytest_brt.localise.query import weight_of
from pytest_brt.localise.quoted import miscalled, named_files, on_tracebacks
from pytest_brt.localise.sign import Key, Sign
from pytest_brt.types import Issue
from pytest_brt.types.clue import RunByReport, SpokenOf

#: What it is worth that the report names the file.
_NAMED_FILE = 0.3
#: What it is worth, for each weight of a word in the report, that it speaks of the module or the
#: class around the place.
_MODULE, _CLASS = 0.1, 0.05
#: What it is worth that the report's code ran it, where it ran no more than so many functions: the
#: more there are, the less it says of each.
_RAN, _FEW = 0.5, 40


def signs_of_report(
    issue: Issue,
    query: Mapping[str, float],
    index: Index,
    having: Collection[int],
    ran: Collection[Key],
) -> Mapping[int, list[Sign]]:
    """Return what a report has that points at each passage, by its number.

    Those `having` terms of `query`, the report's, may be in a file that it names, or in a module
    or class that it speaks of; `ran` are the functions that the report's code ran.
    """
    found: defaultdict[int, list[Sign]] = defaultdict(list)
    files = named_files(issue.text, index)
    share = _RAN * min(1.0, (_FEW / max(len(ran), 1)) ** 0.5)
    for number, passage in index.passages.items():
        key = (passage.path, passage.function)
        if number in having:
            if passage.path in files:
                found[number].append(Sign(_NAMED_FILE, files[passage.path]))
            found[number] += _spoken_of(passage, query, index)
        if key in ran:
            found[number].append(Sign(share, RunByReport()))
    for number, sign in (*on_tracebacks(issue.text, index), *miscalled(issue.text, index)):
        found[number].append(sign)
    return found


def _spoken_of(passage: Passage, query: Mapping[str, float], index: Index) -> Iterator[Sign]:
    """Yield the module and the class around a passage, as far as the report speaks of them."""
    *above, module = index.layout.module_of(passage.path).split(".")
    if above and (weight := weight_of(module, query)):  # the project itself is always spoken of
        yield Sign(_MODULE * weight, SpokenOf(name=module))
    classes = passage.function.split(".")[:-1]
    best = max(classes, key=lambda name: weight_of(name, query), default="")
    if weight := weight_of(best, query):
        yield Sign(_CLASS * weight, SpokenOf(name=best))
