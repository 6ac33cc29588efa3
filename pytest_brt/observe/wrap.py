"""Results that a report shows through a function it does not call.

A notebook displays a value through a renderer, a session prints it through a display hook;
the report then shows the renderer's output, or its traceback, below a plain expression.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pytest_brt.code.layout import is_test_path
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.observation import Program
from pytest_brt.execute.subject import Subject
from pytest_brt.observe.display import displays, shown_expression
from pytest_brt.observe.project import main_packages, module_name
from pytest_brt.observe.watch import Replayed, Seen
from pytest_brt.reading.compare import Likeness, quoted_in
from pytest_brt.reading.names import names_of, needed
from pytest_brt.reading.steps import Claim, ClaimKind, Role, Step
from pytest_brt.types import Frame

_RENDERER = re.compile(
    r"^(?:pretty|pprint|pformat|format|render|dumps?|to_?(?:str|string|text)|latex|unparse|"
    r"prettify|display)\w*$",
    re.IGNORECASE,
)
#: Renderers and statements tried at most.
_MOST = 12


def wrapped(replayed: Replayed, engine: Engine) -> Replayed:
    """Return `replayed` with further statements: plain ones put through a renderer.

    Only those are added that then do what the report shows, one for each thing shown.
    """
    tries: dict[tuple[int, Claim], list[tuple[str, str]]] = {}
    for index, module, function, said in (
        *_from_frames(replayed, engine.subject),
        *_from_exports(replayed, engine),
    ):
        tries.setdefault((index, said), []).append((module, function))
    added: list[Seen] = []
    for (index, said), functions in tries.items():
        found = _try(replayed, engine, index, said, functions[:_MOST])
        if found is not None:
            module, function, seen = found
            added.append(seen)
            replayed.resolver.known[function] = (f"from {module} import {function}",)
    if not added:
        return replayed
    return replace(replayed, seen=(*replayed.seen, *added))


def _from_frames(replayed: Replayed, subject: Subject) -> Iterator[tuple[int, str, str, Claim]]:
    """Project functions in a traceback below a statement that does not raise by itself."""
    for index, seen in enumerate(replayed.seen):
        if seen.did is None or seen.did.raised is not None:
            continue
        if not shown_expression(seen.step.source):
            continue
        for said in seen.step.claims:
            if said.kind is not ClaimKind.RAISES or not said.direct or not said.raised:
                continue
            tried: set[str] = set()
            for frame in said.raised.frames:
                module = _module_of(frame, subject)
                if module and frame.function not in tried and len(tried) < 4:
                    tried.add(frame.function)
                    yield index, module, frame.function, said


def _module_of(frame: Frame, subject: Subject) -> str:
    """Return the module whose top level defines the frame's function, "" when none does."""
    if not frame.function.isidentifier() or frame.function.startswith("_"):
        return ""
    parts = frame.path.split("/")
    for start in range(len(parts) - 1):
        for root in subject.source_roots:
            path = (Path(root) / "/".join(parts[start:])).as_posix()
            module = module_name(path, subject)
            file = Path(subject.root) / path
            if not module or is_test_path(path) or not file.is_file():
                continue
            text = file.read_text(encoding="utf-8", errors="replace")
            if re.search(rf"^def {frame.function}\(", text, re.MULTILINE):
                return module
    return ""


def _from_exports(replayed: Replayed, engine: Engine) -> Iterator[tuple[int, str, str, Claim]]:
    """Public renderers of the package, for values whose quotation does not match."""
    unlike = []
    for index, seen in enumerate(replayed.seen):
        shown = displays(seen)
        if not shown or not seen.step.session or "(" in shown[0].text[:1]:
            continue
        for said in seen.step.claims:
            if (
                said.kind is ClaimKind.VALUE
                and said.direct
                and said.role in (Role.SHOWN, Role.OBSERVED)
                and not any(quoted_in(display.text, said.text) for display in shown)
            ):
                unlike.append((index, said))
    if not unlike:
        return
    for package in main_packages(engine.subject):
        listing = f"[n for n in dir(__import__({package!r})) if not n.startswith('_')]"
        observed = engine.observe(Program(statements=(listing,))).observed
        value = observed[0].value if observed else None
        names = ast.literal_eval(value.repr) if value and value.evaluable else []
        renderers = sorted(filter(_RENDERER.match, names), key=lambda name: (len(name), name))
        renderers = renderers[:_MOST]
        for index, said in unlike[:2]:
            for name in renderers:
                yield index, package, name, said


def _try(
    replayed: Replayed,
    engine: Engine,
    index: int,
    said: Claim,
    functions: list[tuple[str, str]],
) -> tuple[str, str, Seen] | None:
    """Return the first function that makes of the statement what the report shows."""
    base = replayed.seen[index]
    expression = shown_expression(base.step.source)
    before = [
        seen.step.source
        for seen in replayed.seen[:index]
        if seen.did is not None and seen.did.raised is None and not seen.step.inline
    ]
    setup = [before[place] for place in needed([*before, expression], len(before))]
    bound = frozenset().union(*(names_of(line).bound for line in setup)) if setup else frozenset()
    used = frozenset().union(*(names_of(line).used for line in [*setup, expression])) - bound
    start = (*replayed.resolver.imports_for(used), *setup)
    statements = list(start)
    for module, function in functions:
        statements += [f"from {module} import {function}", f"{function}({expression})"]
    observed = engine.observe(Program(statements=tuple(statements))).observed
    for place, (module, function) in enumerate(functions):
        number = len(start) + 2 * place + 1
        if number >= len(observed):
            break
        source = statements[number]
        step = Step(
            source=source,
            line=base.step.line,
            block=base.step.block,
            claims=(said,),
            inline=True,
            wrapped=True,
        )
        seen = Seen(step=step, names=names_of(source), did=observed[number])
        if _is_as_said(seen, said):
            return module, function, seen
    return None


def _is_as_said(seen: Seen, said: Claim) -> bool:
    raised = seen.did.raised if seen.did else None
    if said.raised is not None:
        return raised is not None and raised.type.split(".")[-1] == said.raised.type.split(".")[-1]
    return raised is None and any(
        quoted_in(display.text, said.text) >= Likeness.TOKENS for display in displays(seen)
    )
