"""The places where the bug may be, by all that is known of it, and the file for its tests.

Each term of a report has a weight that goes by where it stands: the title says what the bug is
about, code in a sentence names what the reporter suspects, and the output of a program names much
that has nothing to do with it. How rare a term is in the project is for the index to say.

A chunk scores by the words that it shares with the report, as a share of the best, and by what
else points at it: frames, names of files and modules, and what the report's code ran.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from pytest_brt.errors import UsageProblem
from pytest_brt.project.definitions import Definition
from pytest_brt.project.index import Index, Shares, most_telling
from pytest_brt.project.layout import is_product, is_test_path
from pytest_brt.project.terms import IDENTIFIER, TOKEN, Chunk, split_identifier, terms_of
from pytest_brt.report.tracebacks import read_tracebacks
from pytest_brt.types import BlockKind, Frame, Issue, Note, Place, Raised

#: What a term weighs by where in a report it stands: between backticks in a sentence it is named.
TITLE, NAMED, CODE, PROSE, OUTPUT = 2.25, 1.5, 1.0, 0.7, 0.4
_OF_BLOCK = {
    BlockKind.PROSE: PROSE,
    BlockKind.HEADING: PROSE,
    BlockKind.PYTHON: CODE,
    BlockKind.REPL: CODE,
    BlockKind.FILE: CODE,
}
_NOISE = re.compile(r"https?://\S+|^\s*File \"[^\n]*$|(?<!\S)\S*site-packages\S*", re.M)
_TICKED = re.compile(r"`[^`\n]+`")
#: What stands in the sentences of any report, and in the comments of any code.
_STOP = terms_of(
    "about above after again all also although an and any anything apparently appear are as at be "
    "because been before below between but by can cannot case cause come could did do does doing "
    "done during each either else even ever every everything few first for from get give given go "
    "got had happen has have having he hello help hence here hi how however if in instead into is "
    "it its itself just last later least less let like likely long look made make many may maybe "
    "me might more most much must my need neither new next no nor not nothing now of off ok on "
    "once one only or other our out over own perhaps please possible possibly probably quite "
    "rather really same second see seem several shall she should simply since so some something "
    "still such sure take tell than thank that the their them then there therefore these they "
    "thing think this those though through thus to too try two under unfortunately until up upon "
    "us use used using usually very want was way we well were what when where whether which while "
    "who whole whom why will with within without would yes yet you your "
    "actual actually behavior behaviour bug code correct correctly describe description details "
    "environment error example expect expected fix following found incorrect incorrectly issue "
    "line minimal output problem python report reproduce result right step steps version wrong"
)

#: A place that a user names.
_GIVEN = re.compile(r"\A(?:\./)?(.*?)(?::(\d+)(?:-(\d+))?)?\Z", re.DOTALL)
#: Words of the report that are told of a place.
_TOLD = 4
#: Places in all.
_MAX_PLACES = 30
#: What a file has in common with the report: so many of its chunks, the best, and what share of
#: that each of them gets; what more of it counts where the first place is chosen.
_BEST_CHUNKS, _OF_FILE, _OF_FIRST = 3, 0.1, 0.3
#: What it is worth that the report names the file.
_NAMED_FILE = 0.3
#: What it is worth that the report's code ran it, where it ran no more than so many functions: the
#: more there are, the less it says of each.
_RAN, _MAX_TELLING = 0.5, 40
#: What it is worth that a traceback ends here, which is enough for a place among the suspects, and
#: how much less each frame says than the one below it.
_TRACEBACK, _FRAME_DECAY = 2.0, 0.75
_NAME = re.compile(r"[\w./-]+\.py\b|(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")

_DOCSTRING = re.compile(r'""".*?"""', re.DOTALL)
#: What it is worth beside the tokens that the name of the file fits the words of the test.
_NAME_FITS = 3.0

#: A place, how much something points at it, and its name and text for people.
Evidence = tuple[Chunk, float, str, str]


def query_of(issue: Issue) -> Mapping[str, float]:
    """Return the terms of `issue` with their weights; a term weighs what its best place says."""
    found: dict[str, float] = {}
    for weight, text in texts_of(issue):
        # In code they are names, as of a class that is called `Any`.
        usual = frozenset[str]() if weight == CODE else _STOP
        for term in terms_of(text) - usual:
            if len(term) > 2:
                found[term] = max(found.get(term, 0.0), weight)
    return found


def texts_of(issue: Issue) -> Iterator[tuple[float, str]]:
    """Yield the texts of a report, with what a term in them weighs."""
    yield TITLE, issue.title
    for block in issue.blocks:
        text = _NOISE.sub(" ", block.text)
        weight = _OF_BLOCK.get(block.kind, OUTPUT)
        if block.kind is not BlockKind.TRACEBACK:  # its frames are places, and no words
            yield weight, text
        if weight == PROSE:
            yield NAMED, " ".join(_TICKED.findall(text))


def find_suspects(
    issue: Issue,
    index: Index,
    *,
    ran: Collection[Definition] = (),
    raised: Collection[Raised] = (),
    paths: Collection[str] = (),
) -> tuple[Place, ...]:
    """Return the likeliest places of the bug that `issue` reports, best first.

    `ran` are functions of the product that the report's code ran, and `raised` the exceptions in
    which it ended. Only `paths` are looked at, where any are named.
    """
    shares = index.shares(query_of(issue))
    common = _in_common(shares)
    clues: defaultdict[Chunk, list[Note]] = defaultdict(list)
    scores: defaultdict[Chunk, float] = defaultdict(float)
    for chunk, score, code, text in (  # those that say most come first
        *(
            _on_tracebacks(read_tracebacks(issue.text), index)
            or _on_tracebacks(raised, index)
        ),
        *_run(ran),
        *_files_named(issue.text, index, shares),
        *_words_shared(issue, shares, common),
    ):
        if not paths or chunk.path in paths:
            clues[chunk].append(Note(code=code, text=text))
            scores[chunk] += score
    top = max(scores.values(), default=1.0)
    likely = sorted(scores, key=lambda one: (-scores[one], one.path, one.line))
    # The file says more of the first place than of the others.
    first = max(
        likely, key=lambda one: scores[one] + _OF_FIRST * common[one.path], default=None
    )
    likely.sort(key=lambda one: one != first)
    return tuple(
        Place(**one._asdict(), score=round(scores[one] / top, 4), clues=tuple(clues[one]))
        for one in likely[:_MAX_PLACES]
    )


def _in_common(shares: Shares) -> Counter[str]:
    """Return what the best chunks of each file have in common with a report."""
    files: defaultdict[str, list[float]] = defaultdict(list)
    for chunk, own in shares.items():
        files[chunk.path].append(sum(own.values()))
    best = max(map(max, files.values()), default=1.0)
    return Counter(
        {path: sum(sorted(worth)[-_BEST_CHUNKS:]) / best for path, worth in files.items()}
    )


def _words_shared(
    issue: Issue, shares: Shares, common: Mapping[str, float]
) -> Iterator[Evidence]:
    """Yield the chunks that have words of a report, by what these are worth there.

    What its file has in common with it counts a little, too.
    """
    words = reversed(IDENTIFIER.findall(issue.text))
    spelled = {term: word for word in words for term in terms_of(word)}
    best = max((sum(own.values()) for own in shares.values()), default=1.0)
    for chunk, own in shares.items():
        worth = sum(own.values()) / best + _OF_FILE * common[chunk.path]
        told = dict.fromkeys(spelled.get(term, term) for term in most_telling(own)[:_TOLD])
        text = f"shares {', '.join(told)} with the report"
        yield chunk, worth, "shared-words", text


def _files_named(text: str, index: Index, chunks: Iterable[Chunk]) -> Iterator[Evidence]:
    """Yield the chunks of files that the text names by path or as a dotted module."""
    found: dict[str, str] = {}
    for name in _NAME.findall(text):
        path = (
            index.layout.find_path(name)
            if name.endswith(".py")
            else index.layout.path_of(name)
        )
        if path and not path.endswith("__init__.py"):
            found[path] = f"the report names {name}"
    for chunk in chunks:
        if chunk.path in found:
            yield chunk, _NAMED_FILE, "file-named", found[chunk.path]


def _run(ran: Collection[Definition]) -> Iterator[Evidence]:
    """Yield the chunks that the report's code ran."""
    for one in ran:
        if is_product(one.path):
            score = _RAN * min(1.0, (_MAX_TELLING / len(ran)) ** 0.5)
            yield _chunk_of(one), score, "run-by-report", "the report's code runs it"


