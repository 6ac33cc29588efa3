"""A draft → a test module that a careful person would have written."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pytest_brt.edit.import_order import sorted_imports
from pytest_brt.edit.source_text import indented
from pytest_brt.observe.names import Resolver
from pytest_brt.observe.watch import Replayed, Seen
from pytest_brt.oracle.assertion import docstring
from pytest_brt.project.definitions import read_facts
from pytest_brt.pysource.names import names_of, needed, undefined_names
from pytest_brt.pysource.parse import IMPORTS, called_name, compiled, parse, parses
from pytest_brt.types import Evidence, OracleKind, Raised


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a rule wants tested."""

    kind: OracleKind
    #: Index of the statement it is about; None when it is about a command.
    index: int | None
    #: Lines of the test after its set-up.
    body: tuple[str, ...]
    #: One sentence, and the report's words that it rests on, or "".
    sentence: str
    quote: str = ""
    #: How much in the report points at it: of drafts with the same evidence, the most comes first.
    signs: int = 0
    #: The result is only shown: where the report is about a crash, it is not what goes wrong.
    in_passing: bool = False
    #: What the failure must look like on the buggy tree; None for a failed assertion.
    expects: Raised | None = None
    #: Fixtures the test asks for.
    fixtures: tuple[str, ...] = ()
    #: Modules the body needs besides what its names resolve to.
    imports: tuple[str, ...] = ()
    #: Run every earlier statement first, not only those it depends on.
    whole: bool = False
    evidence: Evidence = Evidence.OTHER

    @property
    def docstring(self) -> str:
        """The sentence, with the words that it rests on."""
        return f'{self.sentence} Report: "{self.quote}"' if self.quote else self.sentence


#: A call on a class or module that sets something and is none of an object's.
_SETTING = re.compile(
    r"(?:[a-z_]\w*\.)*(?:[A-Z]\w*|[a-z_]\w*)\.(?:set|enable|disable|register|configure|use|seed"
    r"|reset|override)(?:_?\w*)\("
)


def module(draft: Draft, replayed: Replayed, name: str) -> str | None:
    """Return the source of the test module, or None when a name in it cannot be bound."""
    parts_found = _pieces(draft, replayed)
    if parts_found is None:
        return None
    imports, body = parts_found
    awaits = is_awaiting("\n".join(body))
    marks, has_loop = _marks(draft, replayed, awaits)
    if awaits and not has_loop:
        imports = [*imports, "import asyncio"]
    used = "\n".join([*body, *marks, "asyncio" if awaits else ""])
    header = import_block([*imports, "import pytest"], used, replayed.resolver)
    definitions, body = _definitions(body, header)
    arguments = ", ".join(draft.fixtures)
    parts = [f"@{mark}" for mark in marks]
    parts += [
        f"{'async ' if has_loop else ''}def {name}({arguments}):",
        *docstring(draft.docstring),
    ]
    if awaits and not has_loop:
        scenario = ["async def scenario():", *map(indented, body)]
        parts += ["", indented("\n".join(scenario)), "", "    asyncio.run(scenario())"]
    else:
        parts += [indented(line) for line in body]
    source = "\n".join(parts) + "\n"
    source = "\n\n\n".join(part for part in (header, *definitions, source) if part)
    return source if parses(source) else None


def _marks(draft: Draft, replayed: Replayed, awaits: bool) -> tuple[list[str], bool]:
    """Return the marks that the project's plugins want, and whether one makes a coroutine run."""
    args = replayed.resolver.engine.subject.pytest_args
    loaded = {value for option, value in pairwise(args) if option == "-p"}
    runs = [] if draft.index is None else [*_setup(draft, replayed), replayed.seen[draft.index]]
    asks = any(map(_may_ask_database, runs))
    marks = ["pytest.mark.django_db"] if asks and "django" in loaded else []
    has_loop = awaits and "asyncio" in loaded
    return [*marks, *(["pytest.mark.asyncio"] if has_loop else [])], has_loop


def is_awaiting(source: str) -> bool:
    r"""Say whether statements await at their top level, where only a coroutine may.

    >>> is_awaiting("x = await f()"), is_awaiting("async def g():\n    await f()")
    (True, False)
    """
    return bool(compiled(source).co_flags & inspect.CO_COROUTINE)


