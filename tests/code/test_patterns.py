from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.code.facts import read_facts, scan


def test_other_syntax_is_read_with_patterns() -> None:
    facts = read_facts(
        "import os, a.b as c\nfrom .x import y as z, w\nclass A(B):\n    def f(self):\n"
        '        print "two"\n\n    def g(self): pass\nV = 1\n'
    )
    assert not facts.parsed
    assert [(d.qualname, d.kind.value, d.line, d.end_line) for d in facts.definitions] == [
        ("A", "class", 3, 7),
        ("A.f", "method", 4, 5),
        ("A.g", "method", 7, 7),
        ("V", "variable", 8, 8),
    ]
    assert [(i.module, i.name, i.bound) for i in facts.imports] == [
        ("os", "", "os"),
        ("a.b", "", "c"),
        (".x", "y", "z"),
        (".x", "w", "w"),
    ]


@given(st.lists(st.sampled_from(["class A:", "  def f(self", "def", "import a as", "x = 1", ""])))
def test_any_lines_can_be_scanned(lines: list[str]) -> None:
    definitions, imports = scan("\n".join(lines))
    assert all(1 <= d.line <= d.end_line <= len(lines) for d in definitions)
    assert all(lines[i.line - 1].startswith("import") for i in imports)