def _on_tracebacks(raised: Iterable[Raised], index: Index) -> Collection[Evidence]:
    """Return the chunks of the product on tracebacks, with evidence.

    The deepest frame says most, and a function counts once.
    """
    found: dict[Chunk, Evidence] = {}
    for one in raised:
        for depth, function in enumerate(_functions_of(one, index)):
            text = f"the traceback {'passes' if depth else 'ends'} in {function.name}"
            score = _TRACEBACK * _FRAME_DECAY**depth
            chunk = _chunk_of(function)
            found.setdefault(chunk, (chunk, score, "on-traceback", text))
    return found.values()


def _functions_of(raised: Raised, index: Index) -> Iterator[Definition]:
    """Yield the functions of the product on a traceback, deepest first."""
    for path, frame in product_frames(raised, index):
        named = [
            one
            for one in index.definitions_in(path)
            if one.name == frame.function and not one.is_variable
        ]
        if named:  # lines move, names stay
            yield min(named, key=lambda one: abs(one.line - frame.line))


def product_frames(raised: Raised, index: Index) -> list[tuple[str, Frame]]:
    """Return the frames of an exception in the product, with their files, deepest first."""
    placed = [(index.layout.find_path(one.path), one) for one in reversed(raised.frames)]
    return [(path, one) for path, one in placed if path and not is_test_path(path)]


