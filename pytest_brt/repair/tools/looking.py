"""The tools that only look: at files, at the failing tests, for names and for likely places."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.agent.action import Action, ActionSpec, Kind, Outcome, Parameter, Tool, refused
from pytest_brt.agent.paths import closest
from pytest_brt.agent.prompts import fenced
from pytest_brt.code.file_facts import Definition, DefinitionKind
from pytest_brt.code.lookup import Hit, find_calls, find_definitions, wanted_in
from pytest_brt.code.words import terms_of
from pytest_brt.execute.engine import Row, target_of
from pytest_brt.guard.suite import read_tests
from pytest_brt.localise.query import query_of
from pytest_brt.render.clues import clue_words
from pytest_brt.repair.account import told_runs
from pytest_brt.repair.site import Room, Site, window
from pytest_brt.repair.states import ToolName
from pytest_brt.syntax.parse import decode
from pytest_brt.types import JudgedTest, Place, Step, Verdict
from pytest_brt.types.clue import GivenByUser


def read_range(site: Site, room: Room) -> Tool:
    """Return the tool; `room` is what an observation holds."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        path = action["path"]
        return show_lines(path, site.lines(path), int(action["first"]), int(action["last"]), room)

    spec = ActionSpec(
        name=ToolName.READ_RANGE.value,
        about=f"Show lines of a file, about {room.lines} at a time.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="first", about="first line", kind=Kind.NUMBER),
            Parameter(name="last", about="last line", kind=Kind.NUMBER),
        ),
    )
    return Tool(spec=spec, run=run)


def show_lines(path: str, lines: tuple[str, ...], first: int, last: int, room: Room) -> Outcome:
    """Return the lines of a file that were asked for, as far as there is room."""
    first, last = max(1, first), min(last, len(lines))
    if last < first:
        return refused(f"{path} has {len(lines)} lines: ask for 1 to {len(lines)}.")
    end, shown = window(lines, first, last, room)
    over = "" if end < len(lines) else ", the end"
    more = f"\n[… go on with line {end + 1} …]" if end < last else ""
    text = f"{path}, lines {first} to {end} of {len(lines)}{over}:\n{shown}{more}"
    return Outcome(observation=text)


def classes_and_methods(site: Site) -> Tool:
    """Return the tool."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        path = action["path"]
        found = _defined(site, path)
        if len(found) > _LISTED:
            return Outcome(observation=_told_many(site, path, found))
        text = "\n".join(map(_told_definition, found)) or "no class and no function"
        return Outcome(observation=f"{path} defines:\n{text}")

    spec = ActionSpec(
        name=ToolName.CLASSES_AND_METHODS.value,
        about="List the classes and functions of a file with their lines.",
        parameters=(Parameter(name="path", about="a file", kind=Kind.PATH),),
    )
    return Tool(spec=spec, run=run)


#: Definitions of a file that are listed with their lines; of more, so many.
_LISTED, _NEAREST = 60, 20


def _told_definition(one: Definition) -> str:
    word = "class" if one.kind is DefinitionKind.CLASS else "def"
    margin = "  " * one.qualname.count(".")
    return f"{margin}{word} {one.name}{one.signature}  lines {one.line}-{one.end_line}"


def _told_many(site: Site, path: str, found: Sequence[Definition]) -> str:
    """Return the definitions of a large file: first those like the report, then all names."""
    query = query_of(site.issue)

    def worth(one: Definition) -> float:
        return sum(query.get(term, 0.0) for term in terms_of(one.name))

    like = sorted((one for one in found if worth(one)), key=worth, reverse=True)[:_NEAREST]
    first = [f"{one.qualname}{one.signature}  lines {one.line}-{one.end_line}" for one in like]
    inside: dict[str, list[str]] = {}
    for one in found:
        inside.setdefault(one.qualname.rpartition(".")[0], []).append(one.name)
    names = [f"{around or 'module'}: {', '.join(some)}" for around, some in inside.items()]
    return "\n".join(
        [
            f"{path} defines {len(found)} classes and functions.",
            *(["Those with words of the report:", *first] if first else []),
            f"All names ({ToolName.EXTRACT_METHOD.value} shows one):",
            *names,
        ]
    )


#: Definitions of one name that are shown.
_DEFINITIONS = 4


def extract_method(site: Site, room: Room) -> Tool:
    """Return the tool; `room` is what an observation holds."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        path, name = action["path"], action["name"]
        found = methods_called(site, path, name)
        if not found:
            return refused(_missing(site, path, name))
        return Outcome(observation=_shown(site.lines(path), path, found[:_DEFINITIONS], room))

    spec = ActionSpec(
        name=ToolName.EXTRACT_METHOD.value,
        about="Show the whole source of a function or method.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="name", about="name of a function or method in it"),
        ),
    )
    return Tool(spec=spec, run=run)


