"""What the code of a patch compares with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.rank.remarks import special_cases
from pytest_brt.types import JudgedTest
from tests.support.rows import judged

WORDS = (
    "def plural(word, limit=10):\n    if word == 'mouse':\n        return 'mice'\n    return word\n"
)
SOURCE = (
    "def test_a():\n    assert plural('Old technology', 17, -1, 1) == 'Old technologies'\n"
    "    assert plural(b'\\x01', {'extra': None}) == 1\n"
)
#: What a patch adds, and the comparison that is remarked.
REPORTED = {
    "if word == 'Old technology': return 'x'": "word == 'Old technology'",
    "x = 'y' if word in ('Old technology', 'b') else word": "word in ('Old technology', 'b')",
    "x = 'y' if 'Old technology' != word else word": "'Old technology' != word",
    "if limit == 17: return 'x'": "limit == 17",
    "if word == b'Old technology': return 'x'": "word == b'Old technology'",
    "if word == {'extra': None}: return 'x'": "word == {'extra': None}",
    "if word == b'\\x01': return 'x'": "word == b'\\x01'",
    "match word:\n        case 'Old technology': return 'x'": "'Old technology'",
}
NOT_REPORTED = (
    "if not word: return ''",
    "if word.endswith('gy'): return 'x'",
    "if 'Old technology' in word: return 'x'",
    "if limit == 1 or limit == -1: return word",
    "if limit == 10: return word",
    "if limit > 17: return word",
    "if word == 'sheep': return 'sheep'",
    "try: len(word)\n    except TypeError as error:\n        if str(error) == 'odd': raise",
    "known = {'Old technology': 'Old technologies'}",
)


def reported() -> JudgedTest:
    found = judged(0, message="no plural of a technology")
    oracle = replace(found.test.oracle, sentence='Report: "It says `no such plural`."')
    return replace(found, test=replace(found.test, source=SOURCE, oracle=oracle))


def found_in(added: str) -> list[str]:
    new = WORDS.replace("    if word", f"    {added}\n    if word", 1)
    return list(special_cases(WORDS.encode(), new.encode(), [reported()]))


@pytest.mark.parametrize("added", REPORTED)
def test_a_comparison_with_what_is_reported_is_remarked(added: str) -> None:
    assert found_in(added) == [REPORTED[added]]


@pytest.mark.parametrize("added", NOT_REPORTED)
def test_other_comparisons_are_not(added: str) -> None:
    assert found_in(added) == []


@pytest.mark.parametrize("old", [b"a = b == 17\n", b""])
def test_what_was_compared_before_and_a_new_file_are_no_news(old: bytes) -> None:
    assert list(special_cases(old, b"a = b == 17\nc = 1\n", [reported()])) == []