def _may_ask_database(seen: Seen) -> bool:
    """Say whether a statement asked a database, or may do so where the bug is gone."""
    return seen.did is not None and (seen.did.database or seen.did.may_ask)


def _asked_database(seen: Seen) -> bool:
    return seen.did is not None and seen.did.database


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
        if (
            isinstance(node, ast.FunctionDef | ast.ClassDef)
            and names_of(line).used | (names_of(line).builtin & bound) <= have | {node.name}
            and (not node.name.startswith("test") and not node.name.startswith("Test"))
        ):
            above.append(line)
            have.add(node.name)
        else:
            rest.append(line)
    return (above, rest) if rest else ([], body)


def _pieces(draft: Draft, replayed: Replayed) -> tuple[list[str], list[str]] | None:
    setup = _setup(draft, replayed)
    imports, local = _hoist([tidy(seen.step.source) for seen in setup])
    # What the set-up prints is dropped where the test looks at the output.
    noisy = any(seen.did is not None and seen.did.stdout for seen in setup)
    silenced = ["capsys.readouterr()"] if noisy and "capsys" in draft.fixtures else []
    body = [*local, *silenced, *draft.body]
    text = "\n".join(body)
    if not parses(text):
        return None
    every = "\n".join([*imports, *draft.imports, *local, *draft.body])
    loaded = set(undefined_names(every))
    resolver = replayed.resolver
    resolver.resolve(loaded)
    if resolver.missing(loaded - set(draft.fixtures)):
        return None
    found = resolver.imports_for(loaded - set(draft.fixtures))
    return [*draft.imports, *imports, *found], body


def _setup(draft: Draft, replayed: Replayed) -> list[Seen]:
    """Return the statements to run first: those the draft depends on that did not fail."""
    if draft.index is None:
        return []
    about = replayed.seen[draft.index]
    # Code of a sentence is for itself, unless it gives something a name.
    usable = [
        seen
        for seen in replayed.seen[: draft.index]
        if _ran(seen) and (seen.names.bound or not seen.step.inline)
        if not _prints_names(seen.step.source)
    ]
    if draft.whole:
        return [seen for seen in usable if not _is_idle(seen.step.source)]
    sources = [seen.step.source for seen in usable]
    body = "\n".join(draft.body)
    wanted = names_of(body).used if parses(body) else frozenset()
    chosen = {*needed([*sources, body], len(sources), wanted)}
    objects = {n for line in sources if not is_import(line) for n in names_of(line).bound}
    for place, seen in enumerate(usable):
        own = sources[place].partition(".")[0] in objects
        # What a database holds is reached by no name.
        shares = _asked_database(seen) and _asked_database(about)
        if shares or (not own and _sets_for_all(seen, about)):
            chosen |= {place, *needed(sources, place)}
    return [usable[place] for place in sorted(chosen)]


def _sets_for_all(seen: Seen, last: Seen) -> bool:
    """Say whether a statement sets something that all later ones of its block go by.

    As in ``Parser.set_spaces("")``. No name leads from there to the claim, and on the tree with
    the bug the result may be the same without it.
    """
    if seen.step.block != last.step.block or seen.did is None:
        return False
    silent = seen.did.value is not None and seen.did.value.is_none and not seen.did.stdout
    return silent and bool(_SETTING.match(seen.step.source))


def _ran(seen: Seen) -> bool:
    return seen.did is not None and seen.did.raised is None and not seen.names.stars


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


def _hoist(lines: list[str]) -> tuple[list[str], list[str]]:
    """Split the set-up into imports, which go to the top of the module, and the rest."""
    imports, rest = [], []
    bound: set[str] = set()
    for line in lines:
        names = names_of(line)
        if is_import(line) and not names.bound & bound:
            imports.append(line)
        else:
            rest.append(line)
            bound |= names.bound
    return imports, rest


def is_import(line: str) -> bool:
    """Say whether a statement is an import that stands on one line."""
    return line.startswith(IMPORTS) and "\n" not in line.strip()


def import_block(lines: list[str], body: str, resolver: Resolver) -> str:
    """Return the imports of `lines` that `body` uses, in order."""
    used = {node.id for node in ast.walk(parse(body)) if isinstance(node, ast.Name)}
    imports = read_facts("\n".join(lines)).imports
    root = Path(resolver.engine.subject.root)
    return sorted_imports((item for item in imports if item.bound in used), root)