def _shown(lines: tuple[str, ...], path: str, found: Sequence[Definition], room: Room) -> str:
    """Return the sources of definitions; what does not fit is named."""
    shown: list[str] = []
    for one in found:
        where = f"{path}: {one.qualname}, lines {one.line} to {one.end_line}"
        left = room.most - room.count("\n\n".join(shown))
        if left < room.most // 4:
            shown.append(f"{where}: no room here")
            continue
        end, code = window(lines, one.line, one.end_line, Room(most=left, count=room.count))
        more = f"\n[… go on with read_range {path} {end + 1} {one.end_line} …]"
        shown.append(f"{where}:\n{code}{more if end < one.end_line else ''}")
    return "\n\n".join(shown)


def _defined(site: Site, path: str) -> list[Definition]:
    known = site.index.definitions_in(path)
    return [one for one in known if one.kind is not DefinitionKind.VARIABLE]


def methods_called(site: Site, path: str, name: str) -> tuple[Definition, ...]:
    """Return the functions, methods and classes of a file that `name` can mean."""
    bare = name.partition("(")[0].strip(" .:").replace("::", ".")
    inside = _defined(site, path)
    exact = [one for one in inside if f".{one.qualname}".endswith(f".{bare}")]
    if not exact:
        meant = closest(bare.rpartition(".")[2], {one.name for one in inside}).name
        exact = [one for one in inside if meant and one.name == meant]
    return tuple(exact)


def _missing(site: Site, path: str, name: str) -> str:
    elsewhere = [one for one in site.index.definitions(name.rpartition(".")[2]) if one.path != path]
    if elsewhere:
        places = "; ".join(f"{one.path}: {one.qualname}" for one in elsewhere[:_DEFINITIONS])
        return f"{path} has no {name!r}. It is defined in {places}."
    names = [one.qualname for one in _defined(site, path)]
    return f"{path} has no {name!r}. It has: {', '.join(names[:30]) or 'no function'}."


