from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.code.facts import read_facts, scan


def test_other_syntax_is_read_with_patterns() -> None:
    facts = read_facts(
        'class A(B):\n    def f(self):\n        print "two"\n\n    def g(self): pass\nV = 1\n'
    )
    assert facts.dynamic
    assert [(d.qualname, d.kind.value, d.line, d.end_line) for d in facts.definitions] == [
        ("A", "class", 1, 5),
        ("A.f", "method", 2, 3),
        ("A.g", "method", 5, 5),
    ]


@given(st.lists(st.sampled_from(["class A:", "  def f(self", "def", "x = 1", ""])))
def test_any_lines_can_be_scanned(lines: list[str]) -> None:
    assert all(1 <= d.line <= d.end_line <= len(lines) for d in scan("\n".join(lines)))
