"""The places where the bug may be, from all that the report says and its code runs.

A chunk scores by the words that it shares with the report and by those of its file, each as a share
of the best, and by what else in the report points at it: frames, names of files and
modules, and what its code ran.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pytest_brt.errors import UsageProblem
from pytest_brt.localise.query import frames_of, query_of, weight_of
from pytest_brt.project.chunks import Chunk
from pytest_brt.project.index import Index, Relevance
from pytest_brt.project.layout import is_test_path
from pytest_brt.project.words import IDENTIFIER, terms_of
from pytest_brt.types import Frame, Issue, Note, Place, Raised

#: What the words of the file are worth beside those of the chunk, the best of each.
_OF_FILE = 0.5
#: What scores less than this share of the best is not worth a look.
_MIN_SHARE = 0.25
#: Lines of a place that a user names.
_SPAN = re.compile(r":(\d+)(?:-(\d+))?$")
#: Places of one class, and of one file, that stand before those of others.
_MAX_OF_CLASS, _MAX_OF_FILE = 4, 12
#: What it is worth that the report names the file, and, for each weight of a word in the report,
#: that it speaks of the module around the place.
_NAMED_FILE, _MODULE = 0.3, 0.1
#: What it is worth that the report's code ran it, where it ran no more than so many functions: the
#: more there are, the less it says of each.
_RAN, _MAX_TELLING = 0.5, 40

#: What it is worth that a traceback ends here, which is enough for a place among the suspects, and
#: how much less each frame says than the one below it.
_TRACEBACK, _FRAME_DECAY = 2.0, 0.75
_NAME = re.compile(r"[\w./-]+\.py\b|(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")

#: A place, how much something points at it, and what it is.
Evidence = tuple[Chunk, float, Note]
#: A function, as its path and qualified name.
Function = tuple[str, str]


def find_suspects(
    issue: Issue,
    index: Index,
    *,
    ran: Collection[Function] = (),
    raised: Collection[Raised] = (),
    paths: Collection[str] = (),
    limit: int = 30,
) -> tuple[Place, ...]:
    """Return the likeliest places of the bug that `issue` reports, best first.

    `ran` are functions of the product that the report's code ran, and `raised` the exceptions in
    which it ended. Only `paths` are looked at, where any are named.
    """
    query = query_of(issue)
    found = index.relevance(query)
    evidence: defaultdict[Chunk, list[tuple[float, Note]]] = defaultdict(list)
    for chunk, score, clue in (
        *_words_around(issue, query, index, found),
        *_on_tracebacks(issue.text, raised, index),
        *_run(index, ran),
    ):
        evidence[chunk].append((score, clue))
    chunks = {one for one in (*found.chunks, *evidence) if not paths or one.path in paths}
    best = max(found.chunks.values(), default=1.0)
    best_file = max(found.files.values(), default=1.0)
    scores = {
        chunk: found.chunks.get(chunk, 0.0) / best
        + _OF_FILE * found.files.get(chunk.path, 0.0) / best_file
        + sum(score for score, _ in evidence[chunk])
        for chunk in chunks
    }
    top = max(scores.values(), default=0.0) or 1.0
    likely = [one for one in scores if paths or scores[one] > _MIN_SHARE * top]
    order = sorted(likely, key=lambda one: (-scores[one], one.path, one.line))
    words = reversed(IDENTIFIER.findall(issue.text))
    spelled = {term: word for word in words for term in terms_of(word)}
    places = []
    for chunk in _varied(order)[:limit]:
        clues = [clue for _, clue in sorted(evidence[chunk], key=lambda one: -one[0])]
        if shared := dict.fromkeys(spelled.get(term, term) for term in found.reasons(chunk)):
            text = f"shares {', '.join(shared)} with the report"
            clues.append(Note(code="shared-words", text=text))
        score = round(scores[chunk] / top, 4)
        places.append(Place(**chunk._asdict(), score=score, clues=tuple(clues)))
    return tuple(places)


def _words_around(
    issue: Issue, query: Mapping[str, float], index: Index, found: Relevance
) -> Iterator[Evidence]:
    """Yield the chunks whose module or file a report speaks of."""
    files = _named_files(issue.text, index)
    for chunk in found.chunks:
        package, _, module = index.layout.module_of(chunk.path).rpartition(".")
        # The project itself is always spoken of.
        if package and (weight := weight_of(module, query)):
            text = f"the report speaks of {module}"
            yield chunk, _MODULE * weight, Note(code="spoken-of", text=text)
        if chunk.path in files:
            yield chunk, _NAMED_FILE, files[chunk.path]


def _run(index: Index, ran: Collection[Function]) -> Iterator[Evidence]:
    """Yield the chunks that the report's code ran."""
    clue = Note(code="run-by-report", text="the report's code runs it")
    for chunk in index.chunks().values() if ran else ():
        if (chunk.path, chunk.function) in ran:
            yield chunk, _RAN * min(1.0, (_MAX_TELLING / len(ran)) ** 0.5), clue


