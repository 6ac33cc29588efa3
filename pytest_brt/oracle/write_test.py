"""A draft → a test module that a careful person would have written."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from pytest_brt.edit.source_text import indented, sorted_imports
from pytest_brt.observe.missing_imports import ImportResolver
from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.oracle.comparison import docstring
from pytest_brt.oracle.draft import Draft
from pytest_brt.project.definitions import read_facts
from pytest_brt.pysource.names import names_of, needed, undefined_names
from pytest_brt.pysource.parse import IMPORTS, called_name, compiled, parse, parses
from pytest_brt.types.report import ReportersTest

#: A call on a class or module that sets something and is none of an object's.
_SETTING = re.compile(
    r"(?:[a-z_]\w*\.)*(?:[A-Z]\w*|[a-z_]\w*)\.(?:set|enable|disable|register|configure|use|seed"
    r"|reset|override)(?:_?\w*)\("
)


def write_test(draft: Draft, observed: ObservedReport, name: str) -> str | None:
    """Return the source of the test module, or None when a name in it cannot be bound."""
    setup = _setup(draft, observed)
    imports, local = _hoist([tidy(one.source) for one in setup])
    # What the set-up prints is dropped where the test looks at the output.
    prints = any(one.result and one.result.stdout for one in setup)
    silenced = ["capsys.readouterr()"] if prints and "capsys" in draft.fixtures else []
    body = [*local, *silenced, *draft.body]
    if not parses("\n".join(body)):
        return None
    text = "\n".join([*imports, *draft.imports, *local, *draft.body])
    found = find_imports(text, observed.imports, draft.fixtures)
    if found is None:
        return None
    awaits = bool(compiled("\n".join(body)).co_flags & inspect.CO_COROUTINE)
    marks, has_loop = _marks(draft, observed, setup, awaits=awaits)
    lines = [*draft.imports, *imports, *found, "import pytest", "import asyncio"]
    uses = [*body, *marks, "asyncio" if awaits and not has_loop else ""]
    header = import_block(lines, "\n".join(uses), observed.imports)
    definitions, body = _definitions(body, header)
    code = [indented(line) for line in body]
    if awaits and not has_loop:
        scenario = "\n".join(["async def scenario():", *code])
        code = ["", indented(scenario), "", "    asyncio.run(scenario())"]
    start = f"{'async ' if has_loop else ''}def {name}({', '.join(draft.fixtures)}):"
    function = [*(f"@{mark}" for mark in marks), start, *docstring(draft.docstring), *code]
    source = "\n\n\n".join(filter(None, (header, *definitions, "\n".join(function)))) + "\n"
    return source if parses(source) else None


def complete_test(test: ReportersTest, imports: ImportResolver) -> str | None:
    """Return a reporter's test as a module of its own, None when a name in it cannot be bound."""
    own = [line for line in test.setup if is_import(line)]
    rest = [line for line in test.setup if not is_import(line)]
    found = find_imports("\n".join([*own, *rest, test.source]), imports)
    if found is None:
        return None
    body = "\n\n\n".join([*rest, test.source])
    header = import_block([*own, *found], body, imports)
    return "\n\n\n".join(filter(None, (header, body))) + "\n"


def find_imports(
    text: str, imports: ImportResolver, bound: Sequence[str] = ()
) -> tuple[str, ...] | None:
    """Return the imports of what a text takes for known, None where something is not known."""
    names = {*undefined_names(text)} - {*bound}
    imports.resolve(names)
    return None if imports.missing(names) else imports.imports_for(names)


def import_block(lines: Iterable[str], body: str, imports: ImportResolver) -> str:
    """Return the imports of `lines` that `body` uses, in order."""
    used = {node.id for node in ast.walk(parse(body)) if isinstance(node, ast.Name)}
    known = read_facts("\n".join(lines)).imports
    own = imports.engine.subject.packages
    return sorted_imports((item for item in known if item.bound in used), own)


