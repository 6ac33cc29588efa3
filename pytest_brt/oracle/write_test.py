"""A draft → a test module that a careful person would have written."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from pytest_brt.edit.source_text import indented, sorted_imports
from pytest_brt.observe.missing_imports import ImportResolver
from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.oracle.comparison import docstring
from pytest_brt.oracle.draft import Draft
from pytest_brt.project.definitions import read_facts
from pytest_brt.pysource.names import needed, undefined_names
from pytest_brt.pysource.parse import IMPORTS, compiled, parse, parses
from pytest_brt.types.report import ReportersTest

#: What the bodies of drafts take for known.
_FIXTURES, _MODULES = ("capsys", "tmp_path"), ("asyncio", "pytest", "subprocess", "sys")


def write_test(draft: Draft, observed: ObservedReport, name: str) -> str | None:
    """Return the source of the test module, or None when a name in it cannot be bound."""
    setup = _setup(draft, observed)
    imports, body = _split(_tidy(one.source) for one in setup)
    own = undefined_names("\n".join(draft.body))
    fixtures = [fixture for fixture in _FIXTURES if fixture in own]
    if "capsys" in fixtures and any(one.result and one.result.stdout for one in setup):
        body.append("capsys.readouterr()")  # what the set-up prints
    body += draft.body
    code = "\n".join(body)
    found = _find_imports([*imports, code], observed.imports, {*_FIXTURES, *_MODULES})
    if not parses(code) or found is None:
        return None
    known = [*imports, *found, *(f"import {module}" for module in _MODULES)]
    definitions, body = _definitions(body, known)
    args = observed.imports.engine.subject.pytest_args
    plugins = {value for option, value in pairwise(args) if option == "-p"}
    start, body = f"def {name}({', '.join(fixtures)}):", [*map(indented, body)]
    marks = []
    if "django" in plugins and _asks_database(draft, observed, setup):
        marks.append("@pytest.mark.django_db")
    if compiled(code).co_flags & inspect.CO_COROUTINE:
        if "asyncio" in plugins:
            marks.append("@pytest.mark.asyncio")
            start = f"async {start}"
        else:
            scenario = indented("\n".join(["async def scenario():", *body]))
            body = ["", scenario, "", "    asyncio.run(scenario())"]
    function = "\n".join([*marks, start, *docstring(draft.docstring), *body])
    return _module(known, [*definitions, function], observed.imports)


def complete_test(test: ReportersTest, imports: ImportResolver) -> str | None:
    """Return a reporter's test as a module of its own, None when a name in it cannot be bound."""
    own, rest = _split(test.setup)
    found = _find_imports([*own, *rest, test.source], imports)
    return None if found is None else _module([*own, *found], [*rest, test.source], imports)


def _split(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the imports that stand on one line, which go to the top, and the rest."""
    parts: tuple[list[str], list[str]] = [], []
    for line in lines:
        parts[not line.startswith(IMPORTS) or "\n" in line.strip()].append(line)
    return parts


def _find_imports(
    lines: Iterable[str], imports: ImportResolver, known: Collection[str] = ()
) -> tuple[str, ...] | None:
    """Return the imports of what code takes for known, None where something is not known."""
    names = {*undefined_names("\n".join(lines))} - {*known}
    imports.resolve(names)
    return None if imports.missing(names) else imports.imports_for(names)


def _module(known: Iterable[str], parts: Iterable[str], imports: ImportResolver) -> str:
    """Return a module of some parts, with those of the `known` imports that they use, in order."""
    body = "\n\n\n".join(parts)
    used = {node.id for node in ast.walk(parse(body)) if isinstance(node, ast.Name)}
    own = imports.engine.subject.packages
    items = (item for item in read_facts("\n".join(known)).imports if item.bound in used)
    return f"{sorted_imports(items, own)}\n\n\n{body}\n".lstrip()


def _asks_database(draft: Draft, observed: ObservedReport, setup: Sequence[Observation]) -> bool:
    """Say whether a test asks a database of Django's, or may do so where the bug is gone."""
    about = () if draft.index is None else (observed.observations[draft.index],)
    results = (one.result for one in (*setup, *about))
    return any(result and result.database for result in results)


def _definitions(body: list[str], known: list[str]) -> tuple[list[str], list[str]]:
    """Split off the functions and classes that need nothing of the test: to the module's top.

    There they are what they were in the report: they can be pickled, and found by name.
    """
    above: list[str] = []
    rest: list[str] = []
    for line in body:
        node, is_above = parse(line).body[0], False
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            needs = undefined_names("\n".join([*known, *above, line]))
            is_above = not needs and not node.name.lower().startswith("test")
        (above if is_above else rest).append(line)
    return (above, rest) if rest else ([], body)  # a definition may be what goes wrong


def _setup(draft: Draft, observed: ObservedReport) -> list[Observation]:
    """Return the statements to run first: those the draft depends on that did not fail."""
    if draft.index is None:
        return []
    before, about = observed.observations[: draft.index], observed.observations[draft.index]
    # Code of a sentence is for itself, unless it gives something a name.
    usable = [
        one
        for one in before
        if one.result and one.raised is None and not one.names.stars
        if (one.names.bound or not one.statement.is_inline) and not _only_prints(one.source)
    ]
    if draft.whole:
        return usable
    sources = [one.source for one in usable]
    chosen = {*needed([*sources, "\n".join(draft.body)], len(sources))}
    for place, one in enumerate(usable):
        # What a database holds is reached by no name.
        if one.result and one.result.database and about.result and about.result.database:
            chosen |= {place, *needed(sources, place)}
    return [usable[place] for place in sorted(chosen)]


def _only_prints(source: str) -> bool:
    """Return whether a statement prints something, and does nothing else."""
    return source.startswith("print(") and source.count("(") == 1


def _tidy(source: str) -> str:
    """Return the statement without comments."""
    if any(mark in source for mark in ("#", '"""', "'''")):
        return ast.unparse(parse(source))
    return source.strip()
