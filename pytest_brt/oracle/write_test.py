"""A draft → a test module that a careful person would have written."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from pytest_brt.edit.import_order import sorted_imports
from pytest_brt.edit.source_text import indented
from pytest_brt.observe.missing_imports import ImportResolver
from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.oracle.comparison import docstring
from pytest_brt.oracle.draft import Draft
from pytest_brt.project.definitions import read_facts
from pytest_brt.pysource.names import needed, undefined_names
from pytest_brt.pysource.parse import IMPORTS, called_name, compiled, parse, parses
from pytest_brt.types.report import ReportersTest

#: What the bodies of drafts take for known.
_FIXTURES, _MODULES = ("capsys", "tmp_path"), ("asyncio", "pytest", "subprocess", "sys")


def write_test(draft: Draft, observed: ObservedReport, name: str) -> str | None:
    """Return the source of the test module, or None when a name in it cannot be bound."""
    setup = _setup(draft, observed)
    lines = [_tidy(one.source) for one in setup]
    imports = [line for line in lines if _is_import(line)]
    body = [line for line in lines if not _is_import(line)]
    own = "\n".join(draft.body)
    fixtures = [fixture for fixture in _FIXTURES if fixture in undefined_names(own)]
    if "capsys" in fixtures and any(one.result and one.result.stdout for one in setup):
        body.append("capsys.readouterr()")  # what the set-up prints
    body += draft.body
    code = "\n".join(body)
    found = _find_imports([*imports, code], observed.imports, {*_FIXTURES, *_MODULES})
    if not parses(code) or found is None:
        return None
    awaits = bool(compiled(code).co_flags & inspect.CO_COROUTINE)
    marks = _marks(draft, observed, setup, awaits=awaits)
    is_wrapped = awaits and "pytest.mark.asyncio" not in marks
    known = [*imports, *found, *(f"import {module}" for module in _MODULES)]
    uses = [*body, *marks, "asyncio" if is_wrapped else ""]
    header = _import_block(known, uses, observed.imports)
    definitions, body = _definitions(body, header)
    body = [*map(indented, body)]
    if is_wrapped:
        scenario = indented("\n".join(["async def scenario():", *body]))
        body = ["", scenario, "", "    asyncio.run(scenario())"]
    start = f"{'async ' if awaits and not is_wrapped else ''}def {name}({', '.join(fixtures)}):"
    function = [*(f"@{mark}" for mark in marks), start, *docstring(draft.docstring), *body]
    return _module(header, *definitions, "\n".join(function))


def complete_test(test: ReportersTest, imports: ImportResolver) -> str | None:
    """Return a reporter's test as a module of its own, None when a name in it cannot be bound."""
    own = [line for line in test.setup if _is_import(line)]
    rest = [line for line in test.setup if not _is_import(line)]
    found = _find_imports([*own, *rest, test.source], imports)
    if found is None:
        return None
    header = _import_block([*own, *found], [*rest, test.source], imports)
    return _module(header, *rest, test.source)


def _module(*parts: str) -> str:
    return "\n\n\n".join(filter(None, parts)) + "\n"


def _find_imports(
    lines: Iterable[str], imports: ImportResolver, known: Collection[str] = ()
) -> tuple[str, ...] | None:
    """Return the imports of what code takes for known, None where something is not known."""
    names = {*undefined_names("\n".join(lines))} - {*known}
    imports.resolve(names)
    return None if imports.missing(names) else imports.imports_for(names)


def _import_block(known: Iterable[str], body: Iterable[str], imports: ImportResolver) -> str:
    """Return those of the `known` imports that `body` uses, in order."""
    tree = parse("\n".join(body))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    items = (item for item in read_facts("\n".join(known)).imports if item.bound in used)
    return sorted_imports(items, Path(imports.engine.subject.root))


def _marks(
    draft: Draft, observed: ObservedReport, setup: Sequence[Observation], *, awaits: bool
) -> list[str]:
    """Return the marks that the project's plugins want."""
    args = observed.imports.engine.subject.pytest_args
    loaded = {value for option, value in pairwise(args) if option == "-p"}
    about = () if draft.index is None else (observed.observations[draft.index],)
    results = [one.result for one in (*setup, *about) if one.result]
    # A statement that does not ask a database may do so where the bug is gone.
    asks = any(result.database or result.may_ask for result in results)
    marks = ["pytest.mark.django_db"] if asks and "django" in loaded else []
    return [*marks, "pytest.mark.asyncio"] if awaits and "asyncio" in loaded else marks


def _definitions(body: list[str], header: str) -> tuple[list[str], list[str]]:
    """Split off the functions and classes that need nothing of the test: to the module's top.

    There they are what they were in the report: they can be pickled, and found by name.
    """
    above: list[str] = []
    rest: list[str] = []
    for line in body:
        node, is_above = parse(line).body[0], False
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            needs = undefined_names("\n".join([header, *above, line]))
            is_above = not needs and not node.name.lower().startswith("test")
        (above if is_above else rest).append(line)
    return (above, rest) if rest else ([], body)


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
    calls = (node for node in ast.walk(parse(source)) if isinstance(node, ast.Call))
    return source.startswith("print(") and list(map(called_name, calls)) == ["print"]


def _tidy(source: str) -> str:
    """Return the statement without comments."""
    if any(mark in source for mark in ("#", '"""', "'''")):
        return ast.unparse(parse(source))
    return source.strip()


def _is_import(line: str) -> bool:
    """Say whether a statement is an import that stands on one line."""
    return line.startswith(IMPORTS) and "\n" not in line.strip()