def _marks(
    draft: Draft, observed: ObservedReport, setup: Sequence[Observation], *, awaits: bool
) -> tuple[list[str], bool]:
    """Return the marks that the project's plugins want, and whether one makes a coroutine run."""
    args = observed.imports.engine.subject.pytest_args
    loaded = {value for option, value in pairwise(args) if option == "-p"}
    runs = [*setup, *([] if draft.index is None else [observed.observations[draft.index]])]
    # A statement that does not ask a database may do so where the bug is gone.
    asks = any(one.result and (one.result.database or one.result.may_ask) for one in runs)
    marks = ["pytest.mark.django_db"] if asks and "django" in loaded else []
    has_loop = awaits and "asyncio" in loaded
    return [*marks, *(["pytest.mark.asyncio"] if has_loop else [])], has_loop


def _definitions(body: list[str], header: str) -> tuple[list[str], list[str]]:
    """Split off the functions and classes that need nothing of the test: to the module's top.

    There they are what they were in the report: they can be pickled, and found by name.
    """
    have = set(names_of(header).bound) if header else set()
    bound = {name for line in body if parses(line) for name in names_of(line).bound}
    above: list[str] = []
    rest: list[str] = []
    for line in body:
        node = parse(line).body[0] if parses(line) else None
        is_above = False
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = names_of(line)
            needs = names.used | (names.builtin & bound)
            is_test = node.name.startswith(("test", "Test"))
            is_above = needs <= have | {node.name} and not is_test
            have |= {node.name} if is_above else set()
        (above if is_above else rest).append(line)
    return (above, rest) if rest else ([], body)


def _setup(draft: Draft, observed: ObservedReport) -> list[Observation]:
    """Return the statements to run first: those the draft depends on that did not fail."""
    if draft.index is None:
        return []
    about = observed.observations[draft.index]
    # Code of a sentence is for itself, unless it gives something a name.
    usable = [
        one
        for one in observed.observations[: draft.index]
        if one.result and one.result.raised is None and not one.names.stars
        if (one.names.bound or not one.statement.is_inline) and not _prints_names(one.source)
    ]
    if draft.whole:
        return [one for one in usable if not _is_idle(one.source)]
    sources = [one.source for one in usable]
    body = "\n".join(draft.body)
    wanted = names_of(body).used if parses(body) else frozenset()
    chosen = {*needed([*sources, body], len(sources), wanted)}
    objects = {n for line in sources if not is_import(line) for n in names_of(line).bound}
    for place, one in enumerate(usable):
        own = one.source.partition(".")[0] in objects
        # What a database holds is reached by no name.
        results = [other.result for other in (one, about)]
        shares = all(result is not None and result.database for result in results)
        if shares or (not own and _sets_for_all(one, about)):
            chosen |= {place, *needed(sources, place)}
    return [usable[place] for place in sorted(chosen)]


def _sets_for_all(one: Observation, last: Observation) -> bool:
    """Say whether a statement sets something that all later ones of its block go by.

    As in ``Parser.set_spaces("")``. No name leads from there to the claim, and on the tree with
    the bug the result may be the same without it.
    """
    value = one.result.value if one.result else None
    if one.statement.block != last.statement.block or value is None or not value.is_none:
        return False
    return bool(_SETTING.match(one.source))


def _is_idle(source: str) -> bool:
    node = parse(source).body[0]
    return isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call)


def _prints_names(source: str) -> bool:
    """Return whether a statement prints something, and does nothing else."""
    calls = (node for node in ast.walk(parse(source)) if isinstance(node, ast.Call))
    return source.startswith("print(") and list(map(called_name, calls)) == ["print"]


def tidy(source: str) -> str:
    """Return the statement without comments."""
    if any(mark in source for mark in ("#", '"""', "'''")):
        return ast.unparse(parse(source))
    return source.strip()


def _hoist(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split the set-up into imports, which go to the top of the module, and the rest."""
    imports: list[str] = []
    rest: list[str] = []
    bound: set[str] = set()
    for line in lines:
        names = names_of(line)
        is_first = is_import(line) and not names.bound & bound
        (imports if is_first else rest).append(line)
        bound |= set() if is_first else names.bound
    return imports, rest


def is_import(line: str) -> bool:
    """Say whether a statement is an import that stands on one line."""
    return line.startswith(IMPORTS) and "\n" not in line.strip()
