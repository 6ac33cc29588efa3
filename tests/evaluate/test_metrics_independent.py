"""The measures of rankings, against those of scikit-learn."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pytest_brt.evaluate import measures

# Here, not in the fixture: it cannot be loaded again after a test of pytester's has unloaded it.
pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def sk() -> Any:
    """Return scikit-learn's measures, which take seconds to load: in one worker only."""
    return pytest.importorskip("sklearn.metrics")


def pools(seed: int) -> list[list[tuple[float, bool]]]:
    generator = random.Random(seed)
    sizes = [generator.randint(2, 12) for _ in range(8)]
    made = [[(generator.random(), generator.random() < 0.4) for _ in range(n)] for n in sizes]
    return [pool for pool in made if len({right for _, right in pool}) == 2]


def test_top_k_is_scikit_learns_precision_recall_and_f1(sk: Any) -> None:
    for pool in pools(1):
        line = [right for _, right in sorted(pool, reverse=True)]
        for k in range(1, 6):
            chosen = [place < k for place in range(len(line))]
            order = [[right] for right in line]
            assert measures.precision(order, k) == pytest.approx(sk.precision_score(line, chosen))
            assert measures.recall(order, k) == pytest.approx(sk.recall_score(line, chosen))
            assert measures.f1(order, k) == pytest.approx(sk.f1_score(line, chosen))


def test_auc_and_mrr_are_scikit_learns(sk: Any) -> None:
    for pool in pools(2):
        # Rounded, so that there are ties.
        scores = [round(score, 1) for score, _ in pool]
        labels = [right for _, right in pool]
        groups = [
            [right for score, right in zip(scores, labels, strict=True) if score == value]
            for value in sorted(set(scores), reverse=True)
        ]
        assert measures.auc(groups) == pytest.approx(sk.roc_auc_score(labels, scores))
        # With one right patch and no ties, label ranking's average precision is 1 / place.
        best = max(range(len(pool)), key=lambda at: (labels[at], pool[at][0]))
        only = [at == best for at in range(len(pool))]
        order = [[right] for _, right in sorted(zip(pool, only, strict=True), reverse=True)]
        expected = sk.label_ranking_average_precision_score([only], [[s for s, _ in pool]])
        assert measures.reciprocal_rank(order) == pytest.approx(expected)


def test_what_a_threshold_selects_is_scikit_learns(sk: Any) -> None:
    for pool in pools(3):
        for threshold in (step / 10 for step in range(11)):
            found = measures.select(pool, threshold)
            labels = [right for _, right in pool]
            chosen = [score >= threshold for score, _ in pool]
            assert found.recall == pytest.approx(sk.recall_score(labels, chosen))
            if any(chosen):
                assert found.precision == pytest.approx(sk.precision_score(labels, chosen))