def _on_tracebacks(text: str, raised: Iterable[Raised], index: Index) -> list[Evidence]:
    """Return the chunks of the product on the tracebacks of a report, with evidence.

    Where it shows none of the product, those of the exceptions `raised` by its code here count. The
    deepest frame says most, and a function counts once.
    """
    shown = _on_frames(frames_of(text), index)
    return shown or _on_frames((one.frames for one in raised), index)


def _on_frames(tracebacks: Iterable[Sequence[Frame]], index: Index) -> list[Evidence]:
    found: dict[Chunk, Evidence] = {}
    for frames in tracebacks:
        placed = [(frame, _chunk_of(frame, index)) for frame in reversed(frames)]
        own = [(frame, chunk) for frame, chunk in placed if chunk]
        for depth, (frame, chunk) in enumerate(own):
            score = _TRACEBACK * _FRAME_DECAY**depth
            text = f"the traceback {'passes' if depth else 'ends'} in {frame.function}"
            if chunk not in found or found[chunk][1] < score:
                found[chunk] = (chunk, score, Note(code="on-traceback", text=text))
    return [*found.values()]


def _chunk_of(frame: Frame, index: Index) -> Chunk | None:
    """Return the chunk of a frame's function, if the product has it; lines move, names stay."""
    path = index.layout.find_path(frame.path)
    if path is None or is_test_path(path):
        return None
    lines = [one.line for one in index.definitions_in(path) if one.name == frame.function]
    line = min(lines, key=lambda line: abs(line - frame.line), default=frame.line)
    return index.chunk_at(path, line) if lines or frame.function.startswith("<") else None


def _named_files(text: str, index: Index) -> dict[str, Note]:
    """Return the files that the text names by path or as a dotted module."""
    frames = {frame.path for frames in frames_of(text) for frame in frames}
    found: dict[str, Note] = {}
    for name in _NAME.findall(text):
        path = index.layout.find_path(name) if name.endswith(".py") else index.layout.path_of(name)
        if path and name not in frames and not path.endswith("__init__.py"):
            found[path] = Note(code="file-named", text=f"the report names {name}")
    return found


def _varied(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return chunks so that those of one class, or of one file, do not keep out all others."""
    counts = Counter[tuple[str, str]]()
    late: dict[Chunk, bool] = {}
    for chunk in chunks:
        around = chunk.path, chunk.function.rpartition(".")[0]
        most = _MAX_OF_CLASS if around[1] else _MAX_OF_FILE
        late[chunk] = counts[around] >= most
        counts[around] += 1
    return sorted(late, key=late.__getitem__)


def files_of(places: Iterable[Place]) -> tuple[str, ...]:
    """Return the files of `places`, each once, in their order."""
    return tuple(dict.fromkeys(place.path for place in places))


def given_places(specs: Sequence[str], index: Index) -> tuple[Place, ...]:
    """Return the places that a user names as PATH or PATH:FIRST-LAST.

    Raises:
        UsageProblem: there is no such file in the project, or no such line in it.
    """
    places = []
    for spec in specs:
        match = _SPAN.search(spec)
        path = (spec[: match.start()] if match else spec).removeprefix("./")
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 1)
        lines = index.source(path).count("\n") + 1 if path in index.layout.files else 0
        if not 1 <= first <= last <= lines:
            what = f"{path!r} has lines 1 to {lines}" if lines else "no such file in the project"
            raise UsageProblem(
                f"--brt-buggy-file: {what}: {spec!r} (give PATH, PATH:LINE or PATH:FIRST-LAST of a "
                "Python file, from the root)"
            )
        around = index.definition_at(path, first) if match else None
        places.append(
            Place(
                path=path,
                function=around.qualname if around else "",
                line=first,
                end_line=last if match else 0,
                clues=(Note(code="given-by-user", text="given"),),
            )
        )
    return tuple(places)
