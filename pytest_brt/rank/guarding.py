"""How much of the existing tests is run beside the candidates, and which of them pin the bug."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from pytest_brt.guard import Guard, Touched
from pytest_brt.rank.allowance import Allowance
from pytest_brt.rank.pinned import pinned_among
from pytest_brt.syntax import parse
from pytest_brt.types import AppliedPatch, Guarded, JudgedTest

_WORD = re.compile(r"[A-Za-z_]\w*")
#: Names in nearly every test, which tell nothing about what it is about.
_COMMON = frozenset({"pytest", "raises", "test", "self", "print", "str", "repr", "len", "list"})


@dataclass(slots=True, kw_only=True)
class Guarding:
    """The guard of the patches of one issue, and its budget."""

    guard: Guard
    allowance: Allowance
    _pinned: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def look(
        self,
        applied: AppliedPatch,
        touched: Touched,
        tests: Sequence[JudgedTest],
        row_seconds: float,
    ) -> Guarded:
        """Run the existing tests near a patch.

        Args:
            applied: the patch.
            touched: what it changes.
            tests: the candidates it is ranked by.
            row_seconds: what those, and changed inputs, took on this patch.
        """
        candidates = [judged for judged in tests if judged.judgement.candidate]
        hints = hints_of(candidates)
        return self.guard.check(
            applied,
            touched,
            allowance=self.allowance.share(row_seconds),
            hints=hints,
            pinned=self._pinned_near(touched, hints, candidates),
        )

    def _pinned_near(
        self, touched: Touched, hints: frozenset[str], candidates: Sequence[JudgedTest]
    ) -> tuple[str, ...]:
        """Return the tests near a patch that pin the bug; looked for once per changed place."""
        with self._lock:
            if touched.places not in self._pinned:
                near = self.guard.near(touched, hints)
                self._pinned[touched.places] = pinned_among(near, candidates)
            return self._pinned[touched.places]


def hints_of(tests: Sequence[JudgedTest]) -> frozenset[str]:
    """Return the names that candidate tests use, but for common ones and those they define."""
    words: set[str] = set()
    for judged in tests:
        source = judged.test.source or ""
        try:
            tree = parse(source)
        except (SyntaxError, ValueError):
            words.update(_WORD.findall(source))
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                words.add(node.id)
            elif isinstance(node, ast.Attribute):
                words.add(node.attr)
            elif isinstance(node, ast.keyword) and node.arg:
                words.add(node.arg)
    return frozenset(word for word in words - _COMMON if len(word) > 2)