def extract_tests(site: Site) -> Tool:
    """Return the tool."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        names = {judged.test.name: judged for judged in site.failing}
        if not names:
            return refused("There is no failing test. Read the code that the report names.")
        asked = action["name"].rpartition("::")[2].strip()
        meant = closest(asked, names).name if asked else next(iter(names))
        if not meant:
            return refused(f"There is no failing test {asked!r}. There are: {', '.join(names)}.")
        judged = names[meant]
        code = fenced(source_of(site, judged), "python")
        return Outcome(observation=f"{judged.test.path}: {judged.test.name} fails:\n{code}")

    spec = ActionSpec(
        name=ToolName.EXTRACT_TESTS.value,
        about="Show the source of a failing test.",
        parameters=(
            Parameter(name="name", about="name of the test, or nothing for the first", default=""),
        ),
    )
    return Tool(spec=spec, run=run)


def source_of(site: Site, judged: JudgedTest) -> str:
    """Return the source of a test: its module when it stands alone, else its function."""
    test = judged.test
    if test.source is not None:
        return test.source
    text = (site.root / test.path).read_text(encoding="utf-8", errors="replace")
    # Parameters of a test follow its name in brackets.
    bare = test.name.partition("[")[0]
    found = [one.source for one in read_tests(test.path, text) if one.node == bare]
    return found[0] if found else text


def run_tests(site: Site) -> Tool:
    """Return the tool."""

    def run(_action: Action, _steps: Sequence[Step]) -> Outcome:
        if not site.failing:
            return refused("There is no failing test to run.")
        row = Row(targets=tuple(target_of(judged.test) for judged in site.failing))
        runs = site.trials.engine.run(row).runs
        text = told_runs(runs, names_of(site))
        failed = any(run.verdict is not Verdict.PASS for run in runs)
        return Outcome(observation=text, verdict=Verdict.FAIL if failed else Verdict.PASS)

    spec = ActionSpec(
        name=ToolName.RUN_TESTS.value,
        about="Run the failing tests on the code as it is, and show how.",
    )
    return Tool(spec=spec, run=run)


def names_of(site: Site) -> dict[str, str]:
    """Return what the failing tests are called, by their ids."""
    return {judged.test.id: judged.test.name for judged in site.failing}


#: Names that are shown.
_MOST = 20
#: Lines at the top of a definition that need no mention.
_TOP = 2


def search_code_base(site: Site) -> Tool:
    """Return the tool; it searches the files as they are after the steps so far."""

    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        wanted = wanted_in(action["keywords"])
        if not wanted:
            return refused("'keywords' holds no word: name a few, as in 'parse date'.")
        now = site.after(steps)
        hits = find_definitions(
            wanted,
            site.index,
            read=lambda path: decode(now.read(path) or b""),
            changed=tuple(now.changed),
            limit=_MOST,
        )
        if not hits:
            return Outcome(observation=f"Nothing has a name like {', '.join(wanted)}.")
        lines = ([path, *map(_line, inside)] for path, inside in hits.items())
        return Outcome(observation="\n".join(line for of_file in lines for line in of_file))

    spec = ActionSpec(
        name=ToolName.SEARCH.value,
        about="Find files, classes and functions by words of their names or code.",
        parameters=(Parameter(name="keywords", about="a few words or identifiers"),),
    )
    return Tool(spec=spec, run=run)


def _line(hit: Hit) -> str:
    one = hit.definition
    word = "class " if one.kind is DefinitionKind.CLASS else ""
    name = one.qualname.replace(".", " → ")
    # A name stands some lines below its first decorator.
    see = f", see {hit.line}" if hit.line > one.line + _TOP else ""
    where = f"line {one.line}{see}"
    return f"  {word}{name} ({where}): {', '.join(hit.words)}"


#: Calls that are shown.
_CALLS = 25


def similar_calls(site: Site) -> Tool:
    """Return the tool."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        name = action["name"].partition("(")[0].strip().rpartition(".")[2]
        if not name.isidentifier():
            return refused(
                f"{action['name']!r} is not the name of a function: write it without dots."
            )
        path = site.find(action["path"]) if action["path"] else ""
        where = path or "the project"
        calls = find_calls(name, site.index, path=path, limit=_CALLS)
        if not calls:
            like = site.index.names_like(name, limit=3)
            hint = f" Names like it: {', '.join(like)}." if like else ""
            return Outcome(observation=f"Nothing calls {name} in {where}.{hint}")
        shown = "\n".join(
            f"{call.path}:{call.line}{f' in {call.caller}' if call.caller else ''}: {call.text}"
            for call in calls
        )
        return Outcome(observation=f"Calls of {name} in {where}:\n{shown}")

    spec = ActionSpec(
        name=ToolName.SIMILAR_CALLS.value,
        about="Show calls of a function, in one file or in the whole project.",
        parameters=(
            Parameter(name="name", about="name of the function"),
            Parameter(name="path", about="a file, or nothing for the project", default=""),
        ),
    )
    return Tool(spec=spec, run=run)


#: Places that are told.
_PLACES = 8


def fault_localization(site: Site) -> Tool:
    """Return the tool."""

    def run(_action: Action, _steps: Sequence[Step]) -> Outcome:
        return Outcome(observation=told_places(site.places(), perfect=site.perfect))

    spec = ActionSpec(
        name=ToolName.LOCALIZE.value, about="Say which functions and lines are most suspicious."
    )
    return Tool(spec=spec, run=run)


def told_places(places: Sequence[Place], *, perfect: bool) -> str:
    """Return places as a list for a model."""
    if not places:
        return "Nothing points to a place. Search the code for names from the report."
    head = "The bug is here:" if perfect else "The most suspicious places, likeliest first:"
    return "\n".join([head, *(_told_place(place) for place in places[:_PLACES])])


def _told_place(place: Place) -> str:
    span = f":{place.line}-{place.end_line}" if place.end_line else ""
    name = f" {place.function}" if place.function else ""
    lines = f", lines {', '.join(map(str, sorted(place.lines)))}" if place.lines else ""
    told = [clue_words(clue) for clue in place.clues if not isinstance(clue, GivenByUser)]
    why = f" ({told[0]})" if told else ""
    return f"- {place.path}{span}{name}{lines}{why}"
