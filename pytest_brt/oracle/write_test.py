"""A draft → a test module that a careful person would have written."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Collection, Iterable

from pytest_brt.edit.source_text import WIDTH, indented, sorted_imports
from pytest_brt.observe.run_snippets import ImportResolver, Observation, ObservedReport
from pytest_brt.oracle.draft import Draft, one_line
from pytest_brt.project.definitions import read_facts
from pytest_brt.pysource.names import needed, undefined_names
from pytest_brt.pysource.parse import IMPORTS, compiled, parse
from pytest_brt.types.report import ReportersTest

#: What the bodies of drafts take for known.
_FIXTURES, _MODULES = ("capsys", "tmp_path"), ("asyncio", "pytest", "subprocess", "sys")
#: A statement that can stand at the top of a module, and one that only prints something.
_DEFINITION = re.compile(r"(?:@.*\n)*(?:def|class) (?!test)", re.IGNORECASE)
_PRINT = re.compile(r"print\([^(]*$")


def write_test(draft: Draft, observed: ObservedReport, name: str) -> str | None:
    """Return the source of the test module, or None when a name in it cannot be bound."""
    before = _setup(draft, observed)
    imports, setup = _split(one.source.strip() for one in before)
    check = "\n".join(draft.body)
    fixtures = [fixture for fixture in _FIXTURES if fixture in check]
    if "capsys" in fixtures and any(one.result and one.result.stdout for one in before):
        setup.append("capsys.readouterr()")  # what the set-up prints
    code = "\n".join([*setup, check])
    found = _find_imports([*imports, code], observed.imports, {*_FIXTURES, *_MODULES})
    if found is None:
        return None
    known = [*imports, *found, *(f"import {module}" for module in _MODULES)]
    # At the top they are what they were in the report: they can be pickled, and found by name.
    above: list[str] = []
    for line in filter(_DEFINITION.match, setup):
        if not undefined_names("\n".join([*known, *above, line])):
            above.append(line)
    body = [indented(line) for line in (*setup, *draft.body) if line not in above]
    start = f"def {name}({', '.join(fixtures)}):"
    plugins = observed.imports.engine.subject.pytest_args
    if compiled(code).co_flags & inspect.CO_COROUTINE:
        if "asyncio" in plugins:
            start = f"@pytest.mark.asyncio\nasync {start}"
        else:
            scenario = indented("\n".join(["async def scenario():", *body]))
            body = ["", scenario, "", "    asyncio.run(scenario())"]
    if "django" in plugins and _has_database(draft, observed):
        start = f"@pytest.mark.django_db\n{start}"
    function = "\n".join([start, *_docstring(draft.sentence), *body])
    return _module(known, [*above, function], observed.imports)


def complete_test(test: ReportersTest, imports: ImportResolver) -> str | None:
    """Return a reporter's test as a module of its own, None when a name in it cannot be bound."""
    own, rest = _split(test.setup)
    found = _find_imports([*own, *rest, test.source], imports)
    return None if found is None else _module([*own, *found], [*rest, test.source], imports)


# -- what stands before the check --


def _setup(draft: Draft, observed: ObservedReport) -> list[Observation]:
    """Return the statements to run first: those the draft depends on that did not fail."""
    # Code of a sentence is for itself, unless it gives something a name.
    usable = [
        one
        for one in observed.observations[: draft.index or 0]
        if one.result and one.raised is None and not one.names.stars
        if (one.names.bound or not one.statement.is_inline) and not _PRINT.match(one.source)
    ]
    # What a database holds is reached by no name.
    if draft.whole or _has_database(draft, observed):
        return usable
    sources = [one.source for one in usable]
    chosen = needed([*sources, "\n".join(draft.body)], len(sources))
    return [usable[place] for place in chosen]


def _has_database(draft: Draft, observed: ObservedReport) -> bool:
    """Say whether what a draft is about may ask a database of Django's."""
    result = None if draft.index is None else observed.observations[draft.index].result
    return result is not None and result.database


# -- the parts of a module --


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


def _docstring(sentence: str) -> list[str]:
    """Return the lines of a test's docstring, indented."""
    # Of characters that cannot be seen, some cannot stand in source at all.
    seen = "".join(letter if letter.isprintable() else " " for letter in one_line(sentence))
    text = seen.replace("\\", "\\\\").replace('"""', "'''")
    if len(text) <= WIDTH - 10:
        return [f'    """{text}"""']
    lines = textwrap.wrap(
        f'"""{text}', WIDTH - 4, break_long_words=False, break_on_hyphens=False
    )
    return [f"    {line}" for line in (*lines, '"""')]


def _module(known: Iterable[str], parts: Iterable[str], imports: ImportResolver) -> str:
    """Return a module of some parts, with those of the `known` imports that they use, in order."""
    body = "\n\n\n".join(parts)
    used = {node.id for node in ast.walk(parse(body)) if isinstance(node, ast.Name)}
    own = imports.engine.subject.packages
    items = (item for item in read_facts("\n".join(known)).imports if item.bound in used)
    return f"{sorted_imports(items, own)}\n\n\n{body}\n".lstrip()