def _chunk_of(one: Definition) -> Chunk:
    return Chunk(one.path, one.qualname, one.line, one.end_line)


def given_places(specs: Sequence[str], index: Index) -> tuple[Place, ...]:
    """Return the places that a user names as PATH or PATH:FIRST-LAST.

    Raises:
        UsageProblem: there is no such file in the project, or no such line in it.
    """
    places = []
    for spec in specs:
        ((path, first, last),) = _GIVEN.findall(spec)
        line = int(first or 1)
        end = int(last or line)
        lines = index.source(path).count("\n") + 1 if path in index.layout.files else 0
        if not 1 <= line <= end <= lines:
            raise UsageProblem(
                f"--brt-buggy-file: no such lines in the project: {spec!r} (give PATH, PATH:LINE "
                "or PATH:FIRST-LAST of a Python file, from the root)"
            )
        around = index.definition_at(path, line)
        clues = (Note(code="given-by-user", text="given"),)
        function = around.qualname if around else ""
        chunk = Chunk(path, function, line, end) if first else Chunk(path)
        places.append(Place(**chunk._asdict(), clues=clues))
    return tuple(places)


# -- the test file --


def host_of(source: str, index: Index, fails_in: str = "") -> str:
    """Return the test file that a test is added to, or "".

    As LIBRO has it, the file that shares most tokens takes the test (paper 001, requirement 20).
    A token counts by how few files have it, so that the file whose tests call the same function
    comes before a larger one. So does one whose name is in the test's words, or in that of the
    file `fails_in`, in which its exception is raised. Docstrings are in any file's words.
    """
    code, hosts = _DOCSTRING.sub("", source), index.test_tokens
    tokens = frozenset(TOKEN.findall(code))
    words = {*split_identifier(f"{code} {fails_in}")}
    shared = {path: own & tokens for path, own in hosts.items() if own & tokens}
    having = Counter(token for own in shared.values() for token in own)

    def score(path: str) -> float:
        name = {*split_identifier(PurePosixPath(path).stem)} - {"test", "tests"}
        return _NAME_FITS * (set() < name <= words) + sum(
            math.log(1 + len(hosts) / having[token]) for token in shared[path]
        )

    return min(shared, key=lambda path: (-score(path), path), default="")


def nearest_test_file(issue: Issue, index: Index, suspects: Sequence[Place]) -> str:
    """Return the test file that a test of `issue` would be added to, by its names, or "".

    Its prose is asked where its code names nothing that a test has.
    """
    code = "\n".join(text for weight, text in texts_of(issue) if weight >= CODE)
    path = suspects[0].path if suspects else ""
    return host_of(code, index, path) or host_of(issue.text, index, path)
