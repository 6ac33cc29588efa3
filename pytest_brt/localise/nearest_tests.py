"""The test file that is nearest to a report: by its words, and by what it imports."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.code.index import Index
from pytest_brt.code.relevance import is_test, relevance
from pytest_brt.code.words import terms_of
from pytest_brt.localise.places import files_of
from pytest_brt.localise.query import query_of
from pytest_brt.types import Issue, Place

#: What the name of the likeliest function weighs among the words of a report, and that of its
#: module, which the test file may be called after.
_FUNCTION, _MODULE = 2.0, 2.0
#: Suspects whose names are looked for, and how much less each says than the one before it.
_SUSPECTS, _DECAY = 6, 0.7
#: What it is worth, beside the words of the best file, that the likeliest module is imported.
_IMPORTS = 0.3


def nearest_tests(issue: Issue, index: Index, suspects: Sequence[Place]) -> str:
    """Return the path of the test file that a test of `issue` would be added to, or ""."""
    query = dict(query_of(issue))
    for rank, suspect in enumerate(suspects[:_SUSPECTS]):
        module = index.layout.module_of(suspect.path).rpartition(".")[2]
        for text, weight in ((suspect.function, _FUNCTION), (module, _MODULE)):
            for term in terms_of(text):
                query[term] = max(query.get(term, 0.0), weight * _DECAY**rank)
    scores = relevance(query, index, tests=True).files
    best = max(scores.values(), default=1.0)
    for path in files_of(suspects)[:1]:
        for importer in index.importers(index.layout.module_of(path)):
            if is_test(importer):
                scores = {**scores, importer: scores.get(importer, 0.0) + _IMPORTS * best}
    in_suite = index.layout.collected.has_file
    hosts = [path for path in scores if in_suite(path) and _has_tests(path, index)]
    return min(hosts, key=lambda path: (-scores[path], path), default="")


def _has_tests(path: str, index: Index) -> bool:
    return any(found.name.lower().startswith("test") for found in index.definitions_in(path))
