"""Which files of tests are the likeliest to notice a change, and which tests of them come first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_brt.guard.changes import Touched
from pytest_brt.guard.suite import ExistingTest, Suite

#: For the test file that is called after the changed file (test_core.py of core.py).
_TWIN = 3.0
#: For each folder in which test file and changed file lie together, beyond the first.
_NEAR = 0.7
#: What a word of the candidate tests counts, compared with a name that is changed.
_HINT = 0.4
#: Files in which single tests are looked at.
_NEAREST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What tests must be about to be near: what patches change, and what bug tests use."""

    files: tuple[str, ...]
    names: frozenset[str]
    #: Names that the candidate tests use.
    hints: frozenset[str] = frozenset()


def about(touched: Iterable[Touched], hints: Iterable[str] = ()) -> About:
    """Return what all of some patches are about."""
    found = tuple(touched)
    names = frozenset(name for one in found for name in one.names)
    files = dict.fromkeys(path for one in found for path in one.files)
    return About(files=tuple(files), names=names, hints=frozenset(hints) - names)


def files_by_nearness(suite: Suite, subject: About) -> tuple[str, ...]:
    """Return the files of a suite, the likeliest to notice a change first.

    A file is near by its name and place, and by the words in it, those of imports among them: a
    name that few files know says more than one that all know. Order is decided by content alone.
    """
    weights = _weights(suite, subject)
    for file in subject.files:  # as in "from pkg.core import walk"
        parts = PurePosixPath(file).with_suffix("").parts
        weights = {part: suite.rarity(part) for part in parts} | weights

    def distance(path: str) -> tuple[float, str]:
        place = max((_closeness(path, file) for file in subject.files), default=0.0)
        return -(place + _sum(weights, suite.words[path])), path

    return tuple(sorted(suite.files, key=distance))


def nearest_tests(suite: Suite, subject: About) -> tuple[ExistingTest, ...]:
    """Return the tests of the nearest files, those first that speak of what is changed."""
    weights = _weights(suite, subject)
    files = files_by_nearness(suite, subject)[:_NEAREST]
    tests = [test for path in files for test in suite.tests(path)]
    return tuple(sorted(tests, key=lambda test: -_sum(weights, test.words)))


def speaking_tests(suite: Suite, path: str, subject: About) -> tuple[str, ...]:
    """Return the nodes of those tests of a file that speak of what is changed, the best first."""
    weights = _weights(suite, subject)
    scores = {test.node: _sum(weights, test.words) for test in suite.tests(path)}
    return tuple(sorted((node for node in scores if scores[node]), key=lambda n: -scores[n]))


def _weights(suite: Suite, subject: About) -> dict[str, float]:
    """Return how much each word tells, the names of what is changed more than others."""
    changed = {name: suite.rarity(name) for name in subject.names}
    hints = {name: suite.rarity(name) * _HINT for name in subject.hints}
    return changed | hints


def _sum(weights: dict[str, float], words: frozenset[str]) -> float:
    return sum(weight for word, weight in weights.items() if word in words)


def _closeness(test: str, changed: str) -> float:
    """Return how near a test file lies to a changed file, by their names and folders.

    >>> _closeness("pkg/tests/test_core.py", "pkg/core.py") > _closeness("tests/test_a.py", "b.py")
    True
    """
    test_path, changed_path = PurePosixPath(test), PurePosixPath(changed)
    stem = test_path.stem.removeprefix("test_").removesuffix("_test")
    own = changed_path.stem if changed_path.stem != "__init__" else changed_path.parent.name
    twin = stem.strip("_") == own.strip("_")
    shared = set(test_path.parent.parts) & set(changed_path.parent.parts)
    return _TWIN * twin + _NEAR * max(0, len(shared) - 1)
