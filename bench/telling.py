"""How often a varied call tells patches apart of which none stands out, and which one is right.

    python bench/telling.py --data FOLDER --trees FILE --cache FOLDER [--seconds N] [--only TEXT]

The pools are those that `bench/ranking.py` left in `--cache`; `--data` and `--trees` are as for it.
Where the verdict names several patches, right and wrong ones, the calls of the bug tests are varied:
hypothesis draws other values for their literals, of the same types and near the ones that stand
there. Each varied call is run on these patches until they differ, or `--seconds` of CPU are spent.
What differs between two runs of the same tree is left out. The smallest call that tells a right patch
from a wrong one is printed with what each gives; the true fix is the judge.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ranking import FIX, Bug, Pool, cpu, engine_of, read_bugs

from pytest_brt.answers import answer_ranking
from pytest_brt.code.layout import Collected
from pytest_brt.codec import from_json
from pytest_brt.execute.engine import Engine, Observed, Program
from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.reading.compare import is_steady
from pytest_brt.types import CandidateTest, FileChange, NoLeader, Patch

#: Varied calls of one test that are drawn, those that run in one process, and patches of one tie.
_DRAWN, _BATCH, _PATCHES = 120, 20, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Statements of which the last one is an expression."""

    statements: tuple[str, ...]

    @property
    def size(self) -> int:
        """How much there is to read."""
        return sum(map(len, self.statements))


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A call that tells patches apart."""

    call: Call
    #: What it gives, by the name of the patch.
    gives: dict[str, str]
    right: str
    wrong: str


def call_of(test: CandidateTest) -> Call | None:
    """Return what a test asks about: its set-up, and the expression that its last line looks at."""
    tree = ast.parse(test.source or "")
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    tests = [node for node in functions if node.name == test.name]
    if not tests or tests[0].args.args or tests[0].decorator_list:
        return None
    above = [node for node in tree.body if node is not tests[0]]
    body = [node for node in tests[0].body if not _is_text(node)]
    if not body:
        return None
    last = _asked(body[-1])
    if last is None:
        return None
    return Call(statements=tuple(map(ast.unparse, (*above, *body[:-1], last))))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _asked(node: ast.stmt) -> ast.expr | None:
    """Return the expression that a statement is about: compared, shown, or to be run in peace."""
    if isinstance(node, ast.Assert):
        test = node.test
        return test.left if isinstance(test, ast.Compare) else test
    if isinstance(node, ast.With):
        return _asked(node.body[-1])
    return node.value if isinstance(node, ast.Expr) else None


def literals(call: Call) -> list[object]:
    """Return the literals of a call, in order, imports left out."""
    found: list[object] = []
    for statement in call.statements:
        found += [node.value for node in _varying(statement)]
    return found


def _varying(statement: str) -> list[ast.Constant]:
    tree = ast.parse(statement)
    return [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and _can_vary(node)]


def _can_vary(node: ast.AST) -> bool:
    kinds = (int, float, str, bytes, bool)
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, kinds))


def with_values(call: Call, values: Sequence[object]) -> Call:
    """Return a call with other literals."""
    left = list(values)
    statements = []
    for statement in call.statements:
        tree = ast.parse(statement)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and _can_vary(node):
                node.value = left.pop(0)  # type: ignore[assignment]
        statements.append(ast.unparse(ast.fix_missing_locations(tree)))
    return Call(statements=tuple(statements))


def near(value: object) -> st.SearchStrategy[object]:
    """Return values of the type of a literal, near it and others."""
    if value is None or isinstance(value, bool):
        return st.sampled_from([value, None, True, False])
    if isinstance(value, int):
        close = st.sampled_from([value, -value, value + 1, value - 1, 0, 1, 2 * value])
        return close | st.integers(-100, 100)
    if isinstance(value, float):
        close_by = st.sampled_from([value, -value, 0.0, value / 2, value * 10])
        return close_by | st.floats(-1000, 1000, allow_nan=False, width=32)
    if isinstance(value, str):
        return st.sampled_from(sorted(_texts(value)))
    assert isinstance(value, bytes)
    return st.sampled_from([value, b"", value[:-1], value[1:], value * 2])


def _texts(value: str) -> set[str]:
    """Return texts made of one: without a part, doubled, in other letters, empty."""
    words = value.split(" ")
    made = {value, "", value.upper(), value.lower(), value[:-1], value[1:], value[::-1], value * 2}
    made |= {" ".join(words[:place] + words[place + 1 :]) for place in range(len(words))}
    return made | {value.replace(letter, "", 1) for letter in set(value[:40])}


def varied(call: Call) -> list[Call]:
    """Return variations of a call, the same ones each time, small ones first."""
    every = literals(call)
    found: dict[tuple[str, ...], Call] = {}

    @settings(
        max_examples=_DRAWN,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*map(near, every)))
    def draw(values: tuple[object, ...]) -> None:
        one = with_values(call, values)
        found.setdefault(one.statements, one)

    if every:
        draw()
    return sorted(found.values(), key=lambda one: (one.size, one.statements))


def results(calls: Sequence[Call], changes: tuple[FileChange, ...], engine: Engine) -> list[str]:
    """Return what each call gives on a tree; "" where it cannot be told."""
    statements = tuple(line for call in calls for line in call.statements)
    seen = {
        one.index: one
        for one in engine.observe(Program(statements=statements, changes=changes)).observed
    }
    found, place = [], 0
    for call in calls:
        parts = [seen.get(place + number) for number in range(len(call.statements))]
        place += len(call.statements)
        found.append(_outcome(parts))
    return found


def _outcome(parts: Sequence[Observed | None]) -> str:
    for part in parts:
        if part is None:
            return ""
        if part.raised is not None:
            return f"raises {part.raised.type}"
    last = parts[-1]
    assert last is not None
    text = last.value.repr if last.value is not None else last.stdout
    return text if is_steady(text) else ""


def tell(pool: Pool, bug: Bug, tied: Sequence[str], engine: Engine, seconds: float) -> Told | None:
    """Return the smallest call found that tells a right patch of the tie from a wrong one."""
    root = Path(engine.subject.root)
    by_name = {patch.name: patch for patch, _ in bug.patches}
    changes = {name: changes_of(by_name[name], root) for name in (*tied, FIX)}
    begun = cpu()
    asked = [call for judged in pool.candidates() if (call := call_of(judged.test))]
    for call in asked:
        calls = varied(call)
        for start in range(0, len(calls), _BATCH):
            if cpu() - begun > seconds:
                return None
            batch = calls[start : start + _BATCH]
            gives = {name: results(batch, changes[name], engine) for name in tied}
            for number, one in enumerate(batch):
                outcomes = {name: gives[name][number] for name in tied}
                told = _telling(pool, one, outcomes, changes, engine)
                if told is not None:
                    return told
    return None


def _telling(
    pool: Pool,
    call: Call,
    outcomes: dict[str, str],
    changes: dict[str, tuple[FileChange, ...]],
    engine: Engine,
) -> Told | None:
    """Return a call that tells a right patch from a wrong one, in a second run as well."""
    if "" in outcomes.values() or len(set(outcomes.values())) == 1:
        return None
    pairs = [
        (right, wrong)
        for right in outcomes
        for wrong in outcomes
        if pool.labels[right] and not pool.labels[wrong] and outcomes[right] != outcomes[wrong]
    ]
    again = {name: results([call], changes[name], engine)[0] for name in (*outcomes, FIX)}
    if not pairs or any(again[name] != outcomes[name] for name in outcomes):
        return None
    right, wrong = pairs[0]
    return Told(call=call, gives=again, right=right, wrong=wrong)


def changes_of(patch: Patch, root: Path) -> tuple[FileChange, ...]:
    """Return what a patch changes, tests left out."""
    try:
        changes = apply_patch(patch, root).changes
    except PatchProblem:
        return ()
    return tuple(one for one in changes if not Collected().has_file(one.path))


def ties(pool: Pool) -> Iterator[list[str]]:
    """Yield the patches among which none stands out, where right and wrong ones are."""
    ranks = rank_by_weight(pool.patches(with_fix=False), pool.candidates())
    answer = answer_ranking(ranks)
    kinds: dict[bool, list[str]] = {True: [], False: []}
    for name in answer.patches if isinstance(answer, NoLeader) else ():
        kinds[pool.labels[name]].append(name)
    if kinds[True] and kinds[False]:
        half = _PATCHES // 2
        yield [*kinds[True][:half], *kinds[False][:half]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Look at every pool and print what tells its leaders apart."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the data set")
    parser.add_argument("--trees", type=Path, required=True, help="where its trees are")
    parser.add_argument("--cache", type=Path, required=True, help="cache of bench/ranking.py")
    parser.add_argument("--seconds", type=float, default=10.0, help="CPU seconds of one tie")
    parser.add_argument("--only", default="", help="bugs with TEXT in their names")
    parser.add_argument("--sandbox", default="auto", help="isolation, as --brt-sandbox")
    parser.set_defaults(jobs=1)
    options = parser.parse_args(arguments)
    counts = {"pools": 0, "ties": 0, "told": 0, "right": 0, "wrong": 0, "neither": 0}
    for bug in read_bugs(options.data, options.trees, None):
        place = options.cache / f"{bug.instance}.json"
        if options.only not in bug.instance or not place.exists():
            continue
        pool = from_json(place.read_bytes(), Pool)
        counts["pools"] += bool(pool.candidates())
        for tied in ties(pool):
            counts["ties"] += 1
            _look(pool, bug, tied, options, counts)
    print(
        "{pools} pools with a test, {ties} in which right and wrong patches share the verdict; told "
        "apart {told}: the right patch gives what the fix gives in {right}, the wrong one in "
        "{wrong}, neither in {neither}".format(**counts)
    )
    return 0


def _look(
    pool: Pool, bug: Bug, tied: list[str], options: argparse.Namespace, counts: dict[str, int]
) -> None:
    """Look at one tie and print what was found."""
    engine = engine_of(bug, options)
    begun = cpu()
    try:
        told = tell(pool, bug, tied, engine, options.seconds)
    finally:
        engine.close()
    spent = cpu() - begun
    if told is None:
        print(f"{bug.instance}: {len(tied)} patches not told apart, {spent:.1f} CPU s", flush=True)
        return
    fix = told.gives[FIX]
    verdict = "neither"
    if told.gives[told.right] == fix:
        verdict = "right"
    elif told.gives[told.wrong] == fix:
        verdict = "wrong"
    counts["told"] += 1
    counts[verdict] += 1
    given_by = ", ".join(f"{name} {text[:60]!r}" for name, text in told.gives.items())
    print(f"{bug.instance}: {verdict}, {spent:.1f} CPU s: {told.call.statements[-1]}: {given_by}")


if __name__ == "__main__":
    sys.exit(main())
