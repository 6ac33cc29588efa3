"""Which files of tests are the likeliest to notice a change, and which tests of them come first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


class Nearness:
    """How near the tests of a suite are to what patches change."""

    def __init__(self, suite: Suite, pool: Iterable[Touched], hints: Iterable[str] = ()) -> None:
        """Weigh names: of what patches change, and less the `hints`, which candidate tests use."""
        touched = tuple(pool)
        self._suite = suite
        self._changed = dict.fromkeys(path for one in touched for path in one.files)
        self._weights = {name: suite.rarity(name) * _HINT for name in hints}
        self._weights |= {name: suite.rarity(name) for one in touched for name in one.names}

    def files(self) -> tuple[str, ...]:
        """Return the files of the suite, the likeliest to notice a change first.

        A file is near by its name and place, and by the words in it, those of imports among them: a
        name that few files know says more than one that all know. Order is decided by content
        alone.
        """
        # As in "from pkg.core import walk".
        parts = (
            part for path in self._changed for part in PurePosixPath(path).with_suffix("").parts
        )
        weights = {part: self._suite.rarity(part) for part in parts} | self._weights

        def distance(path: str) -> tuple[float, str]:
            place = max((_closeness(path, changed) for changed in self._changed), default=0.0)
            return -(place + _sum(weights, self._suite.words[path])), path

        return tuple(sorted(self._suite.files, key=distance))

    def tests(self) -> tuple[ExistingTest, ...]:
        """Return the tests of the nearest files, those first that speak of what is changed."""
        tests = [test for path in self.files()[:_NEAREST] for test in self._suite.tests(path)]
        return tuple(sorted(tests, key=lambda test: -self._score(test)))

    def speaking(self, path: str) -> tuple[str, ...]:
        """Return the nodes of those tests of a file that speak of what is changed, best first."""
        scores = {test.node: self._score(test) for test in self._suite.tests(path)}
        return tuple(sorted(filter(scores.get, scores), key=lambda node: -scores[node]))

    def _score(self, test: ExistingTest) -> float:
        return _sum(self._weights, test.words)


def _sum(weights: Mapping[str, float], words: frozenset[str]) -> float:
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
