"""The places that a model holds for the likeliest: it knows what words mean."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from pytest_brt.agent.report_text import report_text
from pytest_brt.code.file_facts import DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.model.base import Prompt, Sampling
from pytest_brt.model.form import Choice, Header, Text, grammar_for
from pytest_brt.reproduce.opinion import Ask
from pytest_brt.reproduce.prompting.fit import Brief, bug_values, fitted
from pytest_brt.syntax.parse import Function, parse_or_empty
from pytest_brt.types import Place
from pytest_brt.types.clue import NamedByModel

#: As many suspects are shown anyway.
_FEW = 5
#: Tokens of the answer: three names and a path.
_CHOICE = 240
_ANSWERS = ("first", "second", "third")
#: Names of a module that are told.
_NAMES = 12
#: What it answers in place of a name, and characters of the place that it then gives.
_NONE, _LONGEST = "none", 160


def likeliest_places(
    suspects: Sequence[Place], index: Index, brief: Brief, ask: Ask
) -> tuple[Place, ...]:
    """Return `suspects` with those first that a model holds for the likeliest.

    It may name another place of the project. All stay: what it does not choose keeps its order.
    It is not asked about a few, and an answer that cannot be read changes nothing.

    Raises:
        ModelProblem: the model cannot be reached, or the report does not fit it.
    """
    by_name = {_name(suspect): suspect for suspect in suspects}
    if len(by_name) <= _FEW:
        return tuple(suspects)
    choice = Choice(words=(*by_name, _NONE))
    form = Header(
        fields=(*((name, choice) for name in _ANSWERS), ("other", Text(longest=_LONGEST)))
    )
    named = {name: _about(place, index) for name, place in by_name.items()}

    def build(texts: Mapping[str, str]) -> Prompt:
        return Prompt(
            messages=brief.prompts.ask("places", named=named, **bug_values(brief, texts)),
            sampling=Sampling(temperature=0.0, top_p=1.0, max_tokens=_CHOICE),
            grammar=grammar_for(form),
            purpose="places",
        )

    parts = {"report": report_text(brief.issue)}
    said = form.read(ask(fitted(build, parts, ("report",), brief)[0]))
    if not said:
        return tuple(suspects)
    best = [by_name[said[name]] for name in _ANSWERS if said[name] != _NONE]
    best += [by_name.get(_name(other), other) for other in other_place(said["other"], index)]
    return tuple(dict.fromkeys((*best, *suspects)))


def _name(place: Place) -> str:
    return f"{place.path}::{place.function}" if place.function else place.path


def other_place(said: str, index: Index) -> Iterator[Place]:
    """Yield the file, or the function or class in it, that a model names as PATH or PATH::NAME."""
    file, _, name = said.partition("::")
    path = index.paths.find(file)
    if path is None:
        return
    clues = (NamedByModel(),)
    for one in index.definitions(name) if name else ():
        if one.path == path and one.kind is not DefinitionKind.VARIABLE:
            yield Place(
                path=path,
                function=one.qualname,
                line=one.line,
                end_line=one.end_line,
                clues=clues,
            )
            return
    yield Place(path=path, function="", line=1, end_line=0, clues=clues)


def _about(place: Place, index: Index) -> str:
    """Return the signature of a function or class, and the first line of its docstring.

    Of what is outside of any it is which names are set there.
    """
    if not place.function:
        known = index.definitions_in(place.path)
        names = [one.name for one in known if one.top and one.kind is DefinitionKind.VARIABLE]
        return f": sets {', '.join(dict.fromkeys(names[:_NAMES]))}" if names else ""
    text = index.lines(place.path, place.line, place.end_line)
    body = parse_or_empty(textwrap.dedent(text)).body
    found = index.definition_at(place.path, place.line)
    signature = found.signature if found else ""
    if not body or not isinstance(body[0], Function | ast.ClassDef):
        return signature
    docstring = (ast.get_docstring(body[0]) or "").partition("\n")[0]
    return f"{signature}: {docstring}" if docstring else signature
